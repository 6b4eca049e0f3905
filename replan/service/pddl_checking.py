"""Checking sequential plans for problems in PDDL: what `replan check --pddl` prints of each."""

from dataclasses import dataclass
from typing import Any

from actors.guards.pddl_judgement import PddlJudgement, judge_actions
from actors.pddl.domain import PddlDomain, PddlProblem
from actors.pddl.domain_reader import read_domain, read_problem
from actors.pddl.plan_reader import read_plan_actions
from actors.values.findings import Finding, Verdict
from replan.service.checking import Standard


@dataclass(frozen=True, slots=True)
class PddlTask:
    """A domain and a problem that plans are checked against."""

    domain: PddlDomain
    """The domain."""
    problem: PddlProblem
    """The problem."""


def pddl_task(domain: tuple[str, str], problem: tuple[str, str]) -> PddlTask:
    """Return the task in two files, each given as its name and its text. Raises `UsageProblem`."""
    name, text = domain
    read = read_domain(text, name)
    name, text = problem
    return PddlTask(read, read_problem(text, name, read))


def judged_actions(
    task: PddlTask, name: str, text: str, standard: Standard
) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on the sequential plan in a text, what is printed about it, and the guards of its steps.

    Raises `UsageProblem` for a text that is no plan.
    """
    actions = read_plan_actions(text, name)
    judgement = judge_actions(task.domain, task.problem, actions, level=standard.level, assurance=standard.assurance)
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
            {"action": each.action, "makes": each.makes, "runs": each.runs, "enough": each.enough}
            for each in judgement.repairs
        ]
    return verdict, report, {}


def _finding(finding: Finding, judgement: PddlJudgement) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": finding.message}
    numbers, actions = judgement.translation.numbers, judgement.translation.actions
    if finding.where in numbers:
        fields |= {"step_id": finding.where, "line": actions[numbers[finding.where]].line}
    elif judgement.translation.misuse and finding.where == judgement.translation.misused:
        fields |= {"step_id": finding.where, "line": actions[len(set(numbers.values()))].line}
    elif finding.where:
        fields["where"] = finding.where
    if finding.tokens:
        fields["tokens"] = list(finding.tokens)
    if finding.trace is not None:
        fields["trace"] = list(finding.trace)
    return fields
