"""Steps with outcomes: how they are read, written, proved and shown in a graph, and what their successes do."""

import jsonschema
import pytest

from actors.plans.mending import mend_plan
from actors.plans.plan import plan_to_json
from actors.plans.plan_flow import plan_flow, plan_mermaid
from actors.plans.reader import plan_schema, read_plan
from actors.plans.semantics import replay
from actors.values.flow import NodeState
from tests.cli.samples import PLAN
from tests.plans.build import judge

CHECK = {
    "step_id": "look",
    "generator": "look",
    "retry_budget": 1,
    "preconditions": ["start"],
    "effects": ["seen"],
    "delete_effects": ["start"],
    "outcomes": [
        {"name": "red", "effects": ["is_red"]},
        {"name": "green", "effects": ["done"]},
        {"name": "black", "effects": ["is_black"], "delete_effects": ["light"]},
    ],
}


def step(step_id, needs, makes):
    return {
        "step_id": step_id,
        "generator": "mend",
        "guard": "syntax",
        "retry_budget": 1,
        "preconditions": [needs],
        "effects": [makes],
    }


def plan(*steps, **more):
    """Return a plan whose first step has three outcomes."""
    return {
        "plan_id": "colours",
        "initial_state": ["start", "light"],
        "goal_state": ["done"],
        "total_retry_budget": 10,
        "steps": [CHECK, *steps],
    } | more


BOTH = (step("paint", "is_red", "done"), step("wash", "is_black", "done"))


def test_outcomes_are_written_as_they_are_read():
    read, findings = read_plan(plan(*BOTH))
    assert read is not None
    assert not findings
    again, _ = read_plan(plan_to_json(read))
    assert again == read
    assert [outcome.name for outcome in read.steps[0].outcomes] == ["red", "green", "black"]


def test_a_step_without_outcomes_is_written_as_before():
    read, _ = read_plan(plan(*BOTH))
    assert "outcomes" not in plan_to_json(read)["steps"][1]


def test_a_success_does_what_its_outcome_says_beside_what_every_success_does():
    read, _ = read_plan(plan(*BOTH))
    assert replay(read, ["look:red"]).tokens == {"light", "seen", "is_red"}
    assert replay(read, ["look:green"]).tokens == {"light", "seen", "done"}
    assert replay(read, ["look:black"]).tokens == {"seen", "is_black"}
    assert replay(read, ["look:black", "wash:ok"]).end == "goal"


@pytest.mark.parametrize("item", ["look:ok", "look:blue", "paint:red"])
def test_a_trace_names_one_of_the_outcomes(item):
    read, _ = read_plan(plan(*BOTH))
    with pytest.raises(ValueError, match="is not a step with a result"):
        replay(read, [item])


def test_a_plan_that_handles_every_outcome_is_proved():
    verdict = judge("expansive", plan(*BOTH))
    assert verdict.passed, verdict.errors
    assert verdict.facts["assurance"] == "strong"


def test_an_outcome_that_nothing_follows_is_a_dead_end_with_its_trace():
    verdict = judge("expansive", plan(BOTH[0]))
    (error,) = verdict.errors
    assert error.code == "plan.dead_end"
    assert error.trace == ("look:black",)


def test_a_step_that_runs_after_no_outcome_is_rejected():
    dye = step("dye", "is_blue", "done")
    assert {error.code for error in judge("medium", plan(*BOTH, dye)).errors} == {"plan.failure_unreachable"}


def test_an_outcome_that_breaks_an_invariant_is_found():
    verdict = judge("expansive", plan(*BOTH, invariants=[{"when": ["is_black"], "must": ["light"]}]))
    assert {error.code: error.trace for error in verdict.errors} == {"plan.invariant_broken": ("look:black",)}


@pytest.mark.parametrize("names", [["ok"], ["fail"], [""], ["red", "red"]])
def test_each_outcome_has_a_name_of_its_own(names):
    wrong = {**CHECK, "outcomes": [{"name": name, "effects": ["done"]} for name in names]}
    verdict = judge("medium", plan(steps=[wrong]))
    assert "plan.bad_outcome" in {error.code for error in verdict.errors}


@pytest.mark.parametrize("outcomes", ["red", ["red"], [{"name": 1}], [{"name": "a", "effects": "done"}]])
def test_outcomes_of_another_type_are_reported(outcomes):
    read, findings = read_plan(plan(steps=[{**CHECK, "outcomes": outcomes}]))
    assert read is None
    assert any("outcomes" in finding.where for finding in findings)


def test_a_model_writes_no_guard_as_an_empty_text():
    assert judge("expansive", plan(*BOTH, steps=[{**CHECK, "guard": ""}, *BOTH])).passed
    without = {**BOTH[0], "guard": ""}
    assert not judge("medium", plan(without, BOTH[1])).passed


def test_a_step_with_outcomes_needs_no_guard():
    assert not [finding for finding in judge("medium", plan(*BOTH)).findings if finding.code == "plan.unknown_guard"]


def messages(*steps, level="expansive"):
    return {error.where: error.message for error in judge(level, plan(*steps)).errors}


def test_the_advice_after_a_dead_end_names_the_outcome_and_its_tokens():
    text = messages(BOTH[0])["look"]
    assert text.endswith(
        "The outcome 'black' of look makes 'is_black'. Add steps that need these tokens and lead to the goal."
    )


def test_each_outcome_that_leads_to_a_dead_end_is_told():
    found = judge("expansive", plan()).errors
    assert {error.trace for error in found} == {("look:black",), ("look:red",)}


def test_an_outcome_without_a_token_is_to_get_one():
    bare = {**CHECK, "outcomes": [*CHECK["outcomes"][:2], {"name": "black"}]}
    (error,) = judge("expansive", plan(steps=[bare, BOTH[0]])).errors
    assert "Add a token to the effects of the outcome 'black' of look" in error.message


def test_a_token_that_nothing_makes_is_told_with_the_nearest_one():
    dye = step("dye", "is_blck", "done")
    assert messages(*BOTH, dye)["dye"] == (
        "step dye never runs: no step, outcome or failure makes 'is_blck'; did you mean 'is_black'?"
    )


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ({"red": ["is_red"]}, 'write [{"name": "...", "effects": []}]'),
        (["red"], "must be an object with name and effects"),
    ],
)
def test_the_form_of_outcomes_is_told(outcomes, text):
    _, findings = read_plan(plan(steps=[{**CHECK, "outcomes": outcomes}]))
    assert any(text in finding.message for finding in findings)


def test_a_failure_is_no_outcome():
    wrong = {**CHECK, "outcomes": [{"name": "fail", "effects": ["done"]}]}
    assert "on_failure is for failures" in judge("medium", plan(steps=[wrong])).errors[0].message


def test_a_model_writes_outcomes_within_the_schema():
    whole = plan_schema()["properties"]["steps"]["items"]
    assert "outcomes" in whole["required"]
    jsonschema.validate([{"name": "red", "effects": [], "delete_effects": []}], whole["properties"]["outcomes"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"name": "red", "effects": []}], whole["properties"]["outcomes"])


def test_null_in_place_of_outcomes_is_left_out():
    value, notes = mend_plan(plan(steps=[{**CHECK, "outcomes": None}]))
    assert "outcomes" not in value["steps"][0]
    assert [note.where for note in notes] == ["steps[0].outcomes"]


def test_a_plans_steps_have_their_states_and_the_way_that_was_taken():
    states = {"find": NodeState.FAILED, "ask": NodeState.DONE, "fix": NodeState.CURRENT}
    drawn = plan_flow(PLAN, states)
    assert {node.id: node.state for node in drawn.nodes} == states
    assert [node.id for node in drawn.nodes if node.contingent] == ["ask"]
    assert {(edge.begin, edge.end) for edge in drawn.edges if edge.taken} == {("find", "ask")}
    assert not any(edge.taken for edge in plan_flow(PLAN).edges)
    for no_plan in (None, {}, {"steps": []}, [], "x"):
        assert plan_flow(no_plan) is None


def ways(value, **known):
    """Return the edges of a plan's graph that lead on, each with its label."""
    return {(edge.begin, edge.end): edge.label for edge in plan_flow(value, **known).edges if not edge.recovery}


def test_an_outcome_leads_to_the_steps_that_need_its_tokens():
    assert ways(plan(*BOTH)) == {("look", "paint"): "red", ("look", "wash"): "black"}
    late = {**step("late", "seen", "done"), "dependencies": ["look"]}
    assert ways(plan(*BOTH, late))["look", "late"] == "", "each outcome makes `seen`"
    after = {**BOTH[0], "dependencies": ["look"]}
    assert ways(plan(after, BOTH[1]))["look", "paint"] == "red", "an edge says both"


def test_a_value_that_holds_for_ever_brings_no_arrows_beside_those_of_the_way():
    steps = [{**each, "preconditions": [*each["preconditions"], "seen"]} for each in BOTH]
    moving = [{**each, "delete_effects": each["preconditions"][:1]} for each in steps]
    assert ways(plan(*moving)) == {("look", "paint"): "red", ("look", "wash"): "black"}


def test_the_way_that_was_taken_is_that_of_the_outcome():
    states = {"look": NodeState.DONE, "paint": NodeState.DONE, "wash": NodeState.DONE}
    drawn = plan_flow(plan(*BOTH), states, {"look": "black"})
    assert {(edge.begin, edge.end) for edge in drawn.edges if edge.taken} == {("look", "wash")}


def test_a_mermaid_chart_names_the_outcome_at_its_arrow():
    lines = plan_mermaid(plan(*BOTH)).splitlines()
    assert '    s1 -- "red" --> s2' in lines
    assert '    s1 -- "black" --> s3' in lines
    evil = {"name": 'red"] --> x', "effects": ["is_red"]}
    value = plan(*BOTH)
    value["steps"][0] = {**value["steps"][0], "outcomes": [evil, *value["steps"][0]["outcomes"][1:]]}
    assert '    s1 -- "red#34;] --#62; x" --> s2' in plan_mermaid(value).splitlines()
