"""`show --prompt NODE`: the exact messages that a call got, rebuilt from the journal and checked by hash."""

import json
from dataclasses import replace

import pytest

from actors.planning.kind import PLANNING
from tests.cli.conftest import run_id
from tests.cli.samples import BACKTRACKS, PROBLEM
from tests.cli.test_bad_input import assert_refused


@pytest.fixture
def planned(replan, problem, scripted):
    """The id of a run with a partial replan and a retry."""
    replan("run", problem, "-m", scripted(BACKTRACKS), "--no-input")
    return run_id(replan)


def test_every_call_of_a_run_is_rebuilt_with_its_hash(replan, planned):
    events = json.loads(replan("show", planned, "--events", "--json").stdout)["events"]
    requests = [event for event in events if event["kind"] == "generation_requested"]
    assert len(requests) == 8
    for event in requests:
        shown = json.loads(replan("show", planned, "--prompt", event["node"], "--json").stdout)
        assert (shown["prompt_hash"], shown["verified"]) == (event["prompt_hash"], True)
        assert [message["role"] for message in shown["messages"]] == ["system", "user"]
        assert PROBLEM.strip() in shown["messages"][1]["content"]


def test_the_messages_have_the_feedback_that_the_attempt_got(replan, planned):
    first = replan("show", planned, "--prompt", "g_plan/v1.a1").stdout
    assert first.startswith("=== system ===\n")
    assert "\n=== user ===\n" in first
    assert "nobody_makes_this" not in first
    assert "nobody_makes_this" in replan("show", planned, "--prompt", "g_plan/v2.a1").stdout


def test_an_unknown_call_is_refused_with_the_nearest_one(replan, planned):
    assert_refused(
        replan("show", planned, "--prompt", "g_plan/v1.a9"), "no call 'g_plan/v1.a9'", "did you mean 'g_plan/v1.a1'?"
    )
    assert_refused(replan("show", planned, "--prompt", "g_plan/v1.a1", "--tree"), "--tree and --prompt")


def test_rebuilt_messages_that_differ_from_the_sent_ones_are_reported(replan, planned):
    """As after a release that renders prompts differently."""
    rebuilt = PLANNING.views.prompt

    def other(records, node):
        return replace(rebuilt(records, node), verified=False)

    object.__setattr__(PLANNING.views, "prompt", other)
    try:
        result = replan("show", planned, "--prompt", "g_plan/v1.a1")
    finally:
        object.__setattr__(PLANNING.views, "prompt", rebuilt)
    assert result.exit_code == 1
    assert "these are not the exact messages of g_plan/v1.a1" in result.stderr
