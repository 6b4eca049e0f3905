"""The report of `replan check` on one plan, for people: each finding once with all its steps, and its remedy. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.files.suggestions import closest
from actors.guards.plan_settings import GUARD_CATALOG
from actors.values.findings import Code
from actors.values.lines import Line, Style, StyledSpan, line
from runtime.models.replies import ReplyCode

PLACES_MAX = 12
"""Steps that one line names; the others are counted. `--json` has a finding for each."""

_UNREADABLE = frozenset(str(code) for code in ReplyCode)

Found = Mapping[str, Any]
"""A finding as `replan check --json` prints it."""


def report_lines(report: Mapping[str, Any], guards: Mapping[str, str]) -> list[Line]:
    """Return the report on one plan; `report` is its object of `--json`, `guards` is the guard that each step names."""
    place = report["file"] + (f":{report['line']}" if "line" in report else "")
    case = f" ({report['case_id']})" if "case_id" in report else ""
    assurance = f", assurance {report['assurance']}" if report["assurance"] is not None else ""
    if any(finding["code"] in _UNREADABLE for finding in report["findings"]):
        rows = [line(f"{place}{case}: unreadable", "red")]
    else:
        word = "valid" if report["valid"] else "rejected"
        style: Style = "green" if report["valid"] else "red"
        rows = [line(f"{place}{case}: {word} at level {report['level']}{assurance}", style)]
    if failing := report.get("first_failing_step"):
        where = f"{failing['step']} {failing['action']}, line {failing['line']}"
        rows.append(_item(f"first action that cannot run: {where}"))
    rows += _findings(report["findings"])
    if report["escalations"]:
        rows.append(_item(f"may hand over at: {', '.join(report['escalations'])}", "dim"))
    if report.get("undoes"):
        rows.append(_item(f"may undo everything at: {', '.join(report['undoes'])}", "dim"))
    if report.get("irreversible"):
        rows.append(_item(f"cannot be undone then: {', '.join(report['irreversible'])}", "yellow"))
    unknown = [
        finding
        for finding in report["findings"]
        if finding["code"] == Code.UNKNOWN_GUARD and finding["severity"] == "error"
    ]
    names = sorted({guards[finding["step_id"]] for finding in unknown if finding.get("step_id") in guards})
    return [*rows, *(_item(text, "cyan") for text in _about_guards(names))]


def _findings(findings: Sequence[Found]) -> Iterator[Line]:
    """Yield a line for each finding; advice that an earlier line gives is left out."""
    alike: dict[tuple[Any, ...], list[str]] = {}
    for finding in findings:
        place = finding.get("step_id", finding.get("where", ""))
        message = str(finding["message"]).removeprefix(f"step {place}: ")
        places = alike.setdefault((finding["severity"], finding["code"], message, tuple(finding.get("trace", ()))), [])
        places.append(place)
    printed: set[tuple[str, str]] = set()
    for (severity, code, message, trace), places in alike.items():
        problem, _, advice = message.partition("; ")
        text = f"{problem.rstrip('.')}." if (code, advice) in printed else message
        printed.add((code, advice))
        warning = "warning: " if severity == "warning" else ""
        yield _item(f"{warning}{code}{_at(places)}: {text}", "yellow" if warning else "")
        if trace:
            yield _item(f"trace: {' '.join(trace)}", "dim")


def _at(places: Sequence[str]) -> str:
    named = [place for place in places if place]
    more = f" and {len(named) - PLACES_MAX} more" if len(named) > PLACES_MAX else ""
    return f" at {', '.join(named[:PLACES_MAX])}{more}" if named else ""


def _about_guards(names: Sequence[str]) -> Iterator[str]:
    """Yield what to do about unknown guards: typing errors, and guards of the user's own."""
    near = {name: close for name in names if (close := closest(name, GUARD_CATALOG, cutoff=0.8))}
    if near:
        yield f"did you mean {', '.join(f'{right!r} for {wrong!r}' for wrong, right in near.items())}?"
    own = [name for name in names if name and name not in near]
    if own:
        flags = " ".join(f"--guard {shlex.quote(name)}" for name in own[:PLACES_MAX])
        yield f"guards of your own are allowed by name: {flags}"


def _item(text: str, style: Style = "") -> Line:
    return Line((StyledSpan("- "), *line(text, style).spans), 2)
