"""A user goes on with a run, or follows it, while others drive it too."""

import trio

from replan.runs.engine import Engine
from replan.runs.follow import Follower
from replan.runs.options import DriveOptions
from replan.runs.session import TAKEN_UP_SECONDS, RunSession
from runtime.drive.options import Stop
from tests.host.stage import Stage, job
from tests.support.worlds import always_hosted


async def test_what_others_wrote_while_the_user_thought_is_told_before_the_run_goes_on(autojump_clock):
    """Else all that follows on it would be told at the end only."""
    stage, told = Stage(reject=["requirements.missing"], seconds=10.0), []
    async with stage.engine() as engine:
        going = RunSession(engine, "first", lambda record, _: told.append((record, trio.current_time())))
        assert (await going.begin(job("a"), Stop())).status == "waiting"
        left = Stop()
        left.requested.set()
        await engine.resume("first", DriveOptions(left))
        await engine.answer("first/q1", "it is this")
        assert (await going.drive(Stop())).succeeded
    assert [record.seq for record, _ in told] == [*range(1, len(told) + 1)]
    assert "run_parked" in [record.event.kind for record, _ in told]
    asked = [at for record, at in told if record.event.kind == "generation_requested"]
    assert asked == stage.calls


async def test_whoever_follows_a_run_that_waits_stays_until_its_host_has_read_a_message(autojump_clock, monkeypatch):
    stage, told = Stage(reject=["requirements.missing"]), []
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    async with stage.engine() as engine:
        assert (await engine.begin(job("a"), run="first")).status == "waiting"
        await engine.tell("first", "It must be fast.", "requirement")
        async with stage.hosting(engine):
            result = await Follower(engine, "first", lambda record, _: told.append(record.event.kind)).follow()
    assert "requirement_told" in told
    assert result.succeeded


async def test_whoever_follows_a_run_that_its_host_leaves_lying_is_told_after_a_while(autojump_clock, monkeypatch):
    stage, notes, stop = Stage(), [], Stop()
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    async with stage.engine() as engine:
        await engine.admit(job("a"), run="first")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(RunSession(engine, "first", lambda record, state: None, notes.append).go_on, stop)
            await trio.sleep(TAKEN_UP_SECONDS - 1)
            assert notes == []
            await trio.sleep(2)
            stop.requested.set()
    assert notes == ["the host has not taken the run up yet: it is busy; Ctrl-C leaves the run to it"]
