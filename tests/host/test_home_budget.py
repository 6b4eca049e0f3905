"""The home's budget: over all runs and all processes of a home, with a host and without."""

import pytest
import trio

from actors.planning.result_lines import outcome_lines
from replan.cli.exits import Exit, exit_of_result
from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from replan.runs.session import RunSession
from runtime.core.daily_budget import DAY_SECONDS, HomeBudget
from runtime.core.ledger import Amount
from runtime.drive.options import Stop
from tests.host.stage import START, Stage, job
from tests.support.worlds import always_hosted

MINUTE = 60


async def test_a_run_waits_for_the_next_day_when_the_budget_is_used_up(autojump_clock):
    stage, notices = Stage(), []
    async with stage.engine(budget=HomeBudget(calls=2)) as engine:
        result = await engine.begin(job("a", "b", "c"), DriveOptions(notice=notices.append), run="first")
        assert (result.outcome, result.calls) == ("success", 3)
        assert [at for at in stage.calls if at < MINUTE] == stage.calls[:2]
        assert MINUTE <= stage.calls[2] < 2 * MINUTE
        waits = [one.event for one in await engine.journal.read("first") if one.event.kind == "wait_requested"]
        assert [(wait.request_id, wait.until) for wait in waits] == [("home_budget", START + MINUTE)]
        assert "2 calls a day" in waits[0].why
        assert notices == [f"{waits[0].why}; the run waits for the next day"]


async def test_a_run_that_waits_for_the_next_day_goes_on_when_the_budget_is_raised_and_it_is_resumed(autojump_clock):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(calls=1)) as engine:
        with trio.move_on_after(MINUTE / 2):
            await engine.begin(job("a", "b"), run="first")
        with trio.move_on_after(1):  # As long as nothing is raised, nothing is asked.
            await engine.resume("first")
    assert len(stage.calls) == 1
    async with stage.engine(budget=HomeBudget(calls=2)) as engine:
        assert (await engine.resume("first")).succeeded
    assert max(stage.calls) < MINUTE


async def test_a_run_begins_also_when_nothing_is_left_of_the_day(autojump_clock):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(calls=1)) as engine:
        assert (await engine.begin(job("a"), run="first")).succeeded
        assert (await engine.begin(job("a"), run="second")).succeeded
    assert stage.calls[1] >= MINUTE


async def test_a_run_ends_where_the_user_wants_no_waiting(autojump_clock):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(calls=1, waits=False)) as engine:
        result = await engine.begin(job("a", "b"), run="first")
    assert (result.outcome, len(stage.calls)) == ("budget_exhausted", 1)
    assert "home's budget" in result.why


async def test_steps_side_by_side_share_several_days_where_one_day_does_not_allow_all(autojump_clock):
    """What fits goes ahead; the rest is asked for when its replies are here, and waits for the next day only then."""
    stage, notices = Stage(), []
    async with stage.engine(budget=HomeBudget(calls=2)) as engine:
        result = await engine.begin(job(*"abcd", chained=False), DriveOptions(notice=notices.append), run="first")
    assert (result.outcome, result.calls) == ("success", 4)
    assert [int((at - MINUTE) // DAY_SECONDS) for at in stage.calls] == [-1, -1, 0, 0]
    assert len(notices) == 1
    assert [stage.store.days[day].calls for day in sorted(stage.store.days)] == [2, 2]


async def test_money_that_a_reply_gives_back_pays_for_the_next_call_of_the_same_day(autojump_clock):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(micro_usd=await _reserved())) as engine:
        result = await engine.begin(job("a", "b", "c", chained=False), run="first")
    assert result.outcome == "success"
    assert max(stage.calls) < MINUTE
    assert stage.busiest == 1


async def test_a_run_whose_next_call_no_day_can_pay_is_parked_and_says_why(autojump_clock):
    stage, notices, reserved = Stage(), [], await _reserved()
    async with stage.engine(budget=HomeBudget(micro_usd=reserved - 1)) as engine:
        result = await engine.begin(job("a"), DriveOptions(notice=notices.append), run="first")
        assert (result.status, result.cause, stage.calls) == ("parked", "home_budget", [])
        assert "a request may take 1 call and $" in result.why
        assert notices == [f"{result.why}; the run is parked"]
        assert stage.row("first") == ("parked", result.why)
        assert exit_of_result(result) == Exit.BUDGET
        said = " ".join(row.plain for row in outcome_lines(result))
        assert result.why in said
        assert "raise `home_budget` in config.yaml and resume it" in said
        async with stage.hosting(engine):
            await trio.sleep(3 * MINUTE)
        assert stage.events("first") == []
        assert (await engine.resume("first")).status == "parked"
    async with stage.engine(budget=HomeBudget(micro_usd=reserved)) as engine:
        assert (await engine.resume("first")).succeeded
    assert stage.row("first") == ("finished", "success")


async def test_a_host_parks_what_no_day_can_pay_and_says_why(autojump_clock):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(micro_usd=1)) as engine:
        await engine.admit(job("a", "b", chained=False), run="first")
        async with stage.hosting(engine):
            await trio.sleep(3 * MINUTE)
    told = [event for event, _ in stage.events("first")]
    assert sorted(told) == ["parked", "taken_up", "trouble"]
    assert dict(stage.events("first"))["parked"] == stage.row("first")[1]


async def test_whoever_follows_what_a_host_parks_for_good_is_not_told_to_mend_the_host(autojump_clock, monkeypatch):
    """What to do stands in the result; nothing is wrong with the host."""
    stage, notes = Stage(), []
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    async with stage.engine(budget=HomeBudget(micro_usd=1)) as engine:
        await engine.admit(job("a"), run="first")
        async with stage.hosting(engine):
            result = await RunSession(engine, "first", lambda record, state: None, notes.append).go_on(Stop())
    assert (result.status, result.cause) == ("parked", "home_budget")
    assert notes == []


async def test_a_call_that_a_dead_driver_had_open_waits_for_the_next_day_with_its_run(autojump_clock):
    """Found by the simulated homes: hosts took the run up without end, since its row still showed work under way."""
    stage = Stage(seconds=1000.0)
    async with stage.engine(budget=HomeBudget(calls=1)) as engine:
        await engine.admit(job("a"), run="first")
        with trio.move_on_after(1):
            await engine.resume("first")
        stage.seconds = 1.0
        async with stage.hosting(engine):
            await trio.sleep(30)
            told = [event for event, _ in stage.events("first")]
            assert sorted(told) == ["resting", "taken_up", "trouble"]
            await trio.sleep(60)
    assert stage.row("first") == ("finished", "success")


async def test_many_hosts_together_never_pass_the_budget_of_the_home_or_of_a_run(autojump_clock):
    """Eight hosts with eight runs each; the processes of the real thing differ only in what the journal is."""
    stage = Stage(seconds=3.0)
    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(_one_host, stage, number)
    assert [stage.store.days[day].calls for day in sorted(stage.store.days)] == [64, 64]
    assert len(stage.calls) == 128
    assert sum(at < MINUTE for at in stage.calls) == 64
    for held in stage.store.runs.values():
        assert (held.summary.status, held.summary.detail) == ("finished", "budget_exhausted")
        assert held.account.total.calls == 2


async def _reserved():
    """Return what the first call of a run reserves, in micro-dollars; replies cost nothing here."""
    async with Stage().engine() as engine:
        await engine.begin(job("a"), run="sample")
        events = [one.event for one in await engine.journal.read("sample")]
    return next(event.micro_usd_max for event in events if event.kind == "generation_requested")


async def _one_host(stage, number):
    async with stage.engine(budget=HomeBudget(calls=64)) as engine, stage.hosting(engine):
        for place in range(8):
            await engine.admit(job("a", "b", "c", calls=2), run=f"r{number}{place}")
        await trio.sleep(5 * MINUTE)


@pytest.mark.parametrize("calls", [None, 5])
async def test_what_is_left_of_the_day_can_be_asked(autojump_clock, calls):
    stage = Stage()
    async with stage.engine(budget=HomeBudget(calls=calls)) as engine:
        await engine.begin(job("a", "b"), run="first")
        assert await engine.journal.spent_today() == Amount(calls=2)
