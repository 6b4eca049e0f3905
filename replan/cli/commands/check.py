"""`check`: reads plans from files one by one, and prints the verdict of the guards on each."""

import json
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from actors.values.artifacts import Artifact
from actors.values.findings import Finding, Verdict
from replan.api.check import check
from replan.cli.exits import Exit
from replan.cli.inputs import as_text, file_named
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, show
from replan.cli.terminal.plain import JsonArray, print_json
from replan.setup.command_name import program
from replan.views.check_report import report_lines
from replan.views.errors import line_of_error
from runtime.core.errors import UsageProblem
from runtime.models.replies import BYTES_MAX, Parsed, ReplyCode

FILE_BYTES_MAX = 256 * 1024 * 1024
"""The largest `.jsonl` file that is read, line by line: memory holds one line of at most `BYTES_MAX` and its report. Of
any other file, only as much is read as a plan may have."""

_UNREADABLE = frozenset(str(code) for code in ReplyCode)


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
    """Guard names that steps may use beside the default ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """One plan to check."""

    file: str
    """The path of its file as the user named it, or `-` for standard input."""
    text: str
    """The plan as it stands in the file, JSON or not."""
    line: int | None = None
    """The number of its line in a `.jsonl` file, from 1; None for a file with one plan."""


def check_files(invocation: Invocation, files: tuple[str, ...], standard: Standard, form: str) -> int:
    """Check every plan of the files and print `text`, `json` or `jsonl`. Return the exit code."""
    del invocation  # Checking has no home, so it keeps no log.
    worst, single, array = Exit.OK, len(files) == 1 and not files[0].endswith(".jsonl"), JsonArray()
    for name in files:
        try:
            for case in _cases(name):
                verdict, report, guards = _judged(case, standard)
                worst = _worse(worst, _exit_of(verdict))
                if form == "json" and single:
                    print_json(report)
                elif form == "json":
                    array.add(report)
                elif form == "jsonl":
                    print_json(report, indent=None)
                else:
                    show(report_lines(report, guards))
        except UsageProblem as problem:
            notice(line_of_error(problem))
            worst = Exit.USAGE
    if form == "json" and not single:
        array.end()
    return worst


def _cases(name: str) -> Iterator[Case]:
    """Yield the plans of a file; of a `.jsonl` file, never more than one line is in memory."""
    try:
        with _opened(name) as file:
            if not name.endswith(".jsonl"):
                yield Case(name, _text(file.read(BYTES_MAX + 2), name))
                return
            found = False
            for number, row in enumerate(_rows(file, name), 1):
                if row.strip():
                    found = True
                    yield Case(name, _text(row, f"{name}:{number}"), number)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or -") from None
    if not found:
        raise UsageProblem("holds no plan", place=name, hint="a .jsonl file has one on each line")


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open the file, or give standard input, which stays open."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with file_named(name, "PLAN").open("rb") as file:
        yield file


def _rows(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a `.jsonl` file; of one that is too long for a plan, only the beginning."""
    total = 0
    while row := file.readline(BYTES_MAX + 2):
        total += len(row)
        rest = row
        while rest and not rest.endswith(b"\n") and total <= FILE_BYTES_MAX:
            rest = file.readline(BYTES_MAX)
            total += len(rest)
        if total > FILE_BYTES_MAX:
            raise UsageProblem(f"more than {FILE_BYTES_MAX:,} bytes", place=name, hint="split the file")
        yield row


def _text(data: bytes, place: str) -> str:
    """Return the text; one that is too large for a plan may be cut in a character, and its verdict says that."""
    return as_text(data, place) if len(data) <= BYTES_MAX + 1 else data.decode("utf-8", "replace")


def _judged(case: Case, standard: Standard) -> tuple[Verdict, dict[str, Any], dict[str, str]]:
    """Return the verdict on one plan, what is printed about it, and the guard that each of its steps names."""
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
        "findings": [_finding(finding, guards, case) for finding in verdict.findings],
    }
    return verdict, report, guards


def _finding(finding: Finding, ids: Collection[str], case: Case) -> dict[str, Any]:
    message = _about_file(finding.message, case) if finding.code in _UNREADABLE else finding.message
    fields: dict[str, Any] = {"code": finding.code, "severity": finding.severity, "message": message}
    if finding.where:
        fields["step_id" if finding.where in ids else "where"] = finding.where
    if finding.tokens:
        fields["tokens"] = list(finding.tokens)
    if finding.trace is not None:
        fields["trace"] = list(finding.trace)
    return fields


def _about_file(message: str, case: Case) -> str:
    """Return what is said to a model about its reply, as it is said to a person about a file or its line."""
    advice = re.compile("; (?:answer with one JSON object.*|be briefer)[.]$")
    subject = "file" if case.line is None else "line"
    return advice.sub("; a plan is one JSON object of at most 4 MiB.", message).replace(
        "The reply", f"The {subject}", 1
    )


def _exit_of(verdict: Verdict) -> Exit:
    if verdict.passed:
        return Exit.OK
    return Exit.USAGE if any(finding.code in _UNREADABLE for finding in verdict.errors) else Exit.UNSOLVED


def _worse(first: Exit, second: Exit) -> Exit:
    """Return the worse of two codes: unreadable before rejected before valid."""
    order = (Exit.OK, Exit.UNSOLVED, Exit.USAGE)
    return max(first, second, key=order.index)
