"""The home's daily budget limits all runs and processes of a home, with and without a host."""

import pytest
import trio

from actors.planning.result_lines import outcome_lines
from actors.run.questions import VIAS
from replan.cli.exits import Exit, exit_of_result
from replan.runs.engine import Engine
from replan.runs.inbox import questions_of
from replan.runs.session import RunSession
from replan.setup.settings import ConfiguredBudget, read_user_config
from runtime.core.daily_budget import DAY_SECONDS, HomeBudget
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Amount
from runtime.drive.options import DriveOptions, Stop
from runtime.journal.port import Placement
from tests.host.fake_home import START, FakeHome, run_request
from tests.support.worlds import always_hosted

MINUTE = 60


async def test_a_run_waits_for_the_next_day_when_the_budget_is_used_up(autojump_clock):
    home, notices = FakeHome(), []
    async with home.engine(budget=HomeBudget(calls=2)) as engine:
        result = await engine.begin(run_request("a", "b", "c"), DriveOptions(notice=notices.append), run="first")
        assert (result.outcome, result.calls) == ("success", 3)
        assert [at for at in home.calls if at < MINUTE] == home.calls[:2]
        assert MINUTE <= home.calls[2] < 2 * MINUTE
        waits = [record.event for record in await engine.journal.read("first") if record.event.kind == "wait_requested"]
        assert [(wait.request_id, wait.until) for wait in waits] == [("home_budget", START + MINUTE)]
        assert "2 calls a day" in waits[0].why
        assert notices == [f"{waits[0].why}; the run waits for the next day"]


async def test_a_run_that_waits_for_the_next_day_can_be_resumed_when_the_budget_is_raised(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1)) as engine:
        with trio.move_on_after(MINUTE / 2):
            await engine.begin(run_request("a", "b"), run="first")
        with trio.move_on_after(1):  # Without a larger budget it makes no request.
            await engine.resume("first")
    assert len(home.calls) == 1
    async with home.engine(budget=HomeBudget(calls=2)) as engine:
        assert (await engine.resume("first")).succeeded
    assert max(home.calls) < MINUTE


async def test_a_run_can_begin_when_the_daily_budget_is_used_up(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1)) as engine:
        assert (await engine.begin(run_request("a"), run="first")).succeeded
        assert (await engine.begin(run_request("a"), run="second")).succeeded
    assert home.calls[1] >= MINUTE


async def test_a_run_ends_at_the_budget_if_waiting_is_disabled(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1, waits=False)) as engine:
        result = await engine.begin(run_request("a", "b"), run="first")
    assert (result.outcome, len(home.calls)) == ("budget_exhausted", 1)
    assert "home's budget" in result.why


async def test_parallel_steps_are_spread_over_several_days(autojump_clock):
    """The steps that fit are requested; the others are requested after the replies, and then wait for the next day."""
    home, notices = FakeHome(), []
    async with home.engine(budget=HomeBudget(calls=2)) as engine:
        result = await engine.begin(
            run_request(*"abcd", chained=False), DriveOptions(notice=notices.append), run="first"
        )
    assert (result.outcome, result.calls) == ("success", 4)
    assert [int((at - MINUTE) // DAY_SECONDS) for at in home.calls] == [-1, -1, 0, 0]
    assert len(notices) == 1
    assert [home.store.days[day].calls for day in sorted(home.store.days)] == [2, 2]


async def test_a_refund_pays_for_the_next_call_of_the_same_day(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(micro_usd=await _reserved())) as engine:
        result = await engine.begin(run_request("a", "b", "c", chained=False), run="first")
    assert result.outcome == "success"
    assert max(home.calls) < MINUTE
    assert home.busiest == 1


async def test_a_run_whose_next_call_exceeds_a_whole_day_is_parked_with_the_reason(autojump_clock):
    home, notices, reserved = FakeHome(), [], await _reserved()
    async with home.engine(budget=HomeBudget(micro_usd=reserved - 1)) as engine:
        result = await engine.begin(run_request("a"), DriveOptions(notice=notices.append), run="first")
        assert (result.status, result.cause, home.calls) == ("parked", "home_budget", [])
        assert "a request may take 1 call and $" in result.why
        assert notices == [f"{result.why}; the run is parked"]
        assert home.row("first") == ("parked", result.why)
        assert exit_of_result(result) == Exit.BUDGET
        text = " ".join(row.plain for row in outcome_lines(result))
        assert result.why in text
        assert "raise the daily budget in config.yaml and resume the run" in text
        async with home.hosting(engine):
            await trio.sleep(3 * MINUTE)
        assert home.events("first") == []
        assert (await engine.resume("first")).status == "parked"
    async with home.engine(budget=HomeBudget(micro_usd=reserved)) as engine:
        assert (await engine.resume("first")).succeeded
    assert home.row("first") == ("finished", "success")


async def test_a_host_parks_a_run_whose_next_call_exceeds_a_whole_day(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(micro_usd=1)) as engine:
        await engine.admit(run_request("a", "b", chained=False), run="first")
        async with home.hosting(engine):
            await trio.sleep(3 * MINUTE)
    events = [event for event, _ in home.events("first")]
    assert sorted(events) == ["parked", "taken_up", "trouble"]
    assert dict(home.events("first"))["parked"] == home.row("first")[1]


async def test_a_follower_of_a_run_parked_by_the_budget_gets_no_advice_about_the_host(autojump_clock, monkeypatch):
    """The result has the advice; the host works."""
    home, notes = FakeHome(), []
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    async with home.engine(budget=HomeBudget(micro_usd=1)) as engine:
        await engine.admit(run_request("a"), run="first")
        async with home.hosting(engine):
            result = await RunSession(engine, "first", lambda record, state: None, notes.append).go_on(Stop())
    assert (result.status, result.cause) == ("parked", "home_budget")
    assert notes == []


async def test_an_open_call_of_a_dead_driver_waits_for_the_next_day(autojump_clock):
    """Found by the simulation: hosts took the run up repeatedly, since its row still showed open work."""
    home = FakeHome(seconds=1000.0)
    async with home.engine(budget=HomeBudget(calls=1)) as engine:
        await engine.admit(run_request("a"), run="first")
        with trio.move_on_after(1):
            await engine.resume("first")
        home.seconds = 1.0
        async with home.hosting(engine):
            await trio.sleep(30)
            events = [event for event, _ in home.events("first")]
            assert sorted(events) == ["resting", "taken_up", "trouble"]
            await trio.sleep(60)
    assert home.row("first") == ("finished", "success")


async def test_many_hosts_together_never_exceed_the_budgets_of_home_and_runs(autojump_clock):
    """Four hosts with six runs each, in one process."""
    home = FakeHome(seconds=3.0)
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(_one_host, home, number)
    assert [home.store.days[day].calls for day in sorted(home.store.days)] == [24, 24]
    assert len(home.calls) == 48
    assert sum(at < MINUTE for at in home.calls) == 24
    for held in home.store.runs.values():
        assert (held.head.summary.status, held.head.summary.detail) == ("finished", "budget_exhausted")
        assert held.head.account.total.calls == 2


async def _reserved():
    """Return what the first call of a run reserves, in micro-dollars; replies cost nothing here."""
    async with FakeHome().engine() as engine:
        await engine.begin(run_request("a"), run="sample")
        events = [record.event for record in await engine.journal.read("sample")]
    return next(event.micro_usd_max for event in events if event.kind == "generation_requested")


async def _one_host(home, number):
    async with home.engine(budget=HomeBudget(calls=24)) as engine, home.hosting(engine):
        for place in range(6):
            await engine.admit(run_request("a", "b", "c", calls=2), run=f"r{number}{place}")
        await trio.sleep(5 * MINUTE)


@pytest.mark.parametrize("calls", [None, 5])
async def test_the_amount_spent_today_can_be_read(autojump_clock, calls):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=calls)) as engine:
        await engine.begin(run_request("a", "b"), run="first")
        assert await engine.journal.spent_today() == Amount(calls=2)


async def _asked(engine, run="first"):
    return await questions_of(engine, run)


async def test_a_run_asks_how_to_go_on_when_the_budget_is_used_up(autojump_clock):
    """It waits without a process. Until the budget is raised, `go on` is refused, with who may raise it."""
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1, setting="home_budget in config.yaml"), asks=True) as engine:
        result = await engine.begin(run_request("a", "b"), run="first")
        assert (result.status, len(home.calls)) == ("waiting", 1)
        (question,) = await _asked(engine)
        assert question["text"].startswith("The home's budget for today is used up (1 call a day, UTC; home_budget")
        assert "the step 'b', for at most 1 call" in question["text"]
        assert [item["value"] for item in question["choices"]] == ["go on", "model: NAME", "stop"]
        assert "owner of the home" in question["about"]
        assert question["until"].endswith("T00:00:00Z")
        for via in VIAS:
            with pytest.raises(
                UsageProblem, match=r"used up \(1 call a day, UTC; home_budget in config.yaml\)"
            ) as refused:
                await engine.answer("first/q1", "go on", via=via)
            assert "the owner of the home can raise the budget" in refused.value.hint
        assert (await engine.resume("first")).status == "waiting"
        assert [item["id"] for item in await _asked(engine)] == ["first/q1"], "it is not asked again"
    async with home.engine(budget=HomeBudget(calls=2), asks=True) as engine:
        assert (await engine.answer("first/q1", "go on", via="cli")).result == "accepted"
        assert (await engine.resume("first")).succeeded
    assert max(home.calls) < MINUTE


async def test_the_question_is_withdrawn_when_the_next_day_begins(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1), asks=True) as engine:
        await engine.admit(run_request("a", "b"), run="first")
        async with home.hosting(engine):
            await trio.sleep(2 * MINUTE)
        assert home.row("first") == ("finished", "success")
        kinds = [record.event.kind for record in await engine.journal.read("first")]
    assert kinds.count("clarification_requested") == kinds.count("clarification_withdrawn") == 1
    assert home.calls[1] >= MINUTE


async def test_a_run_that_a_person_stops_at_the_budget_ends_and_can_be_resumed(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1), asks=True) as engine:
        await engine.begin(run_request("a", "b"), run="first")
        await engine.answer("first/q1", "stop")
        result = await engine.resume("first")
        assert (result.outcome, result.cause, len(home.calls)) == ("budget_exhausted", "home_budget", 1)
        assert (await engine.resume("first")).status == "waiting"
        assert [item["id"] for item in await _asked(engine)] == ["first/q2"]
    async with home.engine(budget=HomeBudget(calls=2), asks=True) as engine:
        assert (await engine.resume("first")).succeeded


async def test_a_declined_question_leaves_the_run_waiting_for_the_next_day(autojump_clock):
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1), asks=True) as engine:
        await engine.begin(run_request("a", "b"), run="first")
        await engine.decline("first/q1")
        assert (await engine.resume("first")).succeeded
        assert await _asked(engine) == []
    assert home.calls[1] >= MINUTE


async def test_the_question_names_the_budget_of_the_tenant(autojump_clock):
    home = FakeHome()
    own = HomeBudget(calls=1, setting="tenants.red in config.yaml", whose="the budget of tenant red")
    budget = HomeBudget(tenants={"red": own})
    async with home.engine(budget=budget, asks=True, placement=Placement("red")) as engine:
        await engine.begin(run_request("a", "b"), run="first")
        (question,) = await _asked(engine)
        with pytest.raises(UsageProblem, match=r"tenants\.red in config\.yaml"):
            await engine.answer("first/q1", "go on")
    assert question["text"].startswith("The budget of tenant red for today is used up")


async def test_a_raised_budget_holds_in_a_journal_that_is_open(tmp_path):
    file = tmp_path / "config.yaml"
    budget = ConfiguredBudget(file, read_user_config(file))
    for calls in (3, 50):
        file.write_text(f"home_budget: {{calls: {calls}}}")
        assert budget.current().calls == calls


@pytest.mark.parametrize("text", [None, "", "home_budget: {calls: three}", "home_budget: {usd: 1}", "home_budget: {"])
async def test_a_file_that_lost_a_limit_lifts_no_limit(tmp_path, text):
    """An editor may have removed the file or written half of it."""
    file = tmp_path / "config.yaml"
    file.write_text("home_budget: {calls: 3}")
    budget = ConfiguredBudget(file, read_user_config(file))
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert budget.current().calls == 3
    file.write_text("home_budget: {calls: 50, usd: 1}")
    assert budget.current().calls == 50


@pytest.mark.parametrize("answer", ["go on", "stop"])
async def test_an_answer_is_taken_before_the_run_goes_on_by_itself(autojump_clock, answer):
    """Else the resumed run would make its request, and withdraw the question before it reads the answer."""
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=1), asks=True) as engine:
        await engine.begin(run_request("a", "b"), run="first")
    async with home.engine(budget=HomeBudget(calls=2), asks=True) as engine:
        await engine.answer("first/q1", answer)
        result = await engine.resume("first")
        kinds = [record.event.kind for record in await engine.journal.read("first")]
    assert result.outcome == ("success" if answer == "go on" else "budget_exhausted")
    assert "mail_refused" not in kinds
    assert "clarification_withdrawn" not in kinds


class Killed(Exception):
    """The driver is killed."""


def kill_at(number, moment):
    """Return a fault that kills the driver at one of its appends, before or after the commit."""
    appends = []

    def fault(operation, when):
        if operation == "append" and when == moment:
            appends.append(operation)
            if len(appends) == number:
                raise Killed

    return fault


async def _play(home, answer, fault):
    """Play a run to its success; a person answers at the budget, and raises it.

    Return how often the driver died, and whether a person resumed the stopped run before the budget was raised.
    """
    budget, deaths, stopped, resumed_early = HomeBudget(calls=1), 0, False, False
    while True:
        try:
            async with home.engine(budget=budget, asks=True, fault=fault) as engine:
                known = "first" in home.store.runs
                ended = known and (await engine.journal.read("first"))[-1].event.kind == "run_finished"
                resumed_early |= ended and budget.calls == 1
                result = await (
                    engine.resume("first") if known else engine.begin(run_request("a", "b", "c"), run="first")
                )
                if result.status == "finished" and result.succeeded:
                    return deaths, resumed_early
                if result.status == "finished":
                    assert (result.cause, answer) == ("home_budget", "stop")
                    stopped = True
                assert len(home.calls) <= 1, "a call is made beyond a budget that nobody raised"
            if stopped or answer == "go on":
                budget = HomeBudget(calls=10)
            if result.status == "waiting":
                async with home.engine(budget=budget, asks=True) as engine:
                    await engine.answer((await _asked(engine))[0]["id"], answer)
        except Killed:
            deaths += 1


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("answer", ["go on", "stop"])
async def test_a_run_that_is_killed_at_any_record_asks_once_and_follows_the_answer(autojump_clock, answer, moment):
    """No call is made beyond the budget before a person has raised it."""
    number = deaths = 1
    while deaths:
        home, fault = FakeHome(), kill_at(number, moment)
        deaths, resumed_early = await _play(home, answer, fault)
        events = [record.event for record in await _records(home)]
        asked = [event for event in events if event.kind == "clarification_requested"]
        # A stopped run that is resumed before the budget was raised asks again.
        assert len(asked) == (2 if resumed_early else 1)
        number += 1
    assert number > 5


async def _records(home):
    async with home.engine() as engine:
        return await engine.journal.read("first")


async def test_a_run_warns_when_much_of_the_budget_of_the_day_is_used(autojump_clock):
    """Also of what other runs have used; a home without a budget warns of none."""
    home = FakeHome()
    async with home.engine(budget=HomeBudget(calls=10, tenants={"red": HomeBudget(calls=5)})) as engine:
        for run in ("first", "second"):
            await engine.begin(run_request("a", "b", "c", "d"), run=run)
        assert await _warnings(engine, "first") == []
        assert await _warnings(engine, "second") == [
            "50 % of the home's budget for today (10 calls) is used",
            "80 % of the home's budget for today (10 calls) is used",
        ]
    async with home.engine() as engine:
        await engine.begin(run_request("a", "b", "c"), run="third")
        assert await _warnings(engine, "third") == []


async def _warnings(engine, run):
    return [record.event.text for record in await engine.journal.read(run) if record.event.kind == "limit_near"]
