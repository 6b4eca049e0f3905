"""Messages to a run from Python: answers, notes and requirements, whichever process drives the run."""

import anyio
import pytest

import replan
from replan.runs.changes import record_undrivable
from replan.runs.engine import Engine
from runtime.core.errors import Held, RunNotFound
from runtime.drive.options import DriveOptions, Stop
from tests.support.worlds import always_hosted

VAGUE = "Make it better, please."


@pytest.fixture
def waiting(tmp_path):
    """A home with a waiting run, and the id of its question."""
    result = replan.solve(VAGUE, model="template:bug", home=tmp_path / "home")
    assert result.status == "waiting"
    return tmp_path / "home", result.question["id"]


async def follow(home, ask):
    with anyio.fail_after(300):
        async with replan.start(VAGUE, model="template:bug", home=home, ask=ask) as run:
            records = [record async for record in run]
            return records, await run.result()


def test_a_declined_question_has_no_answer(waiting):
    home, question = waiting
    end = "If you decline, the run ends, because the author does not understand the problem."
    assert replan.decline(question, home=home) == replan.AnswerReceipt("accepted", None, end)
    assert replan.decline(question, home=home) == replan.AnswerReceipt("duplicate", None, end)
    assert replan.answer(question, "It works.", home=home) == replan.AnswerReceipt("conflict", None, end)


def test_the_async_functions_work_in_any_event_loop(in_loop, tmp_path):
    async def main():
        result = await replan.asolve(VAGUE, model="template:bug", home=tmp_path)
        await replan.atell(result.run_id, "It is urgent.", home=tmp_path)
        await replan.atell(result.run_id, "It must run offline.", kind="requirement", home=tmp_path)
        assert (await replan.aanswer(result.question["id"], "It fails.", home=tmp_path)).result == "accepted"
        assert (await replan.adecline(result.question["id"], home=tmp_path)).result == "conflict"
        with pytest.raises(replan.UsageProblem, match="atell"):
            replan.tell(result.run_id, "x", home=tmp_path)

    in_loop(main)


@pytest.mark.parametrize("still_there", [True, False])
def test_records_of_a_host_that_reads_the_answer_first_are_delivered(in_loop, tmp_path, monkeypatch, still_there):
    resume, faster = Engine.resume, ["a host"]

    async def late(engine, run, *manner):
        if faster:
            await resume(engine, run)
            host = faster.pop()
            if still_there:
                raise Held(run, host, 0.0)
        return await resume(engine, run, *manner)

    def ask(question):
        questions.append(question["id"])
        return "The export in src/export.py fails with KeyError 'id' where a table is empty; it should write no row."

    questions = []
    monkeypatch.setattr(Engine, "resume", late)
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    records, result = in_loop(follow, tmp_path, ask)
    assert not faster
    assert len(questions) == 1, "the run is not driven a second time"
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert records[-1].event.kind == "run_finished"
    assert result.succeeded


def test_a_run_that_its_host_cannot_drive_goes_on_in_this_process(in_loop, tmp_path, monkeypatch):
    resume, faster = Engine.resume, ["a host"]

    async def late(engine, run, *manner):
        if faster:
            await record_undrivable(engine, run, replan.UsageProblem("this run needs a plug-in"))
            raise Held(run, faster.pop(), 0.0)
        return await resume(engine, run, *manner)

    monkeypatch.setattr(Engine, "resume", late)
    monkeypatch.setattr(Engine, "has_host", always_hosted)
    records, result = in_loop(follow, tmp_path, lambda question: "The export in shop/export.py fails.")
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    kinds = [record.event.kind for record in records]
    place = kinds.index("run_parked")
    assert records[place].event.why == "the host cannot drive the run: this run needs a plug-in"
    assert kinds[place + 1] == "run_resumed"
    assert result.succeeded


def test_records_of_a_driver_before_the_claim_are_delivered_without_a_gap(in_loop, tmp_path, monkeypatch):
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
    records, _ = in_loop(follow, tmp_path, lambda question: "It fails.")
    assert not faster
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert records[-1].event.kind == "run_finished"


def test_an_invalid_message_is_a_usage_problem(waiting):
    home, question = waiting
    run = question.partition("/")[0]
    for text, kind in (("", "note"), ("x", "wish"), ("x" * 10_001, "requirement")):
        with pytest.raises(replan.UsageProblem):
            replan.tell(run, text, kind=kind, home=home)
    with pytest.raises(replan.UsageProblem, match="no open question"):
        replan.answer(f"{run}/q9", "x", home=home)
    with pytest.raises(replan.UsageProblem, match="RUN/ID"):
        replan.answer("q1", "x", home=home)


def test_a_message_to_an_unknown_run_creates_no_home(tmp_path):
    with pytest.raises(RunNotFound):
        replan.answer("zzzzzzzz/q1", "It fails.", home=tmp_path / "home")
    with pytest.raises(RunNotFound):
        replan.tell("zzzzzzzz", "It fails.", home=tmp_path / "home")
    assert not (tmp_path / "home").exists()
