"""The host over a journal in memory, on trio's clock: which runs it drives, and when."""

from dataclasses import replace

import pytest
import trio

from actors.handlers.generators import Registry
from actors.planning.kind import PLANNING
from actors.planning.machine import PlanningMachine
from replan.runs.engine import Engine
from replan.runs.session import TAKEN_UP_SECONDS, Follower, RunSession
from replan.setup.kinds import Kinds
from runtime.core.clock import TrioClock
from runtime.core.errors import JournalError
from runtime.drive.options import DriveOptions, Stop
from runtime.journal.port import Due
from runtime.models.port import Reply
from tests.host.fake_home import START, FakeHome, run_request
from tests.support.worlds import always_hosted


async def test_an_admitted_run_has_one_record_and_no_work(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        assert [record.event.kind for record in await engine.journal.read("first")] == ["run_started"]
        assert (await engine.journal.row("first")).owner is None
        assert home.calls == []
        async with home.hosting(engine):
            await trio.sleep(5)
    assert home.row("first") == ("finished", "success")
    assert home.events("first") == [("taken_up", ""), ("finished", "success")]


async def test_a_host_drives_the_oldest_runs_first_up_to_its_limit(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        for run in "abcdef":
            await engine.admit(run_request("one"), run=run)
        async with home.hosting(engine, runs_max=2):
            await trio.sleep(10)
    assert home.busiest == 2
    taken_up = [run for event, run, _ in home.notices if event == "taken_up"]
    assert [sorted(taken_up[place : place + 2]) for place in (0, 2, 4)] == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert {home.row(run) for run in "abcdef"} == {("finished", "success")}


async def test_a_waiting_run_does_not_count_as_active_and_its_answer_wakes_it(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine, home.hosting(engine, runs_max=1):
        await engine.admit(run_request("a"), run="first")
        await trio.sleep(5)
        assert home.row("first") == ("waiting", "q1")
        assert home.store.runs["first"].head.owner is None
        await engine.admit(run_request("a"), run="second")
        await trio.sleep(5)
        assert home.row("second") == ("finished", "success")
        await engine.answer("first/q1", "the version is 3.12", via="cli")
        await trio.sleep(5)
    assert home.row("first") == ("finished", "success")
    assert home.events("first")[1] == ("waiting", "q1")


async def test_a_cancel_ends_a_waiting_run_and_an_active_one(autojump_clock):
    home = FakeHome(reject=["requirements.missing"], seconds=3.0)
    async with home.engine() as engine, home.hosting(engine):
        await engine.admit(run_request("a"), run="waiting")
        await trio.sleep(5)
        await engine.admit(run_request("a"), run="active")
        await trio.sleep(1)
        for run in ("waiting", "active"):
            await engine.cancel(run)
        await trio.sleep(1)
        assert home.row("waiting") == home.row("active") == ("finished", "cancelled")


async def test_a_run_with_a_distant_wake_time_is_released_until_then(autojump_clock, monkeypatch):
    monkeypatch.setattr("replan.runs.hosting.REST_SECONDS", 0.2)
    home = FakeHome(reject=["tool.transient"] * 3)
    async with home.engine() as engine, home.hosting(engine):
        await engine.admit(run_request("a"), run="first")
        await trio.sleep(1.5)
        held = home.store.runs["first"]
        assert held.head.owner is None
        assert held.head.summary.next_wake > home.clock.now()
        await trio.sleep(60)
    assert home.row("first") == ("finished", "success")
    assert [event for event, _ in home.events("first")] == ["taken_up", "resting"] * 3 + ["taken_up", "finished"]


async def test_a_question_with_a_deadline_ends_when_nobody_answers(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine, home.hosting(engine):
        await engine.admit(run_request("a", deadline=START + 1000.0), run="first")
        await trio.sleep(900)
        assert home.row("first") == ("waiting", "q1")
        await trio.sleep(110)
    assert home.row("first") == ("finished", "budget_exhausted")


async def test_a_forward_jump_of_the_wall_clock_wakes_due_runs(autojump_clock):
    class ShiftedClock(TrioClock):
        ahead = 0.0

        def now(self):
            return super().now() + self.ahead

    clock = ShiftedClock(START)
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine(clock=clock) as engine, home.hosting(engine):
        await engine.admit(run_request("a", deadline=START + 30 * 86_400.0), run="first")
        await trio.sleep(5)
        clock.ahead = 31 * 86_400.0
        await trio.sleep(10)
    assert home.row("first") == ("finished", "budget_exhausted")


async def test_a_run_of_a_dead_driver_is_taken_up_when_its_lease_expires(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        await engine.journal.claim("first", "a process elsewhere", 30.0)
        async with home.hosting(engine):
            await trio.sleep(25)
            assert home.events("first") == []
            await trio.sleep(15)
    assert home.row("first") == ("finished", "success")


async def test_a_stop_parks_all_runs_and_the_next_host_goes_on_with_them(autojump_clock):
    home = FakeHome(seconds=5.0)
    async with home.engine() as engine:
        for run in "abc":
            await engine.admit(run_request("one", "two"), run=run)
        async with home.hosting(engine):
            await trio.sleep(2)
        assert {home.events(run)[-1] for run in "abc"} == {("parked", "")}
        assert len(home.calls) == 3
        assert {held.head.owner for held in home.store.runs.values()} == {None}
        async with home.hosting(engine):
            await trio.sleep(20)
    assert {home.row(run) for run in "abc"} == {("finished", "success")}
    assert len(home.calls) == 6


async def test_a_run_that_a_user_parked_is_not_taken_up(autojump_clock):
    home = FakeHome(seconds=5.0)
    async with home.engine() as engine:
        stop = Stop()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def request_stop():
                await trio.sleep(1)
                stop.requested.set()

            await engine.begin(run_request("a", "b"), DriveOptions(stop), run="first")
        async with home.hosting(engine):
            await trio.sleep(60)
        assert home.row("first") == ("parked", "")
        assert home.events("first") == []
        assert (await engine.resume("first")).succeeded


async def test_a_forced_stop_does_not_wait_for_replies(autojump_clock):
    home = FakeHome(seconds=1000.0)
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        async with home.hosting(engine) as stop:
            await trio.sleep(1)
            before = trio.current_time()
            stop.requested.set()
            stop.forced.set()
        assert trio.current_time() - before < 1.0
    assert home.events("first")[-1] == ("parked", "")


async def test_a_bug_in_a_driver_ends_only_its_run(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:

        class Buggy(PlanningMachine):
            def outstanding(self, state):
                if state.run is not None and state.run.run_id == "bad":
                    raise ZeroDivisionError("a bug")
                return super().outstanding(state)

        object.__setattr__(engine, "kinds", Kinds([replace(PLANNING, machine=Buggy())]))
        for run in ("bad", "good"):
            await engine.admit(run_request("a"), run=run)
        async with home.hosting(engine):
            await trio.sleep(10)
        assert home.row("good") == ("finished", "success")
        assert home.row("bad") == ("finished", "failed")
        assert ("failed", "ZeroDivisionError: a bug") in home.events("bad")
        assert (await engine.load("bad"))[0].run.finished.why == "driver: ZeroDivisionError: a bug"


async def test_a_run_whose_crash_cannot_be_recorded_is_not_retried(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:

        class CannotFold(PlanningMachine):
            def evolve(self, state, event):
                if event.kind != "run_started":
                    raise ZeroDivisionError("a bug")
                return super().evolve(state, event)

        for run in ("bad", "worse"):
            await engine.admit(run_request("a"), run=run)
        object.__setattr__(engine, "kinds", Kinds([replace(PLANNING, machine=CannotFold())]))
        async with home.hosting(engine):
            await trio.sleep(3600)
    assert [event for event, _ in home.events("bad")] == ["failed", "not_here"]


async def test_a_host_survives_a_journal_that_cannot_be_polled_for_a_while(autojump_clock):
    """Found by the simulation: the host survived a failing `due`, but not a failing `version`."""
    home = FakeHome()
    async with home.engine() as engine, home.engine() as other:
        version, failures = other.journal.version, ["busy", "gone"]

        async def failing_version():
            if failures:
                raise JournalError(failures.pop())
            return await version()

        other.journal.version = failing_version
        async with home.hosting(other):
            await trio.sleep(1)
            await engine.admit(run_request("a"), run="first")
            await trio.sleep(2)
    assert failures == []
    assert home.row("first") == ("finished", "success")


async def test_two_hosts_of_one_home_drive_each_run_once(autojump_clock):
    home = FakeHome()
    async with home.engine() as first, home.engine() as second:
        for number in range(20):
            await first.admit(run_request("a", "b"), run=f"r{number}")
        async with home.hosting(first, runs_max=5), home.hosting(second, runs_max=5):
            await trio.sleep(60)
    assert len(home.calls) == 40
    assert {home.row(f"r{number}") for number in range(20)} == {("finished", "success")}
    for number in range(20):
        assert home.events(f"r{number}") == [("taken_up", ""), ("finished", "success")]


@pytest.mark.parametrize("parked", [False, True])
async def test_a_host_ignores_an_outdated_due_run_that_is_at_rest_again(autojump_clock, monkeypatch, parked):
    """Another host was faster: no second notice, and no record."""
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        if parked:
            stop = Stop()
            stop.requested.set()
            await engine.resume("first", DriveOptions(stop))
        else:
            async with home.hosting(engine):
                await trio.sleep(5)
        notices, before = home.events("first"), await engine.journal.read("first")

        outdated = [Due(runs=("first",))]

        async def outdated_due(limit, *, dead, kinds=None):
            await trio.lowlevel.checkpoint()
            return outdated.pop() if outdated else Due()

        monkeypatch.setattr(engine.journal, "due", outdated_due)
        async with home.hosting(engine):
            await trio.sleep(5)
        assert (home.events("first"), await engine.journal.read("first")) == (notices, before)
        assert home.store.runs["first"].head.owner is None


class Cutting:
    """A generator whose first replies are cut."""

    def __init__(self, cuts):
        self.cuts, self.calls = cuts, 0

    async def generate(self, brief):
        self.calls += 1
        reason = "length" if self.calls <= self.cuts else "stop"
        return Reply(text='{"a": 1' + "}" * (reason == "stop"), usage=None, model="toy", finish_reason=reason)


async def test_a_host_leaves_a_run_alone_that_was_parked_for_its_replies(autojump_clock):
    home, author = FakeHome(), Cutting(cuts=2)
    async with home.engine() as plain:
        engine = replace(plain, registry=Registry(guards={"toy": lambda _: home.judge}, generators={"made": author}))
        await engine.admit(run_request("one", "two"), run="a")
        async with home.hosting(engine):
            await trio.sleep(7_200)
        assert author.calls == 2
        status, why = home.row("a")
        assert status == "parked"
        assert why.startswith("one: reply.cut again: ")
        result = await engine.result("a")
        assert (result.status, result.cause, result.why) == ("parked", "reply", why)
        assert (await engine.resume("a")).outcome == "success"
    assert author.calls == 4


async def test_records_of_other_drivers_are_reported_before_the_run_goes_on(autojump_clock):
    home, reported = FakeHome(reject=["requirements.missing"], seconds=10.0), []
    async with home.engine() as engine:
        session = RunSession(engine, "first", lambda record, _: reported.append((record, trio.current_time())))
        assert (await session.begin(run_request("a"), Stop())).status == "waiting"
        stop = Stop()
        stop.requested.set()
        await engine.resume("first", DriveOptions(stop))
        await engine.answer("first/q1", "it is this", via="cli")
        assert (await session.drive(Stop())).succeeded
    assert [record.seq for record, _ in reported] == [*range(1, len(reported) + 1)]
    assert "run_parked" in [record.event.kind for record, _ in reported]
    request_times = [at for record, at in reported if record.event.kind == "generation_requested"]
    assert request_times == home.calls


async def test_a_follower_of_a_waiting_run_stays_until_the_host_has_read_a_message(autojump_clock, monkeypatch):
    home, reported = FakeHome(reject=["requirements.missing"]), []
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    async with home.engine() as engine:
        assert (await engine.begin(run_request("a"), run="first")).status == "waiting"
        await engine.tell("first", "It must be fast.", "requirement")
        async with home.hosting(engine):
            result = await Follower(engine, "first", lambda record, _: reported.append(record.event.kind)).follow()
    assert "requirement_told" in reported
    assert result.succeeded


async def test_a_follower_is_told_when_the_host_does_not_take_the_run_up(autojump_clock, monkeypatch):
    home, notes, stop = FakeHome(), [], Stop()
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(RunSession(engine, "first", lambda record, state: None, notes.append).go_on, stop)
            await trio.sleep(TAKEN_UP_SECONDS - 1)
            assert notes == []
            await trio.sleep(2)
            stop.requested.set()
    assert notes == ["the host is busy and has not started to drive the run yet; Ctrl-C leaves the run to the host"]
