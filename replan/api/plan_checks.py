"""Checks plans, and returns the objects that `--json` prints."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from actors.values.artifacts import Artifact
from actors.values.findings import Finding, Verdict
from replan.api.check import check
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.models.replies import Parsed, ReplyCode

UNREADABLE = frozenset(str(code) for code in ReplyCode)
"""The codes of findings about a text that holds no plan."""


@dataclass(frozen=True, slots=True)
class Standard:
    """The settings that every plan is checked against."""

    level: str
    """`minimal`, `medium` or `expansive`."""
    assurance: str
    """The guarantee that `expansive` demands of the traces that do not escalate."""
    r_max: int
    """The largest `total_retry_budget` that a plan may have."""
    guard_catalog: tuple[str, ...] = ()
    """Guard names that steps may use in addition to the default ones."""


@dataclass(frozen=True, slots=True)
class PlanToCheck:
    """One plan to check."""

    file: str
    """The path of its file as the user named it, or `-` for standard input."""
    text: str
    """The text of the plan, which need not be JSON."""
    line: int | None = None
    """The number of the plan's line in a `.jsonl` file, from 1; None for a file with one plan."""


def judge_plan(case: PlanToCheck, standard: Standard) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on one plan, the printed object, and the name of the guard of each step."""
    value = Artifact(artifact_id="plan", step="plan", content=case.text).value
    plan: Any = value.value if isinstance(value, Parsed) else None
    case_id: str | None = None
    if isinstance(plan, dict) and "plan" in plan and "steps" not in plan:
        if plan["plan"] is None and "run_id" in plan:
            state = plan.get("outcome") or plan.get("status")
            raise UsageProblem(
                f"the run has no plan: {state}", place=case.file, hint=f"`{program()} show RUN` says why"
            )
        case_id, plan = plan.get("case_id"), plan["plan"]
    verdict = check(
        json.dumps(plan, ensure_ascii=False) if isinstance(value, Parsed) else case.text,
        level=standard.level,
        assurance=standard.assurance,
        r_max=standard.r_max,
        guard_catalog=standard.guard_catalog,
    )
    steps = plan.get("steps") if isinstance(plan, dict) else None
    guards = {
        step["step_id"]: str(step.get("guard", ""))
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and isinstance(step.get("step_id"), str)
    }
    report: dict[str, Any] = {"file": case.file}
    if case.line is not None:
        report["line"] = case.line
    if case_id is not None:
        report["case_id"] = case_id
    report |= {
        "level": standard.level,
        "valid": verdict.passed,
        "assurance": verdict.facts.get("assurance"),
        "escalations": list(verdict.facts.get("escalations", ())),
        **{name: list(verdict.facts[name]) for name in ("undoes", "irreversible") if name in verdict.facts},
        "findings": [_finding(finding, guards, case) for finding in verdict.findings],
    }
    return verdict, report, guards


def _finding(finding: Finding, ids: Collection[str], case: PlanToCheck) -> dict[str, Any]:
    message = _about_file(finding.message, case) if finding.code in UNREADABLE else finding.message
    fields: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": message}
    if finding.where:
        fields["step_id" if finding.where in ids else "where"] = finding.where
    return fields | names_of(finding)


def names_of(finding: Finding) -> dict[str, Any]:
    """Return the tokens and the trace of a finding, if it has them."""
    fields = {"tokens": list(finding.tokens)} if finding.tokens else {}
    return fields if finding.trace is None else {**fields, "trace": list(finding.trace)}


def _about_file(message: str, case: PlanToCheck) -> str:
    """Return a message about a model's reply, reworded for a person with a file or a line of it."""
    advice = re.compile("; (?:answer with one JSON object.*|be briefer)[.]$")
    subject = "file" if case.line is None else "line"
    return advice.sub("; a plan is one JSON object of at most 4 MiB.", message).replace(
        "The reply", f"The {subject}", 1
    )
