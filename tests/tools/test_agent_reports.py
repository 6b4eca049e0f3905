"""The output of coding agents: what is read from the forms that `claude` and `codex` print, and from anything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.run.tools import ToolCost
from actors.tools.agent_work import read_report

CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 2_549,
    "num_turns": 4,
    "result": "Mended.",
    "session_id": "7b0d",
    "total_cost_usd": 0.0123456,
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3_000,
        "output_tokens": 50,
        "service_tier": "standard",
    },
}
CODEX = [
    {"type": "thread.started", "thread_id": "0199"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Look."}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Begun."}},
    {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "Mended."}},
    {"type": "turn.completed", "usage": {"input_tokens": 1_000, "cached_input_tokens": 900, "output_tokens": 70}},
]


def lines(*events):
    return "\n".join(json.dumps(each) for each in events)


def test_the_object_of_claude_tells_result_cost_tokens_turns_and_session():
    report = read_report("claude", json.dumps(CLAUDE))
    assert (report.text, report.problem) == ("Mended.", "")
    assert report.cost == ToolCost(micro_usd=12_346, input_tokens=3_210, output_tokens=50, turns=4, session="7b0d")


@pytest.mark.parametrize(
    "output",
    [
        json.dumps([{"type": "system"}, CLAUDE]),
        lines({"type": "system"}, CLAUDE),
        f"a warning\n{json.dumps(CLAUDE)}\n",
    ],
)
def test_the_object_is_also_found_in_a_list_and_among_other_lines(output):
    assert read_report("claude", output).cost.micro_usd == 12_346


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"is_error": True, "result": "Invalid API key"}, "the agent reports an error: Invalid API key"),
        ({"subtype": "error_max_turns", "result": None}, "the agent reports error_max_turns"),
        (
            {"subtype": "error_max_budget_usd", "result": None, "errors": ["over", "out"]},
            "the agent reports error_max_budget_usd: over; out",
        ),
        ({"is_error": None}, "the agent reports an error: Mended."),
    ],
)
def test_an_error_that_claude_reports_is_no_success_and_its_cost_counts(fields, problem):
    report = read_report("claude", json.dumps(CLAUDE | fields))
    assert report.problem == problem
    assert report.cost.micro_usd == 12_346


@pytest.mark.parametrize("cost", [None, "1", True, -1, 10**13, float("nan"), float("inf")])
def test_a_cost_that_cannot_be_is_unknown_and_never_zero(cost):
    report = read_report("claude", json.dumps(CLAUDE | {"total_cost_usd": cost, "usage": {"input_tokens": -1}}))
    assert (report.cost.micro_usd, report.cost.input_tokens) == (None, 0)


def test_the_events_of_codex_tell_the_last_message_and_tokens_and_no_money():
    report = read_report("codex", lines(*CODEX))
    assert (report.text, report.problem) == ("Mended.", "")
    assert report.cost == ToolCost(input_tokens=1_000, output_tokens=70, turns=1, session="0199")


def test_a_failed_turn_of_codex_is_no_success():
    failed = {"type": "turn.failed", "error": {"message": "stream disconnected\nmore"}}
    assert read_report("codex", lines(*CODEX[:4], failed)).problem == (
        "the agent reports a failed turn: stream disconnected"
    )


@pytest.mark.parametrize(
    ("form", "output", "problem"),
    [
        ("claude", "", "it has no JSON object of the type 'result', because it is empty"),
        ("claude", "Error: no key\n", "it has no JSON object of the type 'result', and begins with 'Error: no key'"),
        (
            "claude",
            '{"type": "resul',
            "it has no JSON object of the type 'result', and begins with '{\"type\": \"resul'",
        ),
        ("codex", lines(*CODEX[:-1]), "it has no event 'turn.completed', and begins with"),
    ],
)
def test_an_output_of_another_form_is_said_to_be_one_in_one_line(form, output, problem):
    report = read_report(form, output)
    assert report.problem.startswith(f"the agent's output does not fit `report: {form}`: {problem}")
    assert report.cost.micro_usd is None


KEYS = st.sampled_from([*CLAUDE, "item", "error", "message"])
VALUES = (
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["result", "turn.failed", "turn.completed"])
)
JSON = st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)).map(json.dumps)


@given(st.sampled_from(["claude", "codex", "none"]), st.text() | JSON)
def test_no_output_breaks_the_reader(form, output):
    report = read_report(form, output)
    assert "\n" not in report.problem


def test_a_deeply_nested_output_is_no_report():
    assert read_report("claude", "[" * 200_000).problem
