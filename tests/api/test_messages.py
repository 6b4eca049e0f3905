"""Talking to a run from Python: in a home of its own, whoever drives the run, with the same errors as elsewhere."""

import pytest
import trio

import replan
from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from runtime.core.errors import Held, RunNotFound
from runtime.drive.options import Stop
from tests.support.worlds import always_hosted

THIN = "Make it better, please."


@pytest.fixture
def waiting(tmp_path):
    """A home with a run that waits; the home and the question's id."""
    result = replan.solve(THIN, model="rules", home=tmp_path / "home")
    assert result.status == "waiting"
    return tmp_path / "home", result.question["id"]


def test_an_answer_is_heard_once_and_another_one_is_a_conflict(waiting):
    home, question = waiting
    assert replan.answer(question, " It fails. ", home=home) == replan.Heard("accepted", "It fails.")
    assert replan.answer(question, "It fails.", home=home) == replan.Heard("duplicate", "It fails.")
    assert replan.answer(question, "It works.", home=home) == replan.Heard("conflict", "It fails.")
    assert replan.decline(question, home=home) == replan.Heard("conflict", "It fails.")


def test_a_declined_question_has_no_answer(waiting):
    home, question = waiting
    assert replan.decline(question, home=home) == replan.Heard("accepted", None)
    assert replan.decline(question, home=home) == replan.Heard("duplicate", None)
    assert replan.answer(question, "It works.", home=home) == replan.Heard("conflict", None)


async def test_under_trio_the_names_begin_with_an_a(tmp_path):
    result = await replan.asolve(THIN, model="rules", home=tmp_path)
    await replan.atell(result.run_id, "It is urgent.", home=tmp_path)
    await replan.atell(result.run_id, "It must run offline.", kind="requirement", home=tmp_path)
    assert (await replan.aanswer(result.question["id"], "It fails.", home=tmp_path)).result == "accepted"
    assert (await replan.adecline(result.question["id"], home=tmp_path)).result == "conflict"
    with pytest.raises(replan.UsageProblem, match="atell"):
        replan.tell(result.run_id, "x", home=tmp_path)


@pytest.mark.parametrize("still_there", [True, False])
async def test_what_a_host_writes_that_hears_the_answer_first_is_told_all_the_same(tmp_path, monkeypatch, still_there):
    """The run is driven once, and its records come in their order, whether the host still has it or has left it."""
    resume, faster = Engine.resume, ["a host"]

    async def late(engine, run, *manner):
        if faster:
            await resume(engine, run)
            host = faster.pop()
            if still_there:
                raise Held(run, host, 0.0)
        return await resume(engine, run, *manner)

    def ask(question):
        asked.append(question["id"])
        return "The export in src/export.py fails with KeyError 'id' where a table is empty; it should write no row."

    asked = []
    monkeypatch.setattr(Engine, "resume", late)
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    async with replan.start(THIN, model="rules", home=tmp_path, ask=ask) as run:
        records = [record async for record in run]
        result = await run.result()
    assert not faster
    assert len(asked) == 1, "nobody drives the run again, so that nothing is told later"
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert records[-1].event.kind == "run_finished"
    assert result.succeeded


async def test_a_run_whose_host_was_faster_and_cannot_drive_it_goes_on_here(tmp_path, monkeypatch):
    """The host lacks what was passed to this process. The run's records say so, and nobody waits until it is mended."""
    resume, faster = Engine.resume, ["a host"]

    async def late(engine, run, *manner):
        if faster:
            await engine.record_undrivable(run, replan.UsageProblem("this run needs a plug-in"))
            raise Held(run, faster.pop(), 0.0)
        return await resume(engine, run, *manner)

    monkeypatch.setattr(Engine, "resume", late)
    monkeypatch.setattr(Engine, "hosted", always_hosted)
    with trio.fail_after(30):
        async with replan.start(
            THIN, model="rules", home=tmp_path, ask=lambda question: "The export in shop/export.py fails."
        ) as run:
            records = [record async for record in run]
            result = await run.result()
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    kinds = [record.event.kind for record in records]
    told = kinds.index("run_parked")
    assert records[told].event.why == "the host cannot drive it: this run needs a plug-in"
    assert kinds[told + 1] == "run_resumed"
    assert result.succeeded


async def test_a_run_that_is_taken_and_left_while_it_is_about_to_be_driven_is_told_without_a_gap(tmp_path, monkeypatch):
    """Another driver's records, of the moment before this one has the run, come before this one's own."""
    read, faster = Engine.read, ["another"]

    async def late(engine, run):
        loaded = await read(engine, run)
        if loaded.state.run.open_questions and faster and await engine.journal.inbox(run):
            stop = Stop()
            stop.requested.set()
            faster.pop()
            await engine.resume(run, DriveOptions(stop))
        return loaded

    monkeypatch.setattr(Engine, "read", late)
    async with replan.start(THIN, model="rules", home=tmp_path, ask=lambda question: "It fails.") as run:
        records = [record async for record in run]
    assert not faster
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert records[-1].event.kind == "run_finished"


def test_what_cannot_be_taken_is_a_usage_problem(waiting):
    home, question = waiting
    run = question.partition("/")[0]
    for text, kind in (("", "note"), ("x", "wish"), ("x" * 10_001, "requirement")):
        with pytest.raises(replan.UsageProblem):
            replan.tell(run, text, kind=kind, home=home)
    with pytest.raises(replan.UsageProblem, match="no open question"):
        replan.answer(f"{run}/q9", "x", home=home)
    with pytest.raises(replan.UsageProblem, match="RUN/ID"):
        replan.answer("q1", "x", home=home)


def test_talking_to_a_run_that_is_not_there_makes_no_home(tmp_path):
    with pytest.raises(RunNotFound):
        replan.answer("zzzzzzzz/q1", "It fails.", home=tmp_path / "home")
    with pytest.raises(RunNotFound):
        replan.tell("zzzzzzzz", "It fails.", home=tmp_path / "home")
    assert not (tmp_path / "home").exists()
