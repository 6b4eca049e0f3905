"""Runs that a host cannot drive: when it retries them, what it records, and that other runs go on."""

from dataclasses import replace

import pytest
import trio

from replan.runs.changes import record_undrivable
from replan.runs.engine import Engine
from replan.runs.session import RunSession
from runtime.core.errors import JournalError, MachineRunsAway, UsageProblem
from runtime.drive.options import Stop
from runtime.host.host import LOOK_SECONDS
from tests.host.fake_home import START, FakeHome, run_request
from tests.support.worlds import always_hosted


async def test_an_undrivable_run_is_retried_and_does_not_affect_others(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine, home.engine(plugins=False) as bare:
        for run in "abc":
            await engine.admit(run_request("one"), run=run)
        async with home.hosting(bare, runs_max=1):
            await trio.sleep(90)
            assert [event for event, _ in home.events("a")] == ["not_here"] * 2
            assert "plug-in generator 'made'" in home.events("c")[-1][1]
            async with home.hosting(engine):
                await trio.sleep(10)
    assert {home.row(run) for run in "abc"} == {("finished", "success")}


async def test_an_undrivable_run_is_retried_every_minute(autojump_clock):
    home = FakeHome()
    async with home.engine(plugins=False) as bare:
        await bare.admit(run_request("one"), run="a")
        async with home.hosting(bare):
            await trio.sleep(130)
    assert home.times("not_here") == [0, 60, 120]


async def test_the_reason_is_recorded_once_until_the_run_is_driven(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine, home.engine(plugins=False) as bare:
        await engine.admit(run_request("one"), run="a")
        async with home.hosting(bare):
            await trio.sleep(130)
            (parked,) = [record.event for record in await engine.journal.read("a") if record.event.kind == "run_parked"]
            assert parked.handover
            assert parked.why == home.row("a")[1]
            assert parked.why.startswith(
                "the host cannot drive the run: a: this run needs the plug-in generator 'made'"
            )
            assert (await engine.result("a")).why == parked.why
            async with home.hosting(engine):
                await trio.sleep(0.5)
                assert home.row("a") == ("running", "")
                assert (await engine.result("a")).why == ""


async def test_different_reasons_of_several_hosts_are_recorded_once_each(autojump_clock):
    home = FakeHome()
    async with home.engine(plugins=False) as bare, home.engine() as full:
        without_guards = replace(full, registry=replace(full.registry, guards={}))
        await bare.admit(run_request("one"), run="a")
        async with home.hosting(bare), home.hosting(without_guards):
            await trio.sleep(600)
        reasons = [record.event.why for record in await bare.journal.read("a") if record.event.kind == "run_parked"]
    assert len(home.events("a")) > 20
    assert sorted(why[why.index("needs") :].split(" (")[0] for why in reasons) == [
        "needs the plug-in generator 'made'",
        "needs the plug-in guard 'toy'",
    ]


async def test_a_session_drives_a_run_that_the_host_claimed_and_cannot_drive(autojump_clock, monkeypatch):
    """While a host tries to drive the run, it holds the lease for a moment."""
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    home, notes = FakeHome(), []
    async with home.engine() as engine, home.engine(plugins=False) as bare:
        await bare.admit(run_request("one"), run="a")
        async with home.hosting(bare):
            await trio.sleep(90)
            epoch = await engine.journal.claim("a", "a host", 30.0)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_release_at, 100, engine.journal, epoch)
                result = await RunSession(engine, "a", lambda record, state: None, notes.append).drive(Stop())
    assert (result.status, result.outcome) == ("finished", "success")
    assert notes == ["the host cannot drive the run; this process drives it now"]
    assert home.calls == [pytest.approx(100, abs=2)]


async def _release_at(seconds, journal, epoch):
    await trio.sleep_until(seconds)
    await journal.release("a", epoch)


async def test_the_recorded_reason_has_no_secrets_and_a_maximum_length(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        keyed = replace(engine, environment={"OPENAI_API_KEY": "sk-very-secret"})
        await engine.admit(run_request("one"), run="a")
        await record_undrivable(keyed, "a", UsageProblem("no sk-very-secret " + "x" * 1000))
    assert "very-secret" not in home.row("a")[1]
    assert len(home.row("a")[1]) == 500


async def test_an_unreadable_run_is_retried_with_growing_delays(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("one"), run="a")
        _make_fail(engine.journal, "read", 8)
        async with home.hosting(engine):
            await trio.sleep(250)
    assert home.times("not_here") == [0, 1, 3, 7, 15, 31, 63, 123]
    assert home.row("a") == ("finished", "success")


async def test_a_run_whose_row_cannot_be_read_after_a_drive_is_still_served(autojump_clock):
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await engine.admit(run_request("one"), run="a")
        async with home.hosting(engine):
            await trio.sleep(0.5)
            _make_fail(engine.journal, "row", 1)
            await trio.sleep(1.5)
            assert [event for event, _ in home.events("a")] == ["taken_up", "trouble"]
            await engine.answer("a/q1", "it is this", via="cli")
            await trio.sleep(3)
    assert home.row("a") == ("finished", "success")


async def test_a_crash_that_cannot_be_recorded_yet_is_retried_soon(autojump_clock):
    """The lease of a dead driver may still be valid; the crash can be recorded after it expires."""
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("one"), run="a")
        _make_fail(engine.journal, "read", 1, ZeroDivisionError)
        _make_fail(engine.journal, "claim", 1)
        async with home.hosting(engine):
            await trio.sleep(10)
    assert [event for event, _ in home.events("a")] == ["failed", "not_here", "taken_up", "finished"]
    assert home.times("taken_up") == [1]


async def test_a_machine_that_runs_away_ends_its_run_as_a_bug(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("one"), run="a")
        _make_fail(engine.journal, "read", 1, MachineRunsAway)
        async with home.hosting(engine):
            await trio.sleep(10)
    assert [event for event, _ in home.events("a")] == ["failed"]
    assert home.row("a") == ("finished", "failed")


async def test_a_replay_of_an_unknown_run_is_reported_and_retried_every_minute(autojump_clock):
    """`RunNotFound` is about the other run, and must not be mistaken for a run that another host took up."""
    home, work = FakeHome(), run_request("one")
    replay = replace(work, pinned=work.pinned.model_copy(update={"model": "replay:lost"}))
    async with home.engine() as engine:
        await engine.admit(replay, run="a")
        async with home.hosting(engine):
            await trio.sleep(90)
    assert home.events("a") == [("not_here", "no run 'lost'")] * 2
    assert home.row("a") == ("running", "the host cannot drive the run: no run 'lost'")


async def test_a_failing_due_is_retried_at_the_polling_interval(autojump_clock):
    """Also if a run has a wake time meanwhile; the failure is reported once, not at every poll."""
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await engine.admit(run_request("one", deadline=START + 30.0), run="a")
        async with home.hosting(engine):
            await trio.sleep(3)
            remaining = _make_fail(engine.journal, "due", 1000)
            await trio.sleep(100)
            assert [event for event, _, _ in home.notices].count("trouble") == 1
            assert 100 / LOOK_SECONDS <= 1000 - len(remaining) < 50


def _make_fail(journal, name, times, error=JournalError):
    operation, failures = getattr(journal, name), ["busy"] * times

    async def failing_call(*arguments, **named):
        if failures:
            raise error(failures.pop())
        return await operation(*arguments, **named)

    setattr(journal, name, failing_call)
    return failures
