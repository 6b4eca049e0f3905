"""Replies from outside of this project: recorded model outputs, and the test cases of other parsers."""

import json

import pytest

from runtime.models.http_model import repair
from runtime.models.replies import Parsed, ReplyCode, Unreadable, read_reply
from tests.support.external import cases

LINES = cases("llm_json.jsonl")
REPAIRED = "what json_repair returns"


def parameters(selected):
    return [pytest.param(case, id=case["case_id"]) for case in selected]


def source(case):
    return case.get("expected_source", "")


def test_the_file_holds_every_kind_of_case():
    """With an incomplete file, the other tests would pass without testing."""
    assert len(LINES) == 50
    assert {source(case).split(" (")[0] for case in LINES} == {
        "",
        REPAIRED,
        "strict json.loads",
        "content of the single fence",
        "the one JSON value embedded in prose",
        "ast.literal_eval of the same text",
    }


@pytest.mark.parametrize("case", parameters(c for c in LINES if source(c) and not source(c).startswith(REPAIRED)))
def test_a_stated_value_is_read(case):
    """Strict JSON, a fence, one value in prose and a Python literal have one right answer each."""
    assert read_reply(case["text"]) == Parsed(case["expected"])


@pytest.mark.parametrize("case", parameters(c for c in LINES if not source(c)))
def test_prose_has_no_value(case):
    """The finding says that the reply is not JSON."""
    value = read_reply(case["text"])
    assert isinstance(value, Unreadable)
    assert value.code is ReplyCode.NOT_JSON


@pytest.mark.parametrize("case", parameters(c for c in LINES if source(c).startswith(REPAIRED)))
def test_what_needs_a_guess_is_never_guessed(case):
    """For a text that a repairing parser would guess at, the result is the value in the text or none, never a guess."""
    value = read_reply(case["text"])
    exact = {"jsonrepair-177", "jsonrepair-184", "jsonrepair-185"}
    if case["case_id"] in exact:
        assert value == Parsed(case["expected"])
    elif isinstance(value, Parsed):
        assert not isinstance(value.value, dict | list)
    else:
        assert value.code is ReplyCode.NOT_JSON


@pytest.mark.parametrize("case", parameters(c for c in LINES if source(c)))
def test_a_repair_is_the_stated_value_or_none(case):
    """It never differs from what the text says, and a text that needs a guess is not repaired."""
    repaired = repair(case["text"])
    assert repaired is None or json.loads(repaired) == case["expected"]
