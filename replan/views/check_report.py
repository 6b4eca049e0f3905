"""The reports of `replan check` on one plan, in all formats. The report for people merges equal findings. Pure."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from actors.files.suggestions import closest
from actors.guards.plan_settings import GUARD_CATALOG
from actors.values.findings import Code
from actors.values.lines import Line, Style, StyledSpan, line
from runtime.models.replies import ReplyCode

PLACES_MAX = 12
"""The largest number of steps that one line of the report names. For further steps, the line states only their number.
With `--json`, the report has a finding for each step.
"""

_UNREADABLE = frozenset(str(code) for code in ReplyCode)

Found = Mapping[str, Any]


def report_lines(report: Mapping[str, Any], guards: Mapping[str, str]) -> list[Line]:
    """Return the lines of the report on one plan.

    `report` is the JSON object on the plan. `guards` has the guard of each step.
    """
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
        rows.append(_item(f"may escalate at: {', '.join(report['escalations'])}", "dim"))
    if report.get("undoes"):
        rows.append(_item(f"may undo all steps after a failure of: {', '.join(report['undoes'])}", "dim"))
    if report.get("irreversible"):
        rows.append(_item(f"these steps cannot be undone: {', '.join(report['irreversible'])}", "yellow"))
    unknown = [
        finding
        for finding in report["findings"]
        if finding["code"] == Code.UNKNOWN_GUARD and finding["severity"] == "error"
    ]
    names = sorted({guards[finding["step_id"]] for finding in unknown if finding.get("step_id") in guards})
    return [*rows, *(_item(text, "cyan") for text in _about_guards(names))]


def _findings(findings: Sequence[Found]) -> Iterator[Line]:
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
    near = {name: close for name in names if (close := closest(name, GUARD_CATALOG, cutoff=0.8))}
    if near:
        yield f"did you mean {', '.join(f'{right!r} for {wrong!r}' for wrong, right in near.items())}?"
    own = [name for name in names if name and name not in near]
    if own:
        flags = " ".join(f"--guard {shlex.quote(name)}" for name in own[:PLACES_MAX])
        yield f"to allow your own guards, add: {flags}"


def _item(text: str, style: Style = "") -> Line:
    return Line((StyledSpan("- "), *line(text, style).spans), 2)


Report = Mapping[str, Any]
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _line_of(report: Report, finding: Mapping[str, Any], text: str) -> int:
    """Return the line number of a finding in the file: its own line, the line of its step or key, or else 1."""
    if "line" in report or "line" in finding:
        return int(report.get("line", finding.get("line")))
    step, where = finding.get("step_id"), str(finding.get("where", ""))
    name = re.split(r"[.\[]", where, maxsplit=1)[0]
    own = rf'"step_id"\s*:\s*{re.escape(json.dumps(step, ensure_ascii=False))}'
    match = re.search(own if step else rf'"{re.escape(name)}"\s*:', text) if step or name else None
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def github_lines(report: Report, text: str) -> list[str]:
    """Return a workflow command for each finding. GitHub shows the finding at its line of the pull request."""
    return [
        f"::{finding['severity']} file={_property(report['file'])},line={_line_of(report, finding, text)},"
        f"title={_property(finding['code'])}::{_data(finding['message'])}"
        for finding in report["findings"]
    ]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif_results(report: Report, text: str) -> list[dict[str, Any]]:
    """Return the findings on one plan as results of SARIF 2.1.0."""
    return [
        {
            "ruleId": finding["code"],
            "level": finding["severity"],
            "message": {"text": finding["message"]},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": report["file"]},
                        "region": {"startLine": _line_of(report, finding, text)},
                    }
                }
            ],
        }
        for finding in report["findings"]
    ]


def sarif_head(version: str) -> str:
    """Return the text before the first result.

    The caller must write the results after this text, with commas between them, and then `SARIF_TAIL`.
    """
    driver = json.dumps({"name": "replan check", "version": version})
    return f'{{"$schema": "{SARIF_SCHEMA}", "version": "2.1.0", "runs": [{{"tool": {{"driver": {driver}}}, "results": ['


SARIF_TAIL = "]}]}\n"
JUNIT_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="replan check">\n'
JUNIT_TAIL = "</testsuite></testsuites>\n"


def junit_case(report: Report, text: str) -> str:
    """Return a plan as a JUnit XML test case, which fails if the plan is rejected."""
    name = report["file"] + (f":{report['line']}" if "line" in report else "")
    head = f"  <testcase classname={_attribute('level ' + report['level'])} name={_attribute(name)}"
    if report["valid"]:
        return f"{head}/>\n"
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    lines = (f"{_line_of(report, error, text)}: {error['code']}: {error['message']}" for error in errors)
    message = _attribute(errors[0]["code"] if errors else "rejected")
    report_text = escape(_NO_XML.sub("?", "\n".join(lines)))
    return f"{head}>\n    <failure message={message}>{report_text}</failure>\n  </testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text))
