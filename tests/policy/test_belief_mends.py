"""What a belief policy does before and beside its weighing: slips are mended, and escalations may be used up."""

from dataclasses import replace

import pytest

from actors.policy.belief import Past
from actors.policy.decision import decide, remember_failure
from tests.policy.situations import SEEDS, failure, situation
from tests.policy.test_belief import BELIEF, TABLE, after, decided, model

SLIPS = (
    "plan.cycle",
    "plan.unknown_dependency",
    "plan.duplicate_id",
    "plan.unknown_guard",
    "plan.precondition_unordered",
    "plan.unbound",
)


@pytest.mark.parametrize("code", [*SLIPS, "field.missing", "reply.not_json"])
def test_a_slip_is_mended_where_it_was_made_while_the_step_has_attempts(code):
    """However often it is found, and however sure the belief is of another place; after that the belief decides."""
    history = after(*["plan.goal_unreachable"] * 6)
    for attempt in (1, 2):
        decision = decided(failure(code), history=history, attempt=attempt)
        rule = "structure" if code in SLIPS else "malformed"
        assert (decision.level, decision.rule, decision.weighing) == ("local_retry", rule, None)
    decision = decided(failure(code), history=history, attempt=3)
    assert (decision.level, decision.rule) == ("full_replan", "belief")
    assert decision.weighing.options


def test_what_is_malformed_says_nothing_about_the_place_of_the_mistake():
    """With its attempts used up, the belief decides by what it knew before."""
    decision = decided(failure("reply.not_json"), attempt=3)
    assert decision.rule == "belief"
    assert all(place.before == place.after for place in decision.weighing.places)


def test_a_row_is_mended_as_often_as_the_table_says_and_anew_after_a_step_back():
    """With one retry for a row, the second failure of the visit is the belief's."""
    table = TABLE.model_copy(update={"mends": {"wrong_strategy": 1}})
    policy = BELIEF.model_copy(update={"belief": table})
    given = {"policy": policy, "belief": model(table=table)}
    failed, history, rules = failure("plan.goal_unreachable"), (), []
    for _ in range(2):
        decision = decide(failed, situation(history=history, **given))
        rules.append(decision.rule)
        history = (*history, remember_failure(failed.verdict, decision, SEEDS, policy))
    assert rules == ["wrong_strategy", "belief"]
    assert history[-1].up > 0
    assert decide(failed, situation(history=history, **given)).rule == "wrong_strategy"


def test_escalations_that_are_used_up_leave_a_belief_the_step_itself():
    """`e_max` under a belief: no step above is a candidate; without a move left a person is asked (S104).

    It asks as the rows do; without a question left, the end names `e_max`.
    """
    history = after(*["plan.goal_unreachable"] * 2)
    back = Past("plan", frozenset(), up=2, row="wrong_strategy", redone=("recon", "strategy", "plan"))
    failed = failure("plan.goal_unreachable", where="s9")
    free = replace(situation().escalation, e_max=2)
    assert decided(failed, history=(*history, back), escalation=free).level in ("partial_replan", "full_replan")
    used = replace(situation().escalation, e_max=1)
    decision = decided(failed, history=(*history, back), escalation=used, questions_left=0)
    assert (decision.level, decision.targets) == ("local_retry", ("plan",))
    assert [option.named for option in decision.weighing.options] == ["retry", "retry afresh"]
    weighed = decided(failed, history=(*history, back), escalation=used)
    assert {option.move for option in weighed.weighing.options} == {"retry"}, "a finding for models is never asked"
    for somebody in (True, False):
        asks = decided(failed, history=(*history, back), escalation=used, attempt=3, weighs_questions=somebody)
        assert (asks.level, asks.targets, asks.rule) == ("clarify", ("plan",), "e_max")
    ended = decided(failed, history=(*history, back), escalation=used, questions_left=0, attempt=3)
    assert (ended.level, ended.rule) == ("give_up", "e_max")
