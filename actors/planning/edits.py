"""Edits of a planning run's plan by a person: which plan may be edited, and the event of an edit. Pure.

People edit the plan of an ended run, its best draft, or the plan that they are asked to review. The guards of the
plan's step judge the edit before the edit is sent to the run. The message to the run contains their verdict. Until this
message arrives, only another edit can change the plan.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from actors.guards import review
from actors.planning.drafts import best_draft, plan_of, plan_steps
from actors.planning.events import PlanCorrected, PlanningOutcome
from actors.planning.given_plans import add_remarks
from actors.planning.prompt_context import context_for
from actors.planning.result import accepted_value, best_path
from actors.planning.state import Node, State, with_branch
from actors.plans.constraints import Constraints, constraints_of, dropped_constraints
from actors.plans.reader import read_plan
from actors.run.inbox import ForPeopleOnly, MailRefused, edit_fields, read_edit, refuse_message
from actors.run.questions import PEOPLE, Via
from actors.search.progress import accept
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict, limit_verdict
from runtime.core.copies import changed
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable
from runtime.core.messages import Mailed


@dataclass(frozen=True, slots=True)
class EditablePlan:
    """A planning run's plan, if a person may edit it now."""

    node: Node
    value: Mapping[str, Any]
    question_id: str = ""
    """The id of the open review of the plan; empty if the run has ended."""

    @property
    def constraints(self) -> Constraints:
        """The constraints that an edit must keep."""
        return constraints_of(self.value)


def editable_plan(state: State) -> EditablePlan | str:
    """Return the plan that a person can edit now. If no plan can be edited, return the reason as a clause."""
    plans = plan_steps(state)
    if not plans:
        return "the workflow of the run makes no plan"
    if state.end is None:
        for name, asked in state.run.open_questions.items():
            node = state.nodes.get(asked.node)
            plan = None if node is None else plan_of(node)
            if asked.review and node is not None and plan is not None and node.step in plans:
                return EditablePlan(node, plan, name)
        return "the run has not ended, and asks nobody to approve a plan"
    if state.end.outcome == PlanningOutcome.SUCCESS:
        accepted = [node for node in best_path(state) if node.step in plans]
        value = accepted_value(accepted[-1]) if accepted else None
        return EditablePlan(accepted[-1], value) if isinstance(value, Mapping) else "the run has no plan"
    draft, _ = best_draft(state) or (None, None)
    plan = None if draft is None else plan_of(draft)
    if draft is None or plan is None:
        return "the run has ended without writing a plan"
    if draft.step != plans[-1]:
        return f"the step {draft.step} made the best draft, but only drafts of the step {plans[-1]} can be edited"
    return EditablePlan(draft, plan)


def revision_of(state: State) -> int:
    """Return the number of the plan's revision, which is 1 plus the number of edits."""
    return len(state.edits) + 1


def check_edit(plan: EditablePlan, value: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the errors for which an edited plan (JSON) is refused before its guard judges it; empty if none."""
    read, findings = read_plan(dict(value))
    if read is None:
        return tuple(finding for finding in findings if finding.severity == "error")
    return tuple(dropped_constraints(plan.constraints, value))


def brief_of(state: State, plan: EditablePlan, value: Mapping[str, Any]) -> tuple[Artifact, Context]:
    """Return the input of the step's guard: the edited plan as an artifact, and its context."""
    edited = _with_plan(state, plan, value)
    artifact = edited.nodes[plan.node.node].artifact
    assert artifact is not None
    return artifact, context_for(edited, edited.branches[plan.node.branch], plan.node.step)


def verdict_of(state: State, plan: EditablePlan, value: Mapping[str, Any], verdict: Verdict) -> Verdict:
    """Return the verdict on an edited plan. `verdict` is the verdict of the step's guard.

    If the step needs a review, the edit counts as the approval of the person who made the edit.
    """
    step = plan.node.step
    guard = state.config.workflow.effective_guard(step)
    verdict = add_remarks(_with_plan(state, plan, value), plan.node.node, verdict)
    if review.includes_review(guard) and review.is_needed(guard, verdict):
        verdict = review.combine_with_review(guard, verdict, review.verdict_of(review.APPROVE))
    return limit_verdict(verdict)


def _with_plan(state: State, plan: EditablePlan, value: Mapping[str, Any]) -> State:
    node = plan.node
    assert node.artifact is not None
    branch = state.branches[node.branch]
    progress = branch.progress
    for name in node.parents:
        progress = accept(progress, state.nodes[name].step, name)
    artifact = node.artifact.with_content(json.dumps(value))
    edited = changed(node, artifact=artifact, replaced=(), notes=())
    branches = with_branch(state.branches, changed(branch, progress=progress))
    return changed(state, nodes={**state.nodes, node.node: edited}, branches=branches)


def check_person(state: State, plan: EditablePlan, via: Via) -> None:
    """Raise `ForPeopleOnly` if a program edits a plan that only a person may approve."""
    if via not in PEOPLE and review.includes_review(state.config.workflow.effective_guard(plan.node.step)):
        raise ForPeopleOnly("only a person may edit a plan that a person must approve")


def accept_edit(state: State, body: Mapping[str, Any], message: Mailed) -> PlanCorrected | MailRefused:
    """Return the event for a message with an edited plan."""
    plan, fields = editable_plan(state), edit_fields(body, message)
    if isinstance(plan, str):
        return refuse_message(message, plan)
    place = {"revision": revision_of(state), "node": plan.node.node}
    try:
        check_person(state, plan, fields["via"])
        value = read_edit(body, place, partial(check_edit, plan))
        verdict = _verdict_in(body)
    except UsageProblem as problem:
        return refuse_message(message, problem.cause)
    text = make_storable(json.dumps(value))
    return PlanCorrected(**fields, node=plan.node.node, plan=text, verdict=verdict, question_id=plan.question_id)


def _verdict_in(body: Mapping[str, Any]) -> Verdict:
    try:
        verdict = Verdict.model_validate(body.get("verdict"))
    except ValidationError:
        raise UsageProblem("no guard has judged the edited plan") from None
    if not verdict.passed:
        raise UsageProblem("the guards reject the edited plan")
    return verdict
