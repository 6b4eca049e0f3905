"""The one object that `--json` prints for a run of any kind: which keys it has."""

import pytest

from actors.planning.result import result_of
from actors.run.result import RunResult, RunView
from runtime.core.messages import Parking
from runtime.models.port import Fault, FaultKind
from tests.support.worlds import World, passed, pinned

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


def test_a_run_that_a_person_parked_shows_the_fault_of_its_last_call():
    """It may be parked before its waits for the provider have begun."""
    fault = Fault(kind=FaultKind.REFUSED_CONNECTION, message="no connection")
    world = World(pinned({"a": {"rmax": 2}}), lambda *_: passed(), lambda *_: fault)
    world.begin()
    world.answer("a/v1.a1")
    world.send(Parking(world.now))
    result = result_of(RunView("r", "parked", world.state, world.state))
    assert result.why == "The last call failed: refused_connection: no connection"


def test_a_result_has_the_first_open_question_and_the_ids_of_all():
    question, ids = QUESTION["question"], tuple(QUESTION["open_questions"])
    result = RunResult(status="waiting", outcome="", why="", question=question, open_questions=ids, **SPENT)
    assert result.to_json() == {**SPENT, "status": "waiting", **QUESTION}
