"""Checking sequential plans for problems in PDDL: what `replan lab pddl check` prints of each."""

from typing import Any

from actors.guards.pddl_actions import PddlJudgement, judge_actions
from actors.pddl.action_list import read_plan_actions
from actors.pddl.domain import PddlDomain, PddlProblem
from actors.values.findings import Finding, Verdict
from replan.service.checking import Standard


def judge_sequence(
    task: tuple[PddlDomain, PddlProblem], name: str, text: str, standard: Standard
) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on the sequential plan in a text, what is printed about it, and the guards of its steps.

    Raises `UsageProblem` for a text that is no plan.
    """
    actions = read_plan_actions(text, name)
    judgement = judge_actions(*task, actions, level=standard.level, assurance=standard.assurance)
    verdict = judgement.verdict
    report: dict[str, Any] = {
        "file": name,
        "level": standard.level,
        "valid": verdict.passed,
        "assurance": verdict.facts.get("assurance"),
        "escalations": [],
        "findings": [_finding(finding, judgement) for finding in verdict.findings],
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
    return verdict, report, {}


def _finding(finding: Finding, judgement: PddlJudgement) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": finding.message}
    numbers, actions = judgement.translation.numbers, judgement.translation.actions
    if finding.where in numbers:
        fields |= {"step_id": finding.where, "line": actions[numbers[finding.where]].line}
    elif judgement.translation.invalid_action and finding.where == judgement.translation.invalid_step:
        fields |= {"step_id": finding.where, "line": actions[judgement.translation.invalid_index].line}
    elif finding.where:
        fields["where"] = finding.where
    if finding.tokens:
        fields["tokens"] = list(finding.tokens)
    if finding.trace is not None:
        fields["trace"] = list(finding.trace)
    return fields
