"""Verdicts on plans in the forms of build servers: annotations of GitHub, SARIF, and JUnit's XML. Pure.

A finding without a line gets that of its step, or of its key, in the text that was checked.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Report = Mapping[str, Any]
"""The object that `replan check --json` prints of one plan."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def line_of(report: Report, finding: Mapping[str, Any], text: str) -> int:
    """Return the line of a finding in the file, from 1: its own, or that of its step or its key, else 1."""
    if "line" in report or "line" in finding:
        return int(report.get("line", finding.get("line")))
    step, where = finding.get("step_id"), str(finding.get("where", ""))
    name = re.split(r"[.\[]", where, maxsplit=1)[0]
    own = rf'"step_id"\s*:\s*{re.escape(json.dumps(step, ensure_ascii=False))}'
    match = re.search(own if step else rf'"{re.escape(name)}"\s*:', text) if step or name else None
    return 1 if match is None else text.count("\n", 0, match.start()) + 1


def github_lines(report: Report, text: str) -> list[str]:
    """Return a workflow command for each finding: GitHub shows it at its line of the pull request."""
    return [
        f"::{finding['severity']} file={_property(report['file'])},line={line_of(report, finding, text)},"
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
                        "region": {"startLine": line_of(report, finding, text)},
                    }
                }
            ],
        }
        for finding in report["findings"]
    ]


def sarif_head(version: str) -> str:
    """Return the text before the first result; the results follow, with commas between them, then `SARIF_TAIL`."""
    driver = json.dumps({"name": "replan check", "version": version})
    return f'{{"$schema": "{SARIF_SCHEMA}", "version": "2.1.0", "runs": [{{"tool": {{"driver": {driver}}}, "results": ['


SARIF_TAIL = "]}]}\n"
JUNIT_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="replan check">\n'
JUNIT_TAIL = "</testsuite></testsuites>\n"


def junit_case(report: Report, text: str) -> str:
    """Return a plan as a test case of JUnit's XML, which fails where the plan is rejected."""
    name = report["file"] + (f":{report['line']}" if "line" in report else "")
    head = f"  <testcase classname={_attribute('level ' + report['level'])} name={_attribute(name)}"
    if report["valid"]:
        return f"{head}/>\n"
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    lines = (f"{line_of(report, each, text)}: {each['code']}: {each['message']}" for each in errors)
    message = _attribute(errors[0]["code"] if errors else "rejected")
    told = escape(_NO_XML.sub("?", "\n".join(lines)))
    return f"{head}>\n    <failure message={message}>{told}</failure>\n  </testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("?", text))
