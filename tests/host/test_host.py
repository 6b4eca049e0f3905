"""The host over a journal in memory, on trio's clock: what it takes up, what it leaves alone, and what it costs."""

from dataclasses import replace

import pytest
import trio

from actors.planning.kind import PLANNING
from actors.planning.machine import PlanningMachine
from replan.runs.options import DriveOptions
from replan.setup.kinds import Kinds
from runtime.core.clock import TrioClock
from runtime.core.errors import JournalError
from runtime.drive.options import Stop
from runtime.journal.port import Due
from tests.host.stage import START, Stage, job


async def test_an_admitted_run_is_driven_to_its_end(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine, stage.hosting(engine):
        await engine.admit(job("a", "b"), run="first")
        await trio.sleep(5)
    assert stage.row("first") == ("finished", "success")
    assert stage.events("first") == [("taken_up", ""), ("finished", "success")]


async def test_an_admission_is_in_the_journal_before_any_work(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        await engine.admit(job("a"), run="first")
        assert [record.event.kind for record in await engine.journal.read("first")] == ["run_started"]
        assert (await engine.journal.row("first")).owner is None
        assert stage.calls == []
        async with stage.hosting(engine):
            await trio.sleep(5)
    assert stage.row("first") == ("finished", "success")


async def test_no_more_runs_are_active_at_once_than_allowed_and_the_oldest_go_first(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        for run in "abcdef":
            await engine.admit(job("one"), run=run)
        async with stage.hosting(engine, runs_max=2):
            await trio.sleep(10)
    assert stage.busiest == 2
    taken_up = [run for event, run, _ in stage.told if event == "taken_up"]
    assert [sorted(taken_up[place : place + 2]) for place in (0, 2, 4)] == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert {stage.row(run) for run in "abcdef"} == {("finished", "success")}


async def test_a_waiting_run_takes_no_place_and_its_answer_wakes_it(autojump_clock):
    stage = Stage(reject=["requirements.missing"])
    async with stage.engine() as engine, stage.hosting(engine, runs_max=1):
        await engine.admit(job("a"), run="first")
        await trio.sleep(5)
        assert stage.row("first") == ("waiting", "q1")
        assert stage.store.runs["first"].owner is None
        await engine.admit(job("a"), run="second")
        await trio.sleep(5)
        assert stage.row("second") == ("finished", "success")
        await engine.answer("first/q1", "the version is 3.12")
        await trio.sleep(5)
    assert stage.row("first") == ("finished", "success")
    assert stage.events("first")[1] == ("waiting", "q1")


async def test_a_cancel_ends_a_waiting_run_and_an_active_one(autojump_clock):
    stage = Stage(reject=["requirements.missing"], seconds=3.0)
    async with stage.engine() as engine, stage.hosting(engine):
        await engine.admit(job("a"), run="waiting")
        await trio.sleep(5)
        await engine.admit(job("a"), run="active")
        await trio.sleep(1)
        for run in ("waiting", "active"):
            await engine.cancel(run)
        await trio.sleep(1)
        assert stage.row("waiting") == stage.row("active") == ("finished", "cancelled")


async def test_a_run_that_waits_long_for_a_clock_is_kept_by_the_journal_alone(autojump_clock, monkeypatch):
    monkeypatch.setattr("replan.runs.hosting.REST_SECONDS", 0.2)
    stage = Stage(reject=["tool.transient"] * 3)
    async with stage.engine() as engine, stage.hosting(engine):
        await engine.admit(job("a"), run="first")
        await trio.sleep(1.5)
        held = stage.store.runs["first"]
        assert held.owner is None
        assert held.summary.next_wake > stage.clock.now()
        await trio.sleep(60)
    assert stage.row("first") == ("finished", "success")
    assert [event for event, _ in stage.events("first")] == ["taken_up", "resting"] * 3 + ["taken_up", "finished"]


async def test_a_question_with_a_deadline_ends_when_nobody_answers(autojump_clock):
    stage = Stage(reject=["requirements.missing"])
    async with stage.engine() as engine, stage.hosting(engine):
        await engine.admit(job("a", deadline=START + 1000.0), run="first")
        await trio.sleep(900)
        assert stage.row("first") == ("waiting", "q1")
        await trio.sleep(110)
    assert stage.row("first") == ("finished", "budget_exhausted")


async def test_a_wall_clock_that_jumps_forward_wakes_who_is_due(autojump_clock):
    class Jumping(TrioClock):
        ahead = 0.0

        def now(self):
            return super().now() + self.ahead

    clock = Jumping(START)
    stage = Stage(reject=["requirements.missing"])
    async with stage.engine(clock=clock) as engine, stage.hosting(engine):
        await engine.admit(job("a", deadline=START + 30 * 86_400.0), run="first")
        await trio.sleep(5)
        clock.ahead = 31 * 86_400.0
        await trio.sleep(10)
    assert stage.row("first") == ("finished", "budget_exhausted")


async def test_the_runs_of_a_driver_that_died_are_taken_up_when_its_lease_ends(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        await engine.admit(job("a"), run="first")
        await engine.journal.claim("first", "a process elsewhere", 30.0)
        async with stage.hosting(engine):
            await trio.sleep(25)
            assert stage.events("first") == []
            await trio.sleep(15)
    assert stage.row("first") == ("finished", "success")


async def test_a_stop_parks_all_runs_and_the_next_host_goes_on_with_them(autojump_clock):
    stage = Stage(seconds=5.0)
    async with stage.engine() as engine:
        for run in "abc":
            await engine.admit(job("one", "two"), run=run)
        async with stage.hosting(engine):
            await trio.sleep(2)
        assert {stage.events(run)[-1] for run in "abc"} == {("parked", "")}
        assert len(stage.calls) == 3
        assert {held.owner for held in stage.store.runs.values()} == {None}
        async with stage.hosting(engine):
            await trio.sleep(20)
    assert {stage.row(run) for run in "abc"} == {("finished", "success")}
    assert len(stage.calls) == 6


async def test_a_run_that_its_user_parked_is_left_alone(autojump_clock):
    stage = Stage(seconds=5.0)
    async with stage.engine() as engine:
        stop = Stop()
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def press():
                await trio.sleep(1)
                stop.requested.set()

            await engine.begin(job("a", "b"), DriveOptions(stop), run="first")
        async with stage.hosting(engine):
            await trio.sleep(60)
        assert stage.row("first") == ("parked", "")
        assert stage.events("first") == []
        assert (await engine.resume("first")).succeeded


async def test_a_second_wish_to_stop_waits_for_nothing(autojump_clock):
    stage = Stage(seconds=1000.0)
    async with stage.engine() as engine:
        await engine.admit(job("a"), run="first")
        async with stage.hosting(engine) as stop:
            await trio.sleep(1)
            before = trio.current_time()
            stop.requested.set()
            stop.forced.set()
        assert trio.current_time() - before < 1.0
    assert stage.events("first")[-1] == ("parked", "")


async def test_a_bug_of_the_driver_ends_its_own_run_and_no_other(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:

        class Buggy(PlanningMachine):
            def outstanding(self, state):
                if state.run is not None and state.run.run_id == "bad":
                    raise ZeroDivisionError("a bug")
                return super().outstanding(state)

        object.__setattr__(engine, "kinds", Kinds([replace(PLANNING, machine=Buggy())]))
        for run in ("bad", "good"):
            await engine.admit(job("a"), run=run)
        async with stage.hosting(engine):
            await trio.sleep(10)
        assert stage.row("good") == ("finished", "success")
        assert stage.row("bad") == ("finished", "failed")
        assert ("failed", "ZeroDivisionError: a bug") in stage.events("bad")
        assert (await engine.load("bad"))[0].run.finished.why == "driver: ZeroDivisionError: a bug"


async def test_a_run_whose_end_cannot_be_recorded_is_left_alone_for_good(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:

        class Lost(PlanningMachine):
            def evolve(self, state, event):
                if event.kind != "run_started":
                    raise ZeroDivisionError("a bug")
                return super().evolve(state, event)

        for run in ("bad", "worse"):
            await engine.admit(job("a"), run=run)
        object.__setattr__(engine, "kinds", Kinds([replace(PLANNING, machine=Lost())]))
        async with stage.hosting(engine):
            await trio.sleep(3600)
    assert [event for event, _ in stage.events("bad")] == ["failed", "not_here"]


async def test_a_journal_that_cannot_be_watched_for_a_while_does_not_end_the_host(autojump_clock):
    """Found by the simulated homes: the host outlived a look that failed, but not a failure to hear of commits."""
    stage = Stage()
    async with stage.engine() as engine, stage.engine() as other:
        version, failures = other.journal.version, ["busy", "gone"]

        async def troubled():
            if failures:
                raise JournalError(failures.pop())
            return await version()

        other.journal.version = troubled
        async with stage.hosting(other):
            await trio.sleep(1)
            await engine.admit(job("a"), run="first")
            await trio.sleep(2)
    assert failures == []
    assert stage.row("first") == ("finished", "success")


async def test_two_hosts_of_one_home_drive_each_run_once(autojump_clock):
    stage = Stage()
    async with stage.engine() as one, stage.engine() as other:
        for number in range(20):
            await one.admit(job("a", "b"), run=f"r{number}")
        async with stage.hosting(one, runs_max=5), stage.hosting(other, runs_max=5):
            await trio.sleep(60)
    assert len(stage.calls) == 40
    assert {stage.row(f"r{number}") for number in range(20)} == {("finished", "success")}
    for number in range(20):
        assert stage.events(f"r{number}") == [("taken_up", ""), ("finished", "success")]


@pytest.mark.parametrize("parked", [False, True])
async def test_a_host_that_hears_too_late_of_a_run_that_rests_again_leaves_it_as_it_is(
    autojump_clock, monkeypatch, parked
):
    """Another host was faster: no second line, no record, no second call of the hook."""
    stage, called = Stage(reject=["requirements.missing"]), []

    async def call(_, message):
        await trio.lowlevel.checkpoint()
        called.append(message)

    monkeypatch.setattr("runtime.host.hook.Hook.call", call)
    async with stage.engine() as engine:
        await engine.admit(job("a"), run="first")
        if parked:
            stop = Stop()
            stop.requested.set()
            await engine.resume("first", DriveOptions(stop))
        else:
            async with stage.hosting(engine):
                await trio.sleep(5)
        told, calls, before = stage.events("first"), len(called), await engine.journal.read("first")

        late_news = [Due(runs=("first",))]

        async def late(limit, *, dead, kinds=None):
            await trio.lowlevel.checkpoint()
            return late_news.pop() if late_news else Due()

        monkeypatch.setattr(engine.journal, "due", late)
        async with stage.hosting(engine):
            await trio.sleep(5)
        assert (stage.events("first"), len(called), await engine.journal.read("first")) == (told, calls, before)
        assert stage.store.runs["first"].owner is None
        assert calls == (0 if parked else 1)
