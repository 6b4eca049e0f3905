"""Runs whose journals hold giant replies and verdicts, from before today's limits, can be shown and resumed."""

import json

import pytest

from actors.guards import fields
from actors.plans import reader
from actors.values import findings
from runtime.models import replies
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, PLAN

ITEMS = 1_500
REJECTED = json.dumps({**ANALYSIS, "key_signals": [1] * ITEMS})
ACCEPTED = json.dumps({**ANALYSIS, "key_signals": ["slow"] * ITEMS, "rationale": "r" * 50_000})
ASKING = {**PLAN, "open_questions": ["Which version is it?"]}
GIANT_PLAN = json.dumps({**PLAN, "steps": [1] * ITEMS})


@pytest.fixture
def waiting(replan, problem, scripted, monkeypatch):
    """The id of a run that waits for an answer, and was made without limits."""
    model = scripted({"g_analysis": [REJECTED, ACCEPTED], "g_plan": [GIANT_PLAN, ASKING, PLAN]})
    with monkeypatch.context() as patch:
        patch.setattr(fields, "ITEMS_MAX", 10**9)
        patch.setattr(reader, "FINDINGS_MAX", 10**9)
        patch.setattr(reader, "STEPS_MAX", 10**9)
        patch.setattr(findings, "FINDINGS_MAX", 10**9)
        patch.setattr(findings, "VERDICT_BYTES_MAX", 10**9)
        result = replan("run", problem, "-m", model, "-w", "option_a", "--json")
    assert result.exit_code == 6, result.output
    return json.loads(result.stdout)["run_id"]


@pytest.fixture
def stricter(monkeypatch):
    """Today even the accepted reply is too large to be read."""
    monkeypatch.setattr(replies, "VALUES_MAX", ITEMS // 2)


def test_a_run_with_giant_replies_and_verdicts_is_shown(replan, waiting, stricter):
    for arguments in ((), ("--json",), ("--events",), ("--events", "--json")):
        result = replan("show", waiting, *arguments)
        assert result.exit_code in (0, 6), result.output
        assert "Traceback" not in result.output
        assert not result.exception or isinstance(result.exception, SystemExit)
    assert run_id(replan) == waiting
    assert waiting in replan("questions").stdout


def test_a_run_with_giant_replies_and_verdicts_goes_on(replan, waiting, stricter):
    assert replan("answer", f"{waiting}/q1", "3.12").exit_code == 0
    result = replan("resume", waiting, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["plan"] == PLAN
    assert replan("show", waiting, "--json").exit_code == 0


def test_a_giant_verdict_was_recorded_whole(replan, waiting):
    """This is what the other tests are about; a verdict of today has at most a hundred findings."""
    shown = replan("show", waiting, "--events", "--json").stdout
    assert len(shown) > 200_000
