"""`decide`: each row of the shipped table, the limits of escalation, and that every decision is legal."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.policy.belief import Past, signature
from actors.policy.decision import NOT_UNDERSTOOD, Escalation, Failure, decide, summary
from actors.policy.table import BacktrackLevel, Policy
from actors.search.graph import Graph, StepBudget
from actors.search.progress import Phase, Search, Slot, can_redo, can_retry
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from runtime.models.replies import ReplyCode
from tests.policy.situations import SEEDS, failure, past, situation
from tests.support.examples import examples

RETRY, PARTIAL, FULL, CLARIFY = "local_retry", "partial_replan", "full_replan", "clarify"

TABLE = [
    ("requirements.conflict", CLARIFY, "plan", "ask_the_user"),
    ("requirements.missing", CLARIFY, "plan", "ask_the_user"),
    ("requirements.ambiguous", CLARIFY, "plan", "ask_the_user"),
    ("requirements.open_question", CLARIFY, "plan", "ask_the_user"),
    ("tool.transient", RETRY, "plan", "tool_transient"),
    ("tool.permanent", PARTIAL, "strategy", "tool_permanent"),
    *((str(code), RETRY, "plan", "malformed") for code in ReplyCode),
    *((f"field.{name}", RETRY, "plan", "malformed") for name in ("missing", "type", "choice", "empty", "not_object")),
    *(
        (f"plan.{name}", RETRY, "plan", "structure")
        for name in ("bad_budget", "unknown_guard", "cycle", "precondition_unordered", "precondition_deleted")
    ),
    ("plan.budget_over_total", RETRY, "plan", "structure"),
    ("plan.strategy_not_followed", RETRY, "plan", "structure"),
    ("requirements.changed", FULL, "analysis", "requirements_changed"),
    ("plan.precondition_unsatisfied", PARTIAL, "strategy", "wrong_strategy"),
    ("plan.goal_unreachable", PARTIAL, "strategy", "wrong_strategy"),
    ("plan.budget_over_r_max", PARTIAL, "strategy", "wrong_strategy"),
    ("plan.too_complex", PARTIAL, "strategy", "wrong_strategy"),
    ("plan.dead_end", PARTIAL, "recon", "wrong_facts"),
    ("plan.invariant_broken", PARTIAL, "recon", "wrong_facts"),
    ("plan.orphan_step", RETRY, "plan", "otherwise"),
    ("plugin.never_heard_of", RETRY, "plan", "otherwise"),
]
TAGS = [
    ("tool_failure", RETRY, "plan", "tool_failure"),
    ("workflow_mismatch", FULL, "analysis", "wrong_workflow"),
    ("goal_dependency_failure", FULL, "analysis", "wrong_workflow"),
    ("missing_evidence", PARTIAL, "recon", "missing_evidence"),
    ("requirement_violation", PARTIAL, "strategy", "requirement_violated"),
]


def gist(decision):
    """Return the level, the targets and the rule of a decision."""
    return decision.level, *decision.targets, decision.rule


@pytest.mark.parametrize("search", Search)
def test_an_author_that_does_not_understand_is_given_up_at_once(search):
    """Whatever the policy and the search, unless the author asks and the user may still be asked."""
    decision = decide(failure("problem.not_understood", step="plan"), replace(situation(), search=search))
    assert gist(decision) == ("give_up", "not_understood")
    doubt = Finding(code=Code.NOT_UNDERSTOOD, message="Of what?", severity="warning")
    asking = failure("requirements.open_question", step="plan")
    asking = replace(asking, verdict=asking.verdict.model_copy(update={"findings": (doubt, *asking.verdict.findings)}))
    allowed = decide(asking, replace(situation(), search=search))
    forbidden = decide(asking, replace(situation(), search=search, questions_left=0))
    assert allowed.level == ("clarify" if search is Search.DEPTH_FIRST else "give_up")
    assert gist(forbidden) == ("give_up", "not_understood")
    assert summary(forbidden, asking.verdict) == "problem.not_understood: Of what?"


@pytest.mark.parametrize(("code", "level", "target", "rule"), TABLE, ids=[row[0] for row in TABLE])
def test_each_code_goes_where_the_table_says(code, level, target, rule):
    """S12 to S21, S111 to S115: the rows of docs/reference/policy.md, where everything is still allowed."""
    assert gist(decide(failure(code), situation())) == (level, target, rule)


@pytest.mark.parametrize(("tag", "level", "target", "rule"), TAGS, ids=[row[0] for row in TAGS])
def test_each_reason_tag_goes_where_the_table_says(tag, level, target, rule):
    """S108 to S115: a finding of any code that carries the tag."""
    assert gist(decide(failure("plugin.x", tags=[tag]), situation())) == (level, target, rule)


def test_a_fatal_verdict_asks_the_user_only_where_a_person_can_answer():
    """Without a question in it, the search goes back at once, since no retry can help."""
    fatal = failure("requirements.conflict", fatal=True)
    assert gist(decide(fatal, situation())) == (CLARIFY, "plan", "ask_the_user")
    for failed in (failure(fatal=True), failure("plan.cycle", fatal=True)):
        assert decide(failed, situation()).targets == ("strategy",)


def test_a_rejection_without_findings_is_retried_and_never_silent():
    """S110: no code and no tag is the table's last row, which the decision names."""
    assert gist(decide(failure(), situation())) == (RETRY, "plan", "otherwise")


def test_a_warning_decides_nothing():
    assert decide(failure("requirements.conflict", severity="warning"), situation()).rule == "otherwise"


def test_the_first_row_wins_whatever_the_order_of_the_findings():
    for codes in (("plan.dead_end", "tool.permanent"), ("tool.permanent", "plan.dead_end")):
        assert decide(failure(*codes), situation()).rule == "tool_permanent"


def test_a_tool_is_retried_after_a_pause_that_doubles_and_ends():
    """S111: back-off for a transient failure, at most ten minutes."""
    failed = failure("tool.transient")
    histories = ((past(failed, 0),) * count for count in (0, 1, 2, 30))
    pauses = [decide(failed, situation(history=history)).delay_seconds for history in histories]
    assert pauses == [2.0, 4.0, 8.0, 600.0]


def test_a_retry_without_attempts_left_goes_one_up():
    """S7: the attempts of the deepest step are used up before an ancestor is redone."""
    decision = decide(failure("plan.cycle"), situation(attempt=3))
    assert gist(decision) == (PARTIAL, "strategy", "structure")
    assert decision.wanted == ("plan",)


def test_stagnation_goes_one_step_further_each_time_up_to_analysis():
    """S20, S103: strategy, recon, analysis, and analysis again."""
    failed, history, targets = failure("plan.orphan_step"), [], []
    for _ in range(5):
        decision = decide(failed, situation(history=tuple(history)))
        targets.append(decision.targets[0])
        history.append(past(failed, ["plan", "strategy", "recon", "analysis"].index(targets[-1])))
    assert targets == ["plan", "strategy", "recon", "analysis", "analysis"]


def test_stagnation_goes_on_from_where_the_last_failure_went():
    failed = failure("plan.dead_end")
    assert decide(failed, situation(history=(past(failed, 2),))).targets == ("analysis",)


def test_another_finding_or_place_is_no_stagnation():
    history = (past(failure("plan.orphan_step", where="s1"), 1),)
    assert decide(failure("plan.orphan_step", where="s2"), situation(history=history)).rule == "otherwise"
    assert decide(failure("plan.orphan_step", where="s1"), situation(history=history)).rule == "stagnation"


def test_the_failures_of_another_step_in_between_do_not_count():
    failed = failure("plan.orphan_step")
    history = (past(failed, 1), past(failure("field.type", step="strategy"), 0))
    assert decide(failed, situation(history=history)).targets == ("recon",)


def test_patience_is_the_number_of_equal_failures():
    failed, patient = failure("plan.orphan_step"), Escalation(r_patience=3)
    assert decide(failed, situation(history=(past(failed, 0),), escalation=patient)).rule == "otherwise"
    assert decide(failed, situation(history=(past(failed, 0),) * 2, escalation=patient)).rule == "stagnation"


def test_a_malformed_reply_never_stagnates():
    failed = failure("reply.no_json")
    assert decide(failed, situation(history=(past(failed, 0),) * 3)).targets == ("plan",)


def test_stagnation_goes_where_the_workflow_says():
    """S103: `escalate_to` for any guard, `escalate_by_guard` for one; several targets are redone together."""
    failed = failure("plan.orphan_step")
    escalation = Escalation(escalate_to=("analysis", "recon"), escalate_by_guard={"odd": ("strategy",)})
    decision = decide(failed, situation(history=(past(failed, 0),), escalation=escalation))
    assert gist(decision) == (PARTIAL, "analysis", "recon", "stagnation")
    failed = failure("plan.orphan_step", guard="odd")
    assert decide(failed, situation(history=(past(failed, 0),), escalation=escalation)).targets == ("strategy",)


def test_used_up_escalations_end_with_a_person():
    """S104: by rows at once; a belief tries first what it may at the step itself."""
    failed = failure("plan.dead_end")
    decision = decide(failed, situation(history=(past(failed, 1),), escalation=Escalation(e_max=1)))
    assert gist(decision) == (CLARIFY, "plan", "e_max")


@pytest.mark.parametrize("code", ["plan.cycle", "plan.dead_end"])
def test_e_max_limits_every_escalation_also_one_without_attempts_left(code):
    decision = decide(failure(code), situation(attempt=3, escalation=Escalation(e_max=0)))
    assert gist(decision) == (CLARIFY, "plan", "e_max")


def test_e_max_without_a_question_left_stays_at_the_step_and_then_gives_up():
    no_questions = {"escalation": Escalation(e_max=0), "questions_left": 0}
    assert gist(decide(failure("plan.dead_end"), situation(**no_questions))) == (RETRY, "plan", "e_max")
    assert gist(decide(failure("plan.dead_end"), situation(attempt=3, **no_questions))) == ("give_up", "e_max")


def test_without_questions_left_a_conflict_is_mended_here_and_a_fatal_one_further_up():
    assert decide(failure("requirements.conflict"), situation(questions_left=0)).targets == ("plan",)
    assert decide(failure("plan.cycle", fatal=True), situation(questions_left=0)).targets == ("strategy",)


def test_candidates_come_in_the_order_of_the_design():
    """As visits are used up: the policy's target, steps farther up, nearer steps, unused attempts, nothing."""
    used, targets = {}, []
    for step in ("recon", "analysis", "strategy", None):
        decision = decide(failure("plan.dead_end"), situation(attempt=2, visits=used))
        targets.append(decision.targets)
        if step:
            used[step] = SEEDS.budgets[step].backtrack_budget + 1
    assert targets == [("recon",), ("analysis",), ("strategy",), ("plan",)]
    assert decide(failure("plan.dead_end"), situation(attempt=3, visits=used)).level == "give_up"


def test_a_target_is_allowed_only_if_all_that_would_be_redone_has_a_visit_left():
    decision = decide(failure("plan.dead_end"), situation(visits={"strategy": 4}))
    assert gist(decision) == (RETRY, "plan", "wrong_facts")
    assert decision.wanted == ("recon",)


def test_a_non_leaf_without_attempts_and_ancestors_gets_a_new_visit():
    assert decide(failure("field.type", step="recon"), situation("recon", attempt=2)).targets == ("recon",)
    last = situation("recon", attempt=2, visits={"recon": 3})
    assert decide(failure("field.type", step="recon"), last).level == "give_up"


def chain(*names, free=()):
    requires = {name: names[:index][-1:] for index, name in enumerate(names)}
    return Graph(requires, {name: StepBudget(3, 2, deterministic=name in free) for name in names})


def test_a_role_that_a_workflow_lacks_is_looked_for_two_up():
    """S19: recon is two up from a plan; without recon the target is the step two up, or the farthest one."""
    four, two, one = chain("a", "b", "c", "d"), chain("a", "d"), chain("d")
    assert decide(failure("plan.dead_end", step="d"), situation("d", graph=four)).targets == ("b",)
    assert decide(failure("plan.dead_end", step="d"), situation("d", graph=two)).targets == ("a",)
    assert decide(failure("plan.dead_end", step="d"), situation("d", graph=one)).targets == ("d",)


def test_the_nearest_step_of_a_role_is_meant_and_a_step_of_the_role_itself_retries():
    graph = chain("a", "b", "c", "d")
    roles = {"a": "recon", "b": "recon", "c": "", "d": ""}
    assert decide(failure("plan.dead_end", step="d"), situation("d", graph=graph, roles=roles)).targets == ("b",)
    missing = failure("recon.nothing_found", step="b", tags=["missing_evidence"])
    assert gist(decide(missing, situation("b", graph=graph, roles=roles))) == (RETRY, "b", "missing_evidence")


def test_steps_without_a_model_call_are_never_targets_and_never_retried():
    """S123: a template would only repeat itself."""
    graph = chain("a", "template", "plan", free=("template",))
    assert decide(failure("plan.goal_unreachable"), situation(graph=graph)).targets == ("a",)
    broken = failure("plan.cycle", step="template")
    assert decide(broken, situation("template", graph=graph)).targets == ("a",)


def test_blind_search_retries_and_then_goes_exactly_one_up_whatever_was_found():
    """S11: the uninformed baseline."""
    for code in ("plan.dead_end", "requirements.conflict", "plan.cycle"):
        blind = {"search": Search.BLIND}
        assert gist(decide(failure(code), situation(**blind))) == (RETRY, "plan", "blind")
        assert gist(decide(failure(code), situation(attempt=3, **blind))) == (PARTIAL, "strategy", "blind")


def test_linear_search_never_goes_back():
    """S38: the forward-only baseline."""
    linear = {"search": Search.LINEAR}
    assert gist(decide(failure("plan.dead_end"), situation(**linear))) == (RETRY, "plan", "linear")
    assert gist(decide(failure("plan.dead_end"), situation(attempt=3, **linear))) == ("give_up", "linear")


def test_a_review_that_nobody_gave_ends_the_run():
    assert gist(decide(failure("review.unanswered"), situation())) == ("give_up", "unreviewed")


def test_a_table_may_give_up():
    """S21: giving up is a decision of its own."""
    rows = [
        {"id": "hopeless", "why": "x", "codes": ["plan.*"], "level": "give_up"},
        {"id": "rest", "why": "x", "level": RETRY},
    ]
    hopeless = situation(policy=Policy.model_validate({"name": "p", "rows": rows}))
    assert gist(decide(failure("plan.cycle"), hopeless)) == ("give_up", "hopeless")


codes = some.sampled_from([*Code, *ReplyCode, "x.y"])
findings = some.builds(
    Finding,
    code=codes,
    message=some.text(max_size=5),
    where=some.sampled_from(["", "s1"]),
    severity=some.sampled_from(["error", "warning"]),
    tags=some.lists(some.sampled_from(list(ReasonTag)), max_size=2).map(tuple),
)
verdicts = some.builds(
    Verdict,
    guard=some.sampled_from(["toy", "odd"]),
    passed=some.just(False),
    score=some.floats(0, 1),
    findings=some.lists(findings, max_size=3).map(tuple),
    fatal=some.booleans(),
)


@some.composite
def situations(draw):
    names = "abcde"[: draw(some.integers(1, 5))]
    requires = {}
    for index, name in enumerate(names):
        requires[name] = tuple(upper for upper in names[:index] if draw(some.booleans()))
    budgets = some.builds(StepBudget, some.integers(1, 3), some.integers(0, 2), some.booleans())
    graph = Graph(requires, {name: draw(budgets) for name in names})
    failed = draw(some.sampled_from(names))
    slots = some.builds(
        Slot, phase=some.sampled_from(list(Phase)), visits=some.integers(0, 4), attempt=some.integers(0, 4)
    )
    progress = {name: draw(slots) for name in names} | {failed: replace(draw(slots), phase=Phase.FAILED)}
    signatures = verdicts.map(signature)
    pasts = some.builds(Past, some.sampled_from(names), signatures, some.integers(0, len(names)))
    above = some.lists(some.sampled_from(graph.above[failed] or (failed,)), max_size=2, unique=True).map(tuple)
    escalations = some.builds(
        Escalation,
        some.integers(2, 3),
        some.none() | some.integers(0, 2),
        above,
        some.none() | some.fixed_dictionaries({"odd": above}),
    )
    return Failure(failed, f"{failed}/v1.a1", draw(verdicts)), situation(
        failed,
        graph=graph,
        progress=progress,
        roles={name: draw(some.sampled_from(["", "recon", "plan"])) for name in names},
        search=draw(some.sampled_from(list(Search))),
        history=tuple(draw(some.lists(pasts, max_size=4))),
        escalation=draw(escalations),
        questions_left=draw(some.integers(0, 1)),
    )


@examples(150)
@given(situations())
def test_there_is_always_a_decision_and_it_is_legal(pair):
    """S21, S39, S115: total over any verdict, history and progress; the same input gives the same decision."""
    failed, current = pair
    graph, progress = current.graph, current.progress
    decision = decide(failed, current)
    assert decision == decide(failed, current)
    rows_that_give_up = {row.id for row in current.policy.rows if row.level is BacktrackLevel.GIVE_UP}
    match decision.level:
        case BacktrackLevel.GIVE_UP if decision.rule == NOT_UNDERSTOOD:
            assert Code.NOT_UNDERSTOOD in {finding.code for finding in failed.verdict.findings}
        case BacktrackLevel.LOCAL_RETRY:
            assert decision.targets == (failed.step,)
            assert can_retry(graph, progress, failed.step)
        case BacktrackLevel.CLARIFY:
            assert current.questions_left > 0
        case BacktrackLevel.PARTIAL_REPLAN | BacktrackLevel.FULL_REPLAN:
            assert decision.targets
            assert {*decision.targets} <= {failed.step, *graph.above[failed.step]}
            assert all(can_redo(graph, progress, target) for target in decision.targets)
        case BacktrackLevel.GIVE_UP if decision.rule in rows_that_give_up:
            assert decision.targets == ()
        case BacktrackLevel.GIVE_UP:
            assert not can_retry(graph, progress, failed.step)
            free = current.search is Search.DEPTH_FIRST and decision.rule != "e_max"
            assert not (free and any(can_redo(graph, progress, upper) for upper in graph.above[failed.step]))


@pytest.mark.parametrize(("up", "target"), [(0, "strategy"), (1, "recon"), (2, "analysis"), (3, "analysis")])
def test_what_builds_on_a_repeated_artifact_goes_further_up_than_before(up, target):
    """Whatever was found, unless it is mended where it was made; the first time, to the step above."""
    earlier = [Past("plan", frozenset({("plan.orphan_step", "s1")}), up)] if up else []
    for finding in ("plan.goal_unreachable", "plan.dead_end", "plugin.never_heard_of"):
        repeated = replace(failure(finding), repeats=True)
        assert gist(decide(repeated, situation(history=earlier))) == (PARTIAL, target, "same_again")
    assert decide(replace(failure("plan.cycle"), repeats=True), situation(history=earlier)).rule == "structure"


def test_every_row_of_the_shipped_table_is_tried_here():
    tried = {row[-1] for row in (*TABLE, *TAGS)} | {"stagnation", "unreviewed", "same_again", "afresh"}
    assert tried == {row.id for row in situation().policy.rows}
