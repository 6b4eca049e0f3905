"""Checking plans out of files: reading them one by one, and printing what the guards say about each."""

import json
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from actors.values.artifacts import Artifact
from actors.values.findings import Finding, Verdict
from replan.api.runs import check
from replan.cli.exits import Exit
from replan.cli.inputs import as_text, file_named
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, print_json, show
from replan.setup.command_name import program
from replan.views.check_report import judged_rows
from runtime.core.errors import UsageProblem
from runtime.models.replies import Parsed, ReplyCode

FILE_BYTES_MAX = 256 * 1024 * 1024
"""Room for many thousand plans; a larger file is rather not one of plans."""

_UNREADABLE = frozenset(str(code) for code in ReplyCode)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every plan."""

    level: str
    assurance: str
    r_max: int
    guard_catalog: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One plan as it was found: its text or value, the file, and the line in a `.jsonl` file."""

    file: str
    text: str
    line: int | None = None


def check_files(invocation: Invocation, files: tuple[str, ...], asked: Question, form: str) -> int:
    """Check every plan of the files and print `text`, `json` or `jsonl`. Return the exit code."""
    del invocation  # Checking keeps no log: it has no home.
    worst, shown = Exit.OK, []
    for name in files:
        try:
            for case in _cases(name):
                verdict, reported, guards = _judged(case, asked)
                worst = _worse(worst, _exit_of(verdict))
                if form == "json":
                    shown.append(reported)
                elif form == "jsonl":
                    print_json(reported, indent=None)
                else:
                    show(judged_rows(reported, guards))
        except UsageProblem as problem:
            notice(str(problem))
            worst = Exit.USAGE
    if form == "json":
        single = len(files) == 1 and not files[0].endswith(".jsonl")
        if shown or not single:
            print_json(shown[0] if single else shown)
    return worst


def _cases(name: str) -> Iterator[Case]:
    text = _read(name)
    if not name.endswith(".jsonl"):
        yield Case(name, text)
        return
    rows = [(number, row) for number, row in enumerate(text.split("\n"), 1) if row.strip()]
    if not rows:
        raise UsageProblem("holds no plan", place=name, hint="a .jsonl file has one on each line")
    for number, row in rows:
        yield Case(name, row, number)


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        else:
            with file_named(name, "PLAN").open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or -") from None
    if len(data) > FILE_BYTES_MAX:
        raise UsageProblem(f"more than {FILE_BYTES_MAX:,} bytes", place=name, hint="split the file")
    return as_text(data, name)


def _judged(case: Case, asked: Question) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on one plan, what is printed about it, and the guard that each of its steps names."""
    value = Artifact(artifact_id="plan", step="plan", content=case.text).value
    plan: Any = value.value if isinstance(value, Parsed) else None
    named: str | None = None
    if isinstance(plan, dict) and "plan" in plan and "steps" not in plan:
        if plan["plan"] is None and "run_id" in plan:
            state = plan.get("outcome") or plan.get("status")
            raise UsageProblem(
                f"the run has no plan: {state}", place=case.file, hint=f"`{program()} show RUN` says why"
            )
        named, plan = plan.get("case_id"), plan["plan"]
    verdict = check(
        json.dumps(plan) if isinstance(value, Parsed) else case.text,
        level=asked.level,
        assurance=asked.assurance,
        r_max=asked.r_max,
        guard_catalog=asked.guard_catalog,
    )
    steps = plan.get("steps") if isinstance(plan, dict) else None
    guards = {
        step["step_id"]: str(step.get("guard", ""))
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and isinstance(step.get("step_id"), str)
    }
    shown: dict[str, Any] = {"file": case.file}
    if case.line is not None:
        shown["line"] = case.line
    if named is not None:
        shown["case_id"] = named
    shown |= {
        "level": asked.level,
        "valid": verdict.passed,
        "assurance": verdict.facts.get("assurance"),
        "escalations": list(verdict.facts.get("escalations", ())),
        "findings": [_finding(one, guards) for one in verdict.findings],
    }
    return verdict, shown, guards


def _finding(finding: Finding, ids: Collection[str]) -> dict[str, Any]:
    shown: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": finding.message}
    if finding.where:
        shown["step_id" if finding.where in ids else "where"] = finding.where
    if finding.tokens:
        shown["tokens"] = list(finding.tokens)
    if finding.trace is not None:
        shown["trace"] = list(finding.trace)
    return shown


def _exit_of(verdict: Verdict) -> Exit:
    if verdict.passed:
        return Exit.OK
    return Exit.USAGE if any(one.code in _UNREADABLE for one in verdict.errors) else Exit.UNSOLVED


def _worse(one: Exit, other: Exit) -> Exit:
    """Return the code that says more: unreadable, then rejected, then valid."""
    order = (Exit.OK, Exit.UNSOLVED, Exit.USAGE)
    return max(one, other, key=order.index)
