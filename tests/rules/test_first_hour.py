"""What the built-in author makes of texts of somebody's first hour: a template, a question, or a refusal."""

from functools import cache

import pytest

from actors.guards.fields import folded

from .author import judged, pipeline
from .evaluation import ASKED, REFUSED, statements

ROWS = statements("first_hour")


@cache
def artifacts(text):
    """Return what the author writes for a text."""
    return pipeline(text)


def result_of(text):
    """Return the kind that is planned, `asks` or `not understood`."""
    analysis = artifacts(text)["analysis"]
    if analysis.get("open_questions"):
        return ASKED
    return REFUSED if analysis.get("not_understood") else analysis["problem_type"]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_text_gets_the_template_of_its_kind_or_a_question_or_is_declined(row):
    """`none` is either of the last two: a text that is thin or about no software is never planned."""
    result = result_of(row["text"])
    assert result in ((ASKED, REFUSED) if row["expect"] == "none" else (row["expect"],))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_plan_is_consistent_and_carries_the_demands_of_its_text(row):
    plan = artifacts(row["text"])["plan"]
    if not plan["steps"]:
        return
    assert all(verdict.passed for verdict in judged("plan", plan, row["text"]).values())
    assert "%" not in plan["basis"].replace(row["text"], "")
    assert plan["basis"].startswith("Template for a")
    satisfied = {name for step in plan["steps"] for name in step.get("satisfies", ())}
    texts = {item["text"]: item["id"] in satisfied for item in plan["requirements"]} if "requirements" in plan else {}
    for wanted in row.get("plan", ()):
        assert texts.get(wanted), (wanted, texts)
    for never in row.get("never_a_step", ()):
        assert not [step["name"] for step in plan["steps"] if never in step["name"]]
    for name in row.get("alternatives", ()):
        assert f"Evaluate: {name}" in [step["name"] for step in plan["steps"]]


@pytest.mark.parametrize("row", [row for row in ROWS if row["expect"] == "bug_fix"], ids=lambda row: row["id"])
def test_no_goal_and_no_limit_of_a_bug_states_the_defect(row):
    plan = artifacts(row["text"])["plan"]
    [title, *_] = row["text"].splitlines()
    for item in plan["requirements"]:
        if item["kind"] in ("goal", "must_keep", "must_avoid"):
            assert folded(item["text"]) != folded(title)
            assert "instead of" not in item["text"]


def test_the_texts_are_many_and_half_of_the_own_ones_are_thin_or_about_no_software():
    own = [row for row in ROWS if row["of"] == "own"]
    assert len(own) >= 20
    assert sum(row["expect"] in ("none", ASKED) for row in own) >= len(own) / 2
    assert sum(row["of"] == "table" for row in ROWS) == 12
