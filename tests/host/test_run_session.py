"""`RunSession` and `Follower`: a user resumes or follows a run that other processes drive too."""

import trio

from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from replan.runs.session import TAKEN_UP_SECONDS, Follower, RunSession
from runtime.drive.options import Stop
from tests.host.fake_home import FakeHome, run_request
from tests.support.worlds import always_hosted


async def test_records_of_other_drivers_are_reported_before_the_run_goes_on(autojump_clock):
    """Otherwise all later records would be reported only at the end."""
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
    assert notes == ["the host has not taken the run up yet: it is busy; Ctrl-C leaves the run to it"]
