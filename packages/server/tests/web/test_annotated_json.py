"""Replies as formatted JSON with findings at their places, and two of them side by side."""

import json

import pytest

from actors.values.findings import Finding
from replan_server.web.replies import annotate, side_by_side

PLAN = {"goal": "x", "steps": [{"step_id": "find", "needs": []}, {"step_id": "fix", "needs": ["a", "b"]}]}


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("steps[1].needs[1]", '"b"'),
        ("/steps/1/needs/1", '"b"'),
        ("fix", '"step_id": "fix",'),
        ("steps[1].none", "{"),
        ("goal", '"goal": "x",'),
        ("", "{"),
        ("elsewhere", "{"),
    ],
)
def test_a_finding_stands_at_its_place(where, line):
    lines = annotate(f"Here it is:\n```json\n{json.dumps(PLAN)}\n```", [Finding(code="c", message="m", where=where)])
    assert [each.text.strip() for each in lines if each.findings] == [line]
    assert json.loads("\n".join(each.text for each in lines)) == PLAN


def test_what_is_no_json_or_too_long_is_shown_as_it_came():
    long = json.dumps(list(range(9000)))
    for text in ("no JSON\nat all", "", long, "x\n" * 9000):
        lines = annotate(text, [Finding(code="c", message="m", where="steps")])
        assert "\n".join(each.text for each in lines) == text
        assert len(lines) <= 5001
        assert lines[0].findings


def test_two_replies_are_compared_line_by_line():
    rows = side_by_side(json.dumps(PLAN), json.dumps({**PLAN, "goal": "y", "more": 1}))
    told = [(row.left.strip(), row.right.strip()) for row in rows if row.differs]
    assert ('"goal": "x",', '"goal": "y",') in told
    assert ("", '"more": 1') in told
    assert not any(row.differs for row in side_by_side('{"a":1}', '{ "a": 1 }'))
