"""The execution semantics of a plan, outcome by outcome."""

import pytest

from actors.plans.reader import read_plan
from actors.plans.semantics import compile_plan, may_overlap, replay
from tests.plans.build import plan, step


def run(value, trace):
    """Replay a trace given as one string."""
    return replay(read_plan(value)[0], trace.split())


RECOVERED = plan(
    step("build", "start", "built", on_failure="continue", failure_effects="broken"),
    step("mend", "broken", "built", after="build", delete_effects="broken"),
    step("ship", "built", "goal", after="build"),
)


def test_a_step_is_ready_when_its_dependencies_are_settled_and_its_preconditions_hold():
    assert run(RECOVERED, "").ready == ("build",)
    assert run(RECOVERED, "").end == "open"


def test_a_failure_that_continues_settles_the_step_and_leaves_its_mark():
    """The step that depends on it still waits for the token that the failure did not add."""
    result = run(RECOVERED, "build:fail")
    assert result.settled == {"build"}
    assert result.tokens == {"start", "broken"}
    assert result.ready == ("mend",)


def test_a_recovery_is_joined_by_tokens():
    assert run(RECOVERED, "build:fail mend:ok ship:ok").end == "goal"
    assert run(RECOVERED, "build:ok ship:ok").end == "goal"


def test_a_failure_escalates_by_default():
    """The trace ends, with the effects of the failure, and a person or the replanner takes over."""
    result = run(plan(step("a", "start", "goal", failure_effects="oops")), "a:fail")
    assert result.end == "escalated"
    assert result.tokens == {"start", "oops"}


def test_nothing_ready_without_the_goal_is_a_dead_end():
    assert run(plan(step("a", "start", "goal", on_failure="continue")), "a:fail").end == "dead_end"


def test_going_back_makes_all_that_depends_on_the_target_pending_again():
    value = plan(
        step("a", "start", "x"),
        step("b", "x", "y", after="a"),
        step("beside", "start", "z"),
        step("c", "y", "goal", after="b", on_failure="a", failure_effects="seen"),
    )
    result = run(value, "a:ok beside:ok b:ok c:fail")
    assert result.settled == {"beside"}
    assert result.tokens == {"start", "x", "y", "z", "seen"}
    assert result.ready == ("a",)


def test_a_step_that_deletes_and_adds_a_token_adds_it():
    assert run(plan(step("a", "start", "start goal", delete_effects="start")), "a:ok").tokens == {"start", "goal"}


def test_a_repeatable_step_is_ready_again_as_long_as_its_preconditions_hold():
    value = plan(
        step("try", "start", "goal", repeatable=True, delete_effects="start", on_failure="continue"), goal="goal"
    )
    assert run(value, "try:fail try:fail").ready == ("try",)
    assert run(value, "try:fail try:ok").end == "goal"


def test_tokens_that_no_step_names_stay():
    assert "unused" in run(plan(step("a", "start", "goal"), start="start unused"), "a:ok").tokens


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        ("ship:ok", "not ready"),
        ("build:ok build:ok", "not ready"),
        ("build:maybe", "not a step with a result"),
        ("nobody:ok", "not a step with a result"),
        ("build:fail mend:fail ship:ok", "handed over"),
    ],
)
def test_a_trace_that_the_plan_does_not_allow_is_refused(trace, cause):
    with pytest.raises(ValueError, match=cause):
        run(RECOVERED, trace)


def test_a_step_that_never_fails_cannot_fail_in_a_trace():
    with pytest.raises(ValueError, match="cannot fail"):
        run(plan(step("a", "start", "goal", on_failure="never")), "a:fail")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"delete_effects": "need"}, False),
        ({"delete_effects": "made"}, False),
        ({"failure_delete_effects": "need"}, False),
        ({"delete_effects": "else"}, True),
    ],
)
def test_two_steps_may_overlap_only_if_neither_deletes_what_the_other_needs_or_adds(fields, expected):
    program = compile_plan(read_plan(plan(step("a", "", "x", **fields), step("b", "need", "made")))[0])
    assert may_overlap(program, 0, 1) is expected
    assert may_overlap(program, 1, 0) is expected


def test_a_plan_with_a_cycle_cannot_be_run():
    with pytest.raises(ValueError, match="cycle"):
        compile_plan(read_plan(plan(step("a", after="b"), step("b", after="a")))[0])
