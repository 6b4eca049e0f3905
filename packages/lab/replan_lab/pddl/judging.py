"""Judges sequential plans for problems in PDDL: the guard `pddl_actions`, and the generator `PddlPlanGenerator`.

`judge_actions` translates a sequential plan into Replan's form of a plan. The guards of plans then find which action
fails first, and why. Pure.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.guards.fields import without_settings
from actors.plans.plan import plan_to_json
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import quote_names
from replan.api.check import names_of
from replan_lab.pddl.action_list import ACTIONS_MAX, actions_in, read_plan_actions
from replan_lab.pddl.domain import Literal, PddlDomain, PddlProblem, PlanAction
from replan_lab.pddl.domain_reader import task_in, texts_in
from replan_lab.pddl.grounding import ground_action, holds
from replan_lab.pddl.repairs import Repair, repairs_for, state_after
from replan_lab.pddl.translation import GUARD, Translation, translate
from runtime.core.errors import UsageProblem
from runtime.models.replies import ReplyCode, Unreadable

PDDL_ACTIONS = "pddl_actions"
ROLE = "actions"


def _judge_answer(artifact: Artifact, context: Context) -> Verdict:
    value = artifact.value
    if isinstance(value, Unreadable):
        return _reject_plan((Finding(code=value.code, message=value.message),), 0.0)
    texts = texts_in(context.specification)
    if texts is None:
        message = "The run was given no problem in PDDL; start it with `replan lab pddl run`."
        return _reject_plan((Finding(code=Code.NOT_UNDERSTOOD, message=message),), 0.0)
    actions, errors = actions_in(value.value)
    if errors:
        return _reject_plan(errors, 0.1)
    domain, problem = task_in(texts)
    try:
        judgement = judge_actions(domain, problem, actions)
    except UsageProblem as outside:
        return _reject_plan((Finding(code=Code.TOO_COMPLEX, message=str(outside)),), 0.1)
    failure, count = judgement.failure, len(actions)
    score = judgement.verdict.score if failure is None else 0.2 + 0.6 * failure.index / (count + 1)
    return judgement.verdict.model_copy(update={"guard": PDDL_ACTIONS, "score": score})


def _reject_plan(findings: tuple[Finding, ...], score: float) -> Verdict:
    return Verdict(guard=PDDL_ACTIONS, passed=False, score=score, findings=findings)


_GUARDS = {"minimal": plan_minimal.make, "medium": plan_medium.make, "expansive": plan_expansive.make}
_WHY = {
    Code.PRECONDITION_UNSATISFIED: "it does not hold at the beginning, and no other action makes it",
    Code.PRECONDITION_UNORDERED: "only later actions make it",
    Code.PRECONDITION_DELETED: "an earlier action ends it",
    Code.GOAL_UNREACHABLE: "it does not hold at the beginning, and no action makes it",
    Code.GOAL_DELETED: "an action ends it, and none makes it again",
}
_TOO_LARGE = frozenset((*map(str, ReplyCode), Code.PLAN_TOO_LARGE))
"""The codes of findings which mean that a plan is too large for a guard."""


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """The first action of a plan that cannot run."""

    index: int
    action: PlanAction
    unmet: tuple[str, ...]
    """The action's unmet conditions, as PDDL, sorted; empty if the action does not exist in the problem."""


@dataclass(frozen=True, slots=True)
class PddlJudgement:
    """The judgement of the guards on a sequential plan."""

    verdict: Verdict
    failure: FirstFailure | None
    """The first action that cannot run; None if all actions can run, or if the level does not check this."""
    unmet_goals: tuple[str, ...]
    """The conditions of the goal that do not hold at the end, as PDDL, sorted. They are empty if an action cannot run.
    """
    translation: Translation
    repairs: tuple[Repair, ...] = ()
    """The suggested actions. If an action cannot run, each suggestion may be inserted before it. Otherwise, each may be
    added at the end, so that the goal holds.
    """


def judge_actions(
    domain: PddlDomain,
    problem: PddlProblem,
    actions: Sequence[PlanAction],
    *,
    level: str = "medium",
    assurance: str = "strong_cyclic",
) -> PddlJudgement:
    """Judge a sequential plan at a level: `minimal`, `medium` or `expansive`.

    `minimal` checks only the form of the plan, and whether its actions exist. `medium` requires that the goal holds if
    each action has the right outcome. `expansive` requires `assurance` for all outcomes. For a plan without `oneof`,
    `medium` and `expansive` are equal.

    Raises `UsageProblem` for a plan that is too large, or that has too many outcomes or states.
    """
    translation = translate(domain, problem, actions)
    verdict = _plan_verdict(translation, problem, level, assurance)
    failure = None if level == "minimal" else _first_failure(translation, verdict)
    goals = () if failure or level == "minimal" or verdict.passed else translation.missing
    repairs = _find_repairs(domain, problem, translation, failure) if failure or goals else ()
    return PddlJudgement(_add_repairs(verdict, failure, repairs), failure, goals, translation, repairs)


def _find_repairs(
    domain: PddlDomain, problem: PddlProblem, translation: Translation, failure: FirstFailure | None
) -> tuple[Repair, ...]:
    """Return actions that may repair the first failure of the plan.

    Return no actions if the state before the failure is not known.
    """
    if failure is not None and not failure.unmet:
        return ()  # The problem has no such action.
    index = len(translation.actions) if failure is None else failure.index
    state = state_after(translation.actions[:index], domain, problem)
    if state is None:
        return ()
    needed = problem.goal if failure is None else ground_action(failure.action, domain).condition
    return repairs_for(needed, state, domain, problem)


def _add_repairs(verdict: Verdict, failure: FirstFailure | None, repairs: tuple[Repair, ...]) -> Verdict:
    """Return the verdict, with the repairs in the message of its first error.

    The verdict is unchanged if the first error is not about the failure that the repairs are for.
    """
    place = next((index for index, finding in enumerate(verdict.findings) if finding.severity == "error"), None)
    if place is None or not repairs:
        return verdict
    finding = verdict.findings[place]
    about_goal = finding.where == "goal_state"
    if about_goal is not (failure is None):
        return verdict
    message = " ".join((finding.message, *(repair.sentence for repair in repairs)))
    changed = (
        *verdict.findings[:place],
        finding.model_copy(update={"message": message}),
        *verdict.findings[place + 1 :],
    )
    return verdict.model_copy(update={"findings": changed})


def _first_failure(translation: Translation, verdict: Verdict) -> FirstFailure | None:
    """Return the first action that cannot run.

    If no action has several outcomes, this is the action of the step that the guard names.
    """
    step, actions = verdict.facts.get("first_failing_step"), translation.actions
    if translation.plan is not None and not translation.plan.has_outcomes and step is not None:
        index = translation.numbers[step]
        return FirstFailure(index, actions[index], tuple(verdict.facts["unmet"]))
    if translation.first_inapplicable is not None:
        return FirstFailure(
            translation.first_inapplicable, actions[translation.first_inapplicable], translation.missing
        )
    if translation.invalid_action:
        index = translation.invalid_index
        return FirstFailure(index, actions[index], ())
    return None


def _plan_verdict(translation: Translation, problem: PddlProblem, level: str, assurance: str) -> Verdict:
    guard = f"plan_{level}"
    if translation.plan is None:
        verdict = Verdict(guard=guard, passed=True, score=1.0, findings=(), facts={"level": level})
        lost = [] if translation.invalid_action or level == "minimal" else _unmet_at_start(problem)
        if lost:
            text = f"The goal needs {quote_names(lost)}, and the plan has no action."
            finding = Finding(code=Code.GOAL_UNREACHABLE, where="goal_state", message=text, tokens=tuple(lost))
            verdict = verdict.model_copy(update={"passed": False, "score": 0.0, "findings": (finding,)})
    else:
        settings = {"guard_catalog": {"only": [GUARD]}, "r_max": ACTIONS_MAX * 100, "assurance": assurance}
        content = json.dumps(plan_to_json(translation.plan))
        artifact = Artifact(artifact_id="plan", step="plan", content=content)
        verdict = _GUARDS[level](settings)(artifact, Context(specification=""))
        if any(finding.code in _TOO_LARGE for finding in verdict.errors):
            raise UsageProblem("the plan is too large to be judged", place="PLAN", hint="check the plan in parts")
        verdict = verdict.model_copy(update={"findings": tuple(map(_reword_finding, verdict.findings))})
    if translation.invalid_action:
        finding = Finding(code=Code.UNBOUND, where=translation.invalid_step, message=f"{translation.invalid_action}.")
        update: dict[str, Any] = {"passed": False, "score": min(verdict.score, 0.2)}
        verdict = verdict.model_copy(update=update | {"findings": (*verdict.findings, finding)})
    return verdict


def _unmet_at_start(problem: PddlProblem) -> list[str]:
    unmet: list[Literal] = [literal for literal in problem.goal if not holds(literal, problem.initial)]
    return sorted(map(str, unmet))


def _reword_finding(finding: Finding) -> Finding:
    """Return the finding with a message that fits a list of actions.

    The guard's own message suggests other dependencies between steps, which a list of actions cannot have. A finding
    without tokens, or with a code that is not in `_WHY`, is returned unchanged.
    """
    why = _WHY.get(Code(finding.code)) if finding.tokens and finding.code in set(Code) else None
    if why is None:
        return finding
    who = "The goal" if finding.where == "goal_state" else f"step {finding.where}:"
    return finding.model_copy(update={"message": f"{who} needs {quote_names(finding.tokens)}: {why}."})


make_guard = without_settings(PDDL_ACTIONS, _judge_answer)


def judge_sequence(
    task: tuple[PddlDomain, PddlProblem], name: str, text: str, *, level: str, assurance: str
) -> tuple[Verdict, dict[str, Any]]:
    """Return the verdict on the sequential plan in a text, and the report to print.

    `name` is the name of the plan's file. Raises `UsageProblem` for a text that is not a plan.
    """
    actions = read_plan_actions(text, name)
    judgement = judge_actions(*task, actions, level=level, assurance=assurance)
    verdict = judgement.verdict
    report: dict[str, Any] = {
        "file": name,
        "level": level,
        "valid": verdict.passed,
        "assurance": verdict.facts.get("assurance"),
        "escalations": [],
        "findings": [_action_finding(finding, judgement) for finding in verdict.findings],
        "actions": len(actions),
    }
    if judgement.failure is not None:
        failure = judgement.failure
        report["first_failing_step"] = {
            "step": failure.index + 1,
            "action": str(failure.action),
            "line": failure.action.line,
            "unmet": list(failure.unmet),
        }
    if judgement.unmet_goals:
        report["unmet_goals"] = list(judgement.unmet_goals)
    if judgement.repairs:
        report["repairs"] = [
            {"action": repair.action, "makes": repair.makes, "runs": repair.runs, "enough": repair.enough}
            for repair in judgement.repairs
        ]
    return verdict, report


def _action_finding(finding: Finding, judgement: PddlJudgement) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": finding.message}
    numbers, actions = judgement.translation.numbers, judgement.translation.actions
    if finding.where in numbers:
        fields |= {"step_id": finding.where, "line": actions[numbers[finding.where]].line}
    elif judgement.translation.invalid_action and finding.where == judgement.translation.invalid_step:
        fields |= {"step_id": finding.where, "line": actions[judgement.translation.invalid_index].line}
    elif finding.where:
        fields["where"] = finding.where
    return fields | names_of(finding)


def make_plan(context: Context) -> str:
    """Return the plan for the accepted actions as JSON text.

    This function is the generator `PddlPlanGenerator`. If there are no accepted actions, or they are not a valid plan,
    the text is `{}`, which the guard of the plan rejects. The generator checks each action again, because a workflow
    may have accepted the actions with another guard than `pddl_actions`.
    """
    return json.dumps(_plan_for(context))


def _plan_for(context: Context) -> dict[str, object]:
    roles = context.settings.get("roles", {})
    answers = [artifact.parsed for step, artifact in context.dependencies.items() if roles.get(step) == ROLE]
    texts = texts_in(context.specification)
    if texts is None or not answers:
        return {}
    actions, errors = actions_in(answers[0])
    if errors:
        return {}
    try:
        translation = translate(*task_in(texts), actions)
    except UsageProblem:  # Too many outcomes or states: there is no plan to judge, as for an invalid action.
        return {}
    if translation.invalid_action or translation.plan is None:
        return {}
    return plan_to_json(translation.plan)
