"""What an author of plans is told about outcomes and values that the results of the tools do not tell."""

import pytest

from actors.plans.mending import unread_findings
from actors.values.findings import Code
from actors.values.given import Given, ReadableResult
from tests.plans.test_outcomes import step

LOOK = ReadableResult(outcomes=("red", "green"), values=("owner",))
GIVEN = Given(generators=("look", "mend"), results={"look": LOOK, "mend": ReadableResult(uses=("owner",))})


def look(*names, **fields):
    outcomes = [{"name": name, "effects": [f"is_{name}"]} for name in names]
    return {"step_id": "look", "generator": "look", "effects": ["owner"], "outcomes": outcomes, **fields}


def mend(**fields):
    return {**step("paint", "owner", "done"), **fields}


def said(*steps, given=GIVEN, **plan):
    """Return the findings as severity, place and message."""
    found = list(unread_findings({"plan_id": "p", "steps": list(steps), **plan}, given))
    assert {each.code for each in found} <= {Code.UNBOUND}
    return [(each.severity, each.where, each.message) for each in found]


def test_a_plan_that_keeps_to_the_results_is_accepted():
    assert said(look("red", "green"), mend()) == []


def test_a_misspelt_outcome_is_told_with_the_nearest_one():
    [(severity, where, message)] = said(look("rad", "green"), mend())
    assert (severity, where) == ("error", "look")
    assert message == "step look: the result of its generator reports no outcome 'rad'; did you mean 'red'?"


def test_an_outcome_like_none_is_told_with_all_that_there_are():
    [(_, _, message)] = said(look("q", "green"), mend())
    assert message.endswith("reports no outcome 'q'; it reports 'green', 'red'.")


def test_a_result_without_outcomes_says_where_the_tokens_belong():
    [(_, where, message)] = said(look("red", "green"), mend(outcomes=[{"name": "red"}]))
    assert where == "paint"
    assert "leave outcomes empty, and put the tokens into effects" in message


def test_an_outcome_that_is_left_out_is_a_warning_since_it_counts_as_a_failure():
    [(severity, where, message)] = said(look("red"), mend())
    assert (severity, where) == ("warning", "look")
    assert "'green', which counts as a failure" in message


def test_a_value_that_a_tool_uses_is_among_the_preconditions():
    [(_, where, message)] = said(look("red", "green"), mend(preconditions=[]))
    assert (where, message.partition(": ")[2]) == (
        "paint",
        "its tool uses the value of 'owner'; add 'owner' to the preconditions.",
    )


def test_a_value_is_made_by_a_result_that_tells_it_and_not_at_the_start():
    [(_, where, message)] = said(look("red", "green"), mend(), initial_state=["owner"])
    assert where == "initial_state"
    assert (
        "generator 'look' make the token, because its result reports the value. Step look has such a generator."
        in message
    )
    known = GIVEN.model_copy(update={"known_values": ("owner",)})
    assert said(look("red", "green"), mend(), initial_state=["owner"], given=known) == []
    [(_, where, message)] = said(mend(effects=["owner"]))
    assert (where, "generator 'look'" in message) == ("paint", True)
    [(_, where, _)] = said(look("red", "green"), mend(failure_effects=["owner"]))
    assert where == "paint"


def test_a_step_that_is_bound_by_its_id_is_judged_by_that_result():
    steps = {
        "step_generators": ("look",),
        "step_results": {"look": ReadableResult(outcomes=("blue",), values=("owner",))},
    }
    given = GIVEN.model_copy(update=steps)
    assert said(look("blue"), mend(), given=given) == []
    [(_, _, message)] = said(look("red", step_id="look_2"), mend(), given=given)
    assert message.endswith("reports no outcome 'red'; did you mean 'blue'?") or "it reports 'blue'" in message


def test_a_guard_uses_values_too():
    given = GIVEN.model_copy(update={"results": {"look": LOOK}, "guard_uses": {"syntax": ("owner",)}})
    [(_, where, _)] = said(look("red", "green"), mend(preconditions=[]), given=given)
    assert where == "paint"


@pytest.mark.parametrize("plan", [None, [], 7, {"steps": 3}, {"steps": [7]}])
def test_what_is_no_plan_is_left_to_the_guard(plan):
    assert list(unread_findings(plan, GIVEN)) == []


def test_where_no_tools_are_given_nothing_is_said():
    assert said(look("rad"), mend(), given=Given()) == []
