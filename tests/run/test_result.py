"""The one object that `--json` prints for a run of any kind: which keys it has."""

import pytest

from actors.run.result import RunResult

SPENT = {"run_id": "r", "calls": 1, "tokens": 7, "cost_usd": None}
QUESTION = {"question": {"id": "r/q1", "text": "Which one?"}, "open_questions": ["r/q1", "r/q2"]}


@pytest.mark.parametrize(
    ("status", "outcome", "why", "shown"),
    [
        ("running", "", "", {}),
        ("parked", "", "the provider is down", {"why": "the provider is down"}),
        ("finished", "success", "", {"outcome": "success", "why": ""}),
        ("finished", "failed", "no plan", {"outcome": "failed", "why": "no plan"}),
    ],
)
def test_a_result_has_a_reason_once_the_run_has_ended_or_is_held_up(status, outcome, why, shown):
    result = RunResult(status=status, outcome=outcome, why=why, **SPENT)
    assert result.to_json() == {**SPENT, "status": status, **shown}


def test_a_result_has_the_first_open_question_and_the_ids_of_all():
    question, ids = QUESTION["question"], tuple(QUESTION["open_questions"])
    result = RunResult(status="waiting", outcome="", why="", question=question, open_questions=ids, **SPENT)
    assert result.to_json() == {**SPENT, "status": "waiting", **QUESTION}
