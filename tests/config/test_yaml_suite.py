"""The YAML test suite: what is no YAML is refused, and what configuration files accept means what the suite says.

The suite's cases with another value, or another verdict, are listed by name with the reason.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from actors.files.yaml_document import parse_document
from runtime.core.errors import UsageProblem
from tests.docs.blocks import ROOT

FILE = Path(__file__).parent / "data" / "yaml_test_suite.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]

TAG = "tags are errors"
KEY = "a key must be text"
OLD = "libyaml and PyYAML read YAML 1.1, which has no such text"
REFUSED = {
    "WZ62": KEY,
    "3GZX": "an anchor may not be set twice",
    "2SXE": OLD,
    "4MUZ/00": OLD,
    "4MUZ/02": OLD,
    "58MP": OLD,
    "5MUD": OLD,
    "K3WX": OLD,
    "VJP3/01": OLD,
    "W5VH": OLD,
    **dict.fromkeys(("2XXW", "565N", "74H7", "7FWL", "CUP7", "L94M", "M5C3", "UGM3", "Z67P"), TAG),
    **dict.fromkeys(
        ("6HB6", "A2M4", "DC7X", "DK95/00", "DK95/03", "DK95/04", "DK95/05", "J3BT", "NB6Z", "Q5MG", "UV7Q"),
        "PyYAML takes no tab between tokens",
    ),
}
"""Mappings of the suite that are refused."""
ACCEPTED = {
    "9C9N": "continuation lines of a flow sequence may begin at the left",
    "QB6E": "so may those of a quoted text",
    "DK95/01": "a tab may indent a continuation line of a quoted text",
    "S98Z": "a blank line before a block text may have more blanks than the text",
    "SU5Z": "a comment may follow a quoted text without a blank",
    "X4QW": "a comment may follow the sign of a block text without a blank",
}
OTHER = {
    "652Z": "a question mark at the beginning of a key in braces is a sign, not a part of the key",
    "L24T/01": "the last line of a block text has no line break where the file has none",
    "Y2GN": "the name of an anchor ends before a colon",
}
"""Mappings that are read as another value than the suite's."""


def values(case):
    """Return the documents of a case as the suite says; None where JSON has no such value."""
    if "json" not in case:
        return None
    text, found = case["json"].strip(), []
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


def expected(case):
    """Return what becomes of a case, and its value."""
    meant = values(case)
    if case.get("fail"):
        return ("accepted", None) if case["name"] in ACCEPTED else ("refused", None)
    if meant is None or len(meant) != 1 or not isinstance(meant[0], dict):
        return "not one mapping", None
    return ("refused", None) if case["name"] in REFUSED else ("read", meant[0])


def read(case):
    """Return the value of a case, and the message about one that is refused."""
    try:
        return parse_document(case["yaml"], "f.yaml").value, ""
    except UsageProblem as problem:
        return None, str(problem)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_text_of_the_suite_is_read_as_the_suite_says_or_is_refused(case):
    what, meant = expected(case)
    value, refusal = read(case)
    assert len(refusal.splitlines()) <= 1
    match what:
        case "refused":
            assert refusal
        case "not one mapping":  # Where the suite states no value, as of a key without a text, it may be read.
            assert refusal or "json" not in case
        case "accepted":
            assert not refusal
        case "read":
            assert not refusal
            assert (value == meant) is (case["name"] not in OTHER)


def test_the_page_states_how_many_cases_are_read():
    names = {case["name"] for case in CASES}
    assert names >= {*REFUSED, *ACCEPTED, *OTHER}
    count = Counter(expected(case)[0] for case in CASES)
    page = " ".join((ROOT / "docs" / "reference" / "measurements.md").read_text(encoding="utf-8").split())
    same, invalid = count["read"] - len(OTHER), count["accepted"] + count["refused"] - len(REFUSED)
    total, mappings = len(CASES), count["read"] + len(REFUSED)
    assert f"{mappings} of the suite's {total} texts are one mapping" in page
    assert f"Replan reads {same} of these texts correctly, refuses {len(REFUSED)}, and reads {len(OTHER)}" in page
    assert f"also reads {count['accepted']} of {invalid} invalid texts." in page
