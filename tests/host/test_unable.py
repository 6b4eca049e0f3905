"""Runs that a host cannot drive: when it tries them again, and that nobody else suffers."""

from dataclasses import replace

import pytest
import trio

from replan.runs.engine import Engine
from replan.runs.session import RunSession
from runtime.core.errors import JournalError, MachineRunsAway, UsageProblem
from runtime.drive.options import Stop
from runtime.host.host import LOOK_SECONDS
from tests.host.stage import START, Stage, job
from tests.support.worlds import always_hosted


async def test_a_run_that_cannot_be_driven_here_disturbs_nobody_and_is_tried_again(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine, stage.engine(plugged=False) as bare:
        for run in "abc":
            await engine.admit(job("one"), run=run)
        async with stage.hosting(bare, runs_max=1):
            await trio.sleep(90)
            assert [event for event, _ in stage.events("a")] == ["not_here"] * 2
            assert "plug-in generator 'made'" in stage.events("c")[-1][1]
            async with stage.hosting(engine):
                await trio.sleep(10)
    assert {stage.row(run) for run in "abc"} == {("finished", "success")}


async def test_a_run_that_cannot_be_driven_here_is_tried_again_when_its_minute_is_over(autojump_clock):
    """Not with the next look, up to five seconds later."""
    stage = Stage()
    async with stage.engine(plugged=False) as bare:
        await bare.admit(job("one"), run="a")
        async with stage.hosting(bare):
            await trio.sleep(130)
    assert stage.times("not_here") == [0, 60, 120]


async def test_why_a_run_cannot_be_driven_stands_in_its_journal_once_until_somebody_drives_it(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine, stage.engine(plugged=False) as bare:
        await engine.admit(job("one"), run="a")
        async with stage.hosting(bare):
            await trio.sleep(130)
            (parked,) = [record.event for record in await engine.journal.read("a") if record.event.kind == "run_parked"]
            assert parked.handover
            assert parked.why == stage.row("a")[1]
            assert parked.why.startswith("the host cannot drive it: a: this run needs the plug-in generator 'made'")
            assert (await engine.result("a")).why == parked.why
            async with stage.hosting(engine):
                await trio.sleep(0.5)
                assert stage.row("a") == ("running", "")
                assert (await engine.result("a")).why == ""


async def test_hosts_that_fail_for_different_reasons_record_each_of_them_once(autojump_clock):
    stage = Stage()
    async with stage.engine(plugged=False) as bare, stage.engine() as full:
        blind = replace(full, registry=replace(full.registry, guards={}))
        await bare.admit(job("one"), run="a")
        async with stage.hosting(bare), stage.hosting(blind):
            await trio.sleep(600)
        whys = [record.event.why for record in await bare.journal.read("a") if record.event.kind == "run_parked"]
    assert len(stage.events("a")) > 20
    assert sorted(why[why.index("needs") :].split(" (")[0] for why in whys) == [
        "needs the plug-in generator 'made'",
        "needs the plug-in guard 'toy'",
    ]


async def test_whoever_wants_to_drive_a_run_here_does_so_where_the_host_was_faster_and_cannot(
    autojump_clock, monkeypatch
):
    """A host that tries it just now has it for a moment."""
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    stage, notes = Stage(), []
    async with stage.engine() as engine, stage.engine(plugged=False) as bare:
        await bare.admit(job("one"), run="a")
        async with stage.hosting(bare):
            await trio.sleep(90)
            epoch = await engine.journal.claim("a", "a host", 30.0)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_give_back_at, 100, engine.journal, epoch)
                result = await RunSession(engine, "a", lambda record, state: None, notes.append).drive(Stop())
    assert (result.status, result.outcome) == ("finished", "success")
    assert notes == ["the host cannot drive it; going on here"]
    assert stage.calls == [pytest.approx(100, abs=2)]


async def _give_back_at(seconds, journal, epoch):
    await trio.sleep_until(seconds)
    await journal.release("a", epoch)


async def test_why_a_run_cannot_be_driven_holds_no_secret_and_has_its_limit(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        keyed = replace(engine, environment={"OPENAI_API_KEY": "sk-very-secret"})
        await engine.admit(job("one"), run="a")
        await keyed.record_undrivable("a", UsageProblem("no sk-very-secret " + "x" * 1000))
    assert "very-secret" not in stage.row("a")[1]
    assert len(stage.row("a")[1]) == 500


async def test_a_run_whose_journal_is_out_of_reach_is_tried_again_soon_and_then_less_often(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        await engine.admit(job("one"), run="a")
        _let_fail(engine.journal, "read", 8)
        async with stage.hosting(engine):
            await trio.sleep(250)
    assert stage.times("not_here") == [0, 1, 3, 7, 15, 31, 63, 123]
    assert stage.row("a") == ("finished", "success")


async def test_a_run_whose_row_cannot_be_read_after_a_good_drive_is_not_left_alone(autojump_clock):
    stage = Stage(reject=["requirements.missing"])
    async with stage.engine() as engine:
        await engine.admit(job("one"), run="a")
        async with stage.hosting(engine):
            await trio.sleep(0.5)
            _let_fail(engine.journal, "row", 1)
            await trio.sleep(1.5)
            assert [event for event, _ in stage.events("a")] == ["taken_up", "trouble"]
            await engine.answer("a/q1", "it is this")
            await trio.sleep(3)
    assert stage.row("a") == ("finished", "success")


async def test_a_run_whose_end_by_a_bug_cannot_be_written_yet_is_tried_again_soon(autojump_clock):
    """The lease of a driver that has died may last a while; then the end can be written, if it is still one."""
    stage = Stage()
    async with stage.engine() as engine:
        await engine.admit(job("one"), run="a")
        _let_fail(engine.journal, "read", 1, ZeroDivisionError)
        _let_fail(engine.journal, "claim", 1)
        async with stage.hosting(engine):
            await trio.sleep(10)
    assert [event for event, _ in stage.events("a")] == ["failed", "not_here", "taken_up", "finished"]
    assert stage.times("taken_up") == [1]


async def test_a_run_that_goes_round_in_circles_is_ended_as_a_bug_and_not_tried_for_ever(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        await engine.admit(job("one"), run="a")
        _let_fail(engine.journal, "read", 1, MachineRunsAway)
        async with stage.hosting(engine):
            await trio.sleep(10)
    assert [event for event, _ in stage.events("a")] == ["failed"]
    assert stage.row("a") == ("finished", "failed")


async def test_a_replay_of_a_run_that_is_not_there_is_said_and_not_tried_at_every_moment(autojump_clock):
    """The run itself is there: that another one cannot be found must not pass for a host that was faster."""
    stage, work = Stage(), job("one")
    lost = replace(work, pinned=work.pinned.model_copy(update={"model": "replay:lost"}))
    async with stage.engine() as engine:
        await engine.admit(lost, run="a")
        async with stage.hosting(engine):
            await trio.sleep(90)
    assert stage.events("a") == [("not_here", "no run 'lost'")] * 2
    assert stage.row("a") == ("running", "the host cannot drive it: no run 'lost'")


async def test_a_journal_that_cannot_be_asked_what_is_due_is_asked_again_at_a_steady_pace(autojump_clock):
    """Also where a clock was to wake a run meanwhile; and what holds the host up is told once, not at every look."""
    stage = Stage(reject=["requirements.missing"])
    async with stage.engine() as engine:
        await engine.admit(job("one", deadline=START + 30.0), run="a")
        async with stage.hosting(engine):
            await trio.sleep(3)
            left = _let_fail(engine.journal, "due", 1000)
            await trio.sleep(100)
            assert [event for event, _, _ in stage.told].count("trouble") == 1
            assert 100 / LOOK_SECONDS <= 1000 - len(left) < 50


def _let_fail(journal, name, times, error=JournalError):
    """Let an operation of a journal fail so often; return the failures that are left."""
    operation, failures = getattr(journal, name), ["busy"] * times

    async def troubled(*arguments, **named):
        if failures:
            raise error(failures.pop())
        return await operation(*arguments, **named)

    setattr(journal, name, troubled)
    return failures
