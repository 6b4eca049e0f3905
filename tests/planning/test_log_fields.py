"""Every event that names a node, a request for one or a question says what step and branch it is about."""

import pytest

from actors.planning.events import EVENTS, GenerationRequested, RequestReissued
from actors.planning.views import log_fields
from actors.run.calls import Settled
from actors.run.ids import expiry_id
from actors.run.parking import RunParked
from actors.run.questions import Question
from actors.run.state import NotStarted, RunState
from actors.run.waits import WaitEnded
from runtime.core.ledger import ZERO
from tests.support.questions import question_asked

NODE = "g_plan/v2.a1.b3"
PLACE = {"step": "g_plan", "node": NODE, "branch": 3}
FIELDS = frozenset({"node", "request_id", "again", "question_id"})
NOTHING = NotStarted()
ASKED = NotStarted(RunState(questions={"q1": Question(question_asked(node=NODE), 1.0)}))


@pytest.mark.parametrize("kind", [one for one in EVENTS if FIELDS & one.model_fields.keys()])
def test_an_event_that_names_a_node_or_a_question_says_where_it_is(kind):
    again = GenerationRequested(node=NODE, prompt_hash="")
    event = kind.model_construct(node=NODE, request_id=f"{NODE}.t2", again=again, question_id="q1")
    assert log_fields(event, ASKED) == PLACE


@pytest.mark.parametrize("name", [NODE, f"{NODE}.t2", f"{NODE}/c", f"{NODE}/c.t2", f"judge:{NODE}"])
def test_so_does_one_that_names_any_request_for_it(name):
    assert log_fields(Settled(request_id=name, at=1.0, used=ZERO), NOTHING) == PLACE


@pytest.mark.parametrize("name", [f"wait:{NODE}.t2", f"rest:{NODE}", expiry_id("q1")])
def test_so_does_a_wait_for_a_node_or_for_a_question_s_end(name):
    assert log_fields(WaitEnded(request_id=name, at=1.0), ASKED) == PLACE


def test_an_event_about_the_run_names_no_step():
    assert log_fields(WaitEnded(request_id="deadline", at=1.0), ASKED) == {}
    assert log_fields(WaitEnded(request_id=expiry_id("q2"), at=1.0), ASKED) == {}
    assert log_fields(RunParked(at=1.0), ASKED) == {}


def test_a_request_that_is_asked_again_is_about_the_same_node():
    again = GenerationRequested(node=NODE, prompt_hash="", try_number=2)
    assert log_fields(RequestReissued(replaces=NODE, again=again), NOTHING) == PLACE
