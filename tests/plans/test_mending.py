"""What the program sets in the plans of a run: sums and form, never what the author has to decide."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.plans.mending import mend_plan
from actors.plans.reader import read_plan
from actors.values.findings import Code

STEP = {"step_id": "fix", "name": "Fix", "generator": "coder", "guard": "syntax", "retry_budget": 4}


def plan(*steps, **keys):
    """Return a plan's JSON value with these steps."""
    return {"plan_id": "p", "initial_state": ["a"], "goal_state": ["b"], "steps": list(steps), **keys}


def notes_of(value):
    """Return the mended plan and the messages about it."""
    result, notes = mend_plan(value)
    assert all((note.code, note.severity) == (Code.SET_BY_PROGRAM, "warning") for note in notes)
    return result, [note.message for note in notes]


@pytest.mark.parametrize(("written", "total"), [(8, 12), ("8", 12), (0, 12), (12.0, 12), ("20", 20), (None, 12)])
def test_a_total_of_attempts_below_the_sum_is_raised_to_it(written, total):
    steps = [{**STEP, "step_id": name} for name in ("a", "b", "c")]
    result, messages = notes_of(plan(*steps, total_retry_budget=written))
    assert result["total_retry_budget"] == total
    assert messages[-1].endswith(f"is now {total}; the retry budgets of the steps add up to 12.")


def test_a_missing_total_is_the_sum_where_the_usual_one_is_too_small():
    many = [{**STEP, "step_id": name} for name in ("a", "b", "c")]
    assert notes_of(plan(*many))[0]["total_retry_budget"] == 12
    assert "total_retry_budget" not in notes_of(plan(STEP))[0]


@pytest.mark.parametrize("written", [10, 100])
def test_a_total_that_leaves_attempts_for_going_back_is_the_authors(written):
    value = plan(STEP, total_retry_budget=written)
    assert mend_plan(value) == (value, ())


@pytest.mark.parametrize(("written", "budget"), [("3", 3), (2.0, 2), (0, 1), ("0", 1)])
def test_a_retry_budget_is_a_whole_number_of_at_least_one(written, budget):
    """No retries are one attempt, since the budget counts the first."""
    result, messages = notes_of(plan({**STEP, "retry_budget": written}))
    assert result["steps"][0]["retry_budget"] == budget
    assert len(messages) == 1


@pytest.mark.parametrize("written", [-1, 2.5, "many", True, [], 10**9, "9" * 5000])
def test_a_number_that_the_program_cannot_know_is_left_to_the_author(written):
    value = plan({**STEP, "retry_budget": written}, total_retry_budget=8)
    assert mend_plan(value) == (value, ())


def test_a_step_that_stands_there_twice_is_kept_once():
    """Two different steps with one id are the author's to tell apart."""
    other = {**STEP, "name": "Another"}
    result, messages = notes_of(plan(STEP, dict(STEP), other))
    assert result["steps"] == [STEP, other]
    assert messages == ["set by the program: the plan had two equal steps fix, and one is removed."]


def test_a_name_alone_is_a_list_of_it_and_null_is_nothing():
    step = {**STEP, "preconditions": "a", "effects": "b, c", "dependencies": None, "guard": None}
    (result,) = notes_of(plan(step))[0]["steps"]
    assert result["preconditions"] == ["a"]
    assert result["effects"] == "b, c"
    assert "dependencies" not in result
    assert "guard" not in result


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
STEPS = some.dictionaries(some.sampled_from([*STEP, "dependencies", "effects", "on_failure"]), VALUES, max_size=6)


@given(some.lists(STEPS | VALUES, max_size=4), VALUES)
def test_mending_is_total_changes_nothing_twice_and_never_makes_a_readable_plan_unreadable(steps, total):
    value = plan(*steps, total_retry_budget=total)
    before = copy.deepcopy(value)
    result, _ = mend_plan(value)
    assert json.dumps(value) == json.dumps(before)
    assert mend_plan(result) == (result, ())
    assert read_plan(value)[0] is None or read_plan(result)[0] is not None
