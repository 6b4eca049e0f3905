"""Checks plans for the Python API and for commands. Needs no model, no run and no home. Pure."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.config.step_guards import BUILT_IN
from actors.execution.forbidden import guard_requirements
from actors.guards.plan_settings import Settings
from actors.plans.plan import Plan, plan_to_json
from actors.plans.plan_text import ProvedPlan
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict
from replan.setup.installation import program
from runtime.core.errors import UsageProblem
from runtime.models.replies import Parsed, ReplyCode


def check(
    plan: Plan | Mapping[str, Any] | str,
    *,
    level: str = "medium",
    assurance: str = "strong_cyclic",
    r_max: int = Settings().r_max,
    guard_catalog: Sequence[str] = (),
) -> Verdict:
    """Judge a plan (a typed plan, a JSON value, or a text) at a level: minimal, medium or expansive.

    A plan is rejected if its names and tokens show that it breaks one of its own prohibitions. The tools behind the
    names are checked only by an execution. A rejection is returned, not raised. `guard_catalog` has guard names that
    steps may use in addition to the default names. `r_max` limits the plan's total budget. `assurance` is the guarantee
    that the level `expansive` requires of all traces that do not escalate. Raises `UsageProblem` for an unknown level
    or setting.
    """
    guard = BUILT_IN.get(f"plan_{level}")
    if guard is None:
        raise UsageProblem(f"there is no level {level!r}", place="level", hint="use minimal, medium or expansive")
    proves = guard({"assurance": assurance, "r_max": r_max, "guard_catalog": list(guard_catalog)})
    judge = guard_requirements(proves, None)
    return judge(Artifact(artifact_id="plan", step="plan", content=_text(plan)), Context(specification=""))


def _text(plan: Plan | Mapping[str, Any] | str) -> str:
    match plan:
        case str():
            return plan
        case ProvedPlan():
            return json.dumps(plan.to_dict())
        case Plan():
            return json.dumps(plan_to_json(plan))
        case _:
            return json.dumps(plan)


UNREADABLE = frozenset(str(code) for code in ReplyCode)
"""The codes of findings which say that a text contains no readable plan."""


@dataclass(frozen=True, slots=True)
class Standard:
    """The settings for checking plans."""

    level: str
    """`minimal`, `medium` or `expansive`."""
    assurance: str
    """The guarantee that the level `expansive` requires of all traces that do not escalate."""
    r_max: int
    """The largest `total_retry_budget` that a plan may have."""
    guard_catalog: tuple[str, ...] = ()
    """Guard names that steps may use in addition to the default names."""


@dataclass(frozen=True, slots=True)
class PlanToCheck:
    """One plan to check."""

    file: str
    """The path of the plan's file as the user typed it, or `-` for standard input."""
    text: str
    line: int | None = None
    """The number of the plan's line in a `.jsonl` file, from 1; None for any other file."""


Comparison = Callable[[Mapping[str, Any]], Sequence[Finding]]
"""A function that gets a plan (a JSON object), and returns findings about tools and files that the plan needs but that
do not exist.
"""


def judge_plan(
    case: PlanToCheck, standard: Standard, compare: Comparison | None = None
) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on one plan, the report to print, and the name of each step's guard.

    With `compare`, the plan is also compared with the tools and files that exist.
    """
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
    if compare is not None and isinstance(plan, dict):
        found = compare(plan)
        passed = verdict.passed and all(finding.severity == "warning" for finding in found)
        verdict = verdict.model_copy(update={"passed": passed, "findings": (*verdict.findings, *found)})
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
    """Return the tokens and the trace of a finding, if there are any."""
    fields = {"tokens": list(finding.tokens)} if finding.tokens else {}
    return fields if finding.trace is None else {**fields, "trace": list(finding.trace)}


def _about_file(message: str, case: PlanToCheck) -> str:
    advice = re.compile("; (?:answer with one JSON object.*|be briefer)[.]$")
    subject = "file" if case.line is None else "line"
    return advice.sub("; a plan is one JSON object of at most 4 MiB.", message).replace(
        "The reply", f"The {subject}", 1
    )
