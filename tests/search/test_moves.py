"""The operators and the moves: what is allowed, what backtracking unsets, and in which order targets are tried."""

from actors.search.graph import Graph, StepBudget
from actors.search.progress import (
    GOAL,
    Phase,
    Redo,
    Retry,
    Stuck,
    accept,
    begin,
    can_redo,
    choose,
    cleared_steps,
    mark,
    new_round,
    redo,
    retry_or_go_up,
    start,
    stay,
)
from tests.search.shapes import graph

FREE = StepBudget(deterministic=True)
SEEDS = graph(
    {"analysis": (), "recon": (), "strategy": ("analysis", "recon"), "plan": ("analysis", "recon", "strategy")},
    [(2, 1), (2, 2), (2, 3), (3, 0)],
)


def run(shape, *steps):
    """Return the progress after one accepted attempt at each of the steps."""
    progress = start(shape)
    for step in steps:
        progress = accept(begin(shape, progress, step), step, f"{step}.1")
    return progress


def failed(shape, step, *before):
    return mark(begin(shape, run(shape, *before), step), step, Phase.FAILED)


def test_nothing_is_accepted_at_first_and_everything_in_the_end():
    """S1, S2: the initial state and the goal."""
    assert {slot.accepted for slot in start(SEEDS).values()} == {None}
    assert run(SEEDS, "analysis", "recon", "strategy").phases != GOAL
    assert run(SEEDS, "analysis", "recon", "strategy", "plan").phases == GOAL


def test_a_step_is_ready_once_all_that_it_requires_is_accepted():
    """S3."""
    assert start(SEEDS).ready(SEEDS) == ("analysis", "recon")
    assert run(SEEDS, "analysis").ready(SEEDS) == ("recon",)
    assert run(SEEDS, "recon", "analysis").ready(SEEDS) == ("strategy",)


def test_going_back_clears_the_target_and_all_below_it_and_only_that():
    """S5: analysis keeps its artifact when recon is redone."""
    progress = redo(SEEDS, run(SEEDS, "analysis", "recon", "strategy", "plan"), ["recon"])
    assert cleared_steps(SEEDS, ["recon"]) == ("recon", "strategy", "plan")
    assert {step: slot.accepted for step, slot in progress.items() if slot.accepted} == {"analysis": "analysis.1"}


def test_an_operator_changes_no_earlier_state():
    """S31: states are values."""
    before = run(SEEDS, "analysis", "recon")
    copy = dict(before)
    redo(SEEDS, begin(SEEDS, before, "strategy"), ["recon"])
    assert before == copy


def test_attempts_count_within_a_visit_and_visits_within_a_round():
    """S23."""
    again = begin(SEEDS, mark(failed(SEEDS, "analysis"), "analysis", Phase.AGAIN), "analysis")
    assert (again["analysis"].visits, again["analysis"].attempt) == (1, 2)
    back = begin(SEEDS, redo(SEEDS, again, ["analysis"]), "analysis")
    assert (back["analysis"].visits, back["analysis"].attempt, back["analysis"].number) == (2, 1, 2)
    reset = new_round(accept(back, "analysis", "x"))["analysis"]
    assert (reset.visits, reset.number, reset.accepted) == (1, 2, "x")


def test_a_leaf_has_fresh_attempts_for_each_set_of_parents_and_no_limit_of_visits():
    """S26: three plans per strategy."""
    progress = failed(SEEDS, "plan", "analysis", "recon", "strategy")
    for number in range(2, 5):
        progress = redo(SEEDS, progress, ["strategy"])
        progress = accept(begin(SEEDS, progress, "strategy"), "strategy", f"strategy.{number}")
        progress = mark(begin(SEEDS, progress, "plan"), "plan", Phase.FAILED)
        assert (progress["plan"].visits, progress["plan"].attempt) == (number, 1)
    assert not can_redo(SEEDS, progress, "strategy")


def test_the_order_upward_is_by_distance_then_later_in_the_file_first():
    assert SEEDS.upward("plan", 1) == ["strategy", "recon", "analysis"]
    assert SEEDS.upward("plan", 2) == ["recon", "analysis"]
    assert SEEDS.nearer("plan", 2) == ["strategy"]
    assert SEEDS.distance("analysis", "plan") == 2, "the longest path counts"


def test_a_target_that_is_not_allowed_is_replaced_upward_then_downward_then_by_a_retry():
    shape = graph({"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}, [(1, 0), (1, 1), (1, 1), (2, 0)])
    progress = failed(shape, "d", "a", "b", "c")
    assert choose(shape, progress, "d", ["b"]) == Redo(("b",))
    assert choose(shape, progress, "d", ["a"]) == Redo(("b",)), "a has only one visit, and no step is above it"
    assert choose(shape, progress, "d", ["d"]) == Retry()
    without_targets = graph({"a": (), "d": ("a",)}, [(1, 0), (2, 0)])
    assert choose(without_targets, failed(without_targets, "d", "a"), "d", ["a"]) == Retry()


def test_of_several_targets_those_that_are_allowed_are_redone():
    shape = graph({"a": (), "b": (), "c": ("a", "b")}, [(1, 1), (1, 0), (1, 0)])
    assert choose(shape, failed(shape, "c", "a", "b"), "c", ["a", "b"]) == Redo(("a",))


def test_a_step_that_may_not_escalate_stays_where_it_is():
    shape = graph({"a": (), "b": ("a",), "c": ("b",)}, [(1, 2), (1, 1), (1, 0)])
    assert stay(shape, failed(shape, "b", "a"), "b") == Redo(("b",))
    assert stay(shape, failed(shape, "c", "a", "b"), "c") == Stuck()
    assert stay(shape, failed(shape, "a"), "a") == Redo(("a",))


def test_blind_search_goes_one_up_only_when_the_attempts_are_used():
    """S11."""
    progress = failed(SEEDS, "strategy", "analysis", "recon")
    assert retry_or_go_up(SEEDS, progress, "strategy") == Retry()
    spent = begin(SEEDS, mark(progress, "strategy", Phase.AGAIN), "strategy")
    assert retry_or_go_up(SEEDS, mark(spent, "strategy", Phase.FAILED), "strategy") == Redo(("recon",))


def test_steps_without_a_model_call_are_no_targets_and_hold_no_visit_up():
    """S123."""
    shape = Graph(
        {"a": (), "template": ("a",), "plan": ("template",)},
        {"a": StepBudget(1, 1), "template": FREE, "plan": StepBudget(1, 0)},
    )
    progress = failed(shape, "plan", "a", "template")
    assert not can_redo(shape, progress, "template")
    assert choose(shape, progress, "plan", ["template"]) == Redo(("a",))


def test_a_leaf_that_comes_back_to_the_same_parents_goes_on_counting():
    """Attempts of a leaf count per set of parent artifacts (by id), not per visit."""
    shape = graph({"a": (), "b": ("a",)}, [(2, 1), (2, 0)])
    progress = mark(begin(shape, run(shape, "a"), "b"), "b", Phase.IDLE)
    assert begin(shape, progress, "b")["b"].attempt == 2


def test_a_new_round_resets_visits_but_never_exceeds_the_backtrack_budget():
    """S23, S24: with a backtrack budget of 0, the search backtracks to a step in no round."""
    shape = graph({"a": (), "b": ("a",)}, [(3, 0), (3, 0)])
    asked = redo(shape, mark(failed(shape, "b", "a"), "b", Phase.ASKED), ["b"])
    again = mark(begin(shape, new_round(asked), "b"), "b", Phase.FAILED)
    assert again["b"].attempt == 1
    assert not can_redo(shape, again, "a")
