"""Talking to a run from Python: in a home of its own, whoever drives the run, with the same errors as elsewhere."""

import pytest

import replan
from replan.engine import Engine
from runtime.errors import Held

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


async def test_a_host_that_hears_the_answer_first_is_followed(tmp_path, monkeypatch):
    """The run is driven once, and its records are told all the same."""
    resume, faster = Engine.resume, ["a host"]

    async def late(engine, run, **named):
        if not faster:
            return await resume(engine, run, **named)
        await resume(engine, run)
        raise Held(run, faster.pop(), 0.0)

    monkeypatch.setattr(Engine, "resume", late)
    monkeypatch.setattr(Engine, "hosted", property(lambda engine: True))
    async with replan.start(THIN, model="rules", home=tmp_path, ask=lambda question: "It fails.") as run:
        records = [record async for record in run]
        result = await run.result()
    assert not faster
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert any(record.event.kind == "clarification_answered" for record in records)
    assert result.run_id == run.run_id


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
