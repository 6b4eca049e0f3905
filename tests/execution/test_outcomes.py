"""Outcomes and values that an execution reads from the outputs of tools, and plans that it refuses before it begins."""

import pytest

import replan
from actors.execution.events import StepOutcome, StepSettled
from actors.execution.views import record_text
from actors.tools.output_parsing import ValueSource, outcome_of, value_of, with_values
from runtime.core.errors import UsageProblem
from tests.support.python_tools import execution_options

ACTIONS = """
def look(workspace):
    return (workspace / "sign").read_text()


def note(workspace, text):
    (workspace / "note").write_text(text)
    return "written"
"""
TOOLS = """
tools:
  look: {python: ./actions.py:look, repeatable: true}
  note: {python: ./actions.py:note, parameters: {text: {type: string, pattern: "[a-z]+"}}}
generators:
  look:
    tool: look
    outcomes: {red: "^colour: red$", green: "^colour: green$"}
    values: {owner: {after: "owner: ", pattern: "[a-zA-Z]+"}}
  see_again: {tool: look, outcomes: {same: "^owner: {owner}$"}}
  note: {tool: note, with: {text: {value: owner}}}
"""
LOOK = {
    "step_id": "look",
    "generator": "look",
    "retry_budget": 1,
    "preconditions": ["start"],
    "effects": ["owner"],
    "outcomes": [{"name": "red", "effects": ["is_red"]}, {"name": "green", "effects": ["done"]}],
}
NOTE = {
    "step_id": "note",
    "generator": "note",
    "retry_budget": 1,
    "preconditions": ["is_red", "owner"],
    "effects": ["noted"],
}
AGAIN = {
    "step_id": "again",
    "generator": "see_again",
    "retry_budget": 1,
    "preconditions": ["noted", "owner"],
    "outcomes": [{"name": "same", "effects": ["done"]}],
}


def plan(look=LOOK, note=NOTE, again=AGAIN):
    return {
        "plan_id": "sign",
        "initial_state": ["start"],
        "goal_state": ["done"],
        "total_retry_budget": 9,
        "steps": [look, note, again],
    }


@pytest.fixture
def options(tmp_path):
    return execution_options(tmp_path, TOOLS, ACTIONS)


def executed(options, sign, **steps):
    (options["workspace"] / "sign").write_text(sign)
    result = replan.execute(plan(**steps), **options)
    return result, replan.show(result.run_id, home=options["home"]).to_json()["trace"]


def test_a_result_says_which_way_the_plan_goes_and_what_later_calls_are_given(options):
    result, trace = executed(options, "colour: red\nowner: ann\n")
    assert result.succeeded
    assert trace == ["look:red", "note:ok", "again:same"]
    assert (options["workspace"] / "note").read_text() == "ann"


def test_what_is_told_of_a_settled_step_names_its_outcome():
    settled = StepSettled(step="look", node="look/r1.v1.a1", outcome=StepOutcome.OK, branch="green")
    assert record_text(settled, None) == "look: ok (green)"


def test_another_result_goes_another_way(options):
    result, trace = executed(options, "colour: green\nowner: ann\n")
    assert (result.succeeded, trace) == (True, ["look:green"])


@pytest.mark.parametrize("sign", ["colour: blue\nowner: ann", "colour: red\nowner: 7", ""])
def test_a_result_that_cannot_be_read_is_a_failure_of_the_step(options, sign):
    result, trace = executed(options, sign)
    assert (result.succeeded, trace) == (False, ["look:fail"])
    assert not (options["workspace"] / "note").exists()


def test_a_value_that_does_not_fit_its_parameter_is_never_sent(options):
    result, trace = executed(options, "colour: red\nowner: ANN\n")
    assert (result.succeeded, trace) == (False, ["look:red", "note:fail"])


@pytest.mark.parametrize(
    ("steps", "cause"),
    [
        ({"note": {**NOTE, "preconditions": ["is_red"]}}, "does not list it as a precondition"),
        ({"look": {**LOOK, "outcomes": [*LOOK["outcomes"], {"name": "blue", "effects": ["done"]}]}}, "outcome 'blue'"),
        ({"note": {**NOTE, "effects": ["noted", "owner"]}}, "the value of 'owner' that step 'note' makes"),
    ],
)
def test_what_no_binding_reads_is_refused_before_anything_runs(options, steps, cause):
    with pytest.raises(UsageProblem, match=cause):
        replan.execute(plan(**steps), **options)


def test_a_value_in_a_pattern_is_the_text_that_it_is():
    assert with_values(r"^{name}: \d{3}$", {"name": "a.b"}) == r"^a\.b: \d{3}$"
    assert outcome_of({"dot": "^{name}$", "any": "."}, "axb", {"name": "a.b"}) == "any"


def test_a_pattern_that_a_long_value_makes_too_large_matches_nothing():
    repeated = "({name}{name}{name}{name}){400}"
    assert outcome_of({"large": repeated, "any": "."}, "text", {"name": "x" * 1_000}) == "any"


def test_the_longest_match_after_the_first_place_is_the_value():
    source = ValueSource(after="id: ", pattern="[a-z]+[0-9]*")
    assert value_of(source, "id: ab12 id: c") == "ab12"
    assert value_of(source, "id: 12") is None
    assert value_of(source, "nothing") is None
