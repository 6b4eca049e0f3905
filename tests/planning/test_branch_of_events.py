"""Which branch an event is about: the one that it names, else that of the event before."""

from types import SimpleNamespace

import pytest

from actors.planning.branches import branch_about
from actors.planning.events import EVENTS, GenerationRequested
from actors.run.questions import Question
from tests.support.questions import question_asked

NODE = "g_plan/v2.a1.b3"
STATE = SimpleNamespace(
    branches=("b0", "b1", "b2", "b3"),
    branch=1,
    run=SimpleNamespace(questions={"q1": Question(question_asked(node=NODE), 1.0)}),
)
OF_THE_RUN = {
    "run_started", "run_resumed", "run_parked", "note_told", "requirement_told", "mail_refused", "settings_changed",
    "limit_near", "forked",
}  # fmt: skip


@pytest.mark.parametrize("kind", [each for each in EVENTS if each.model_fields["kind"].default != "run_started"])
def test_an_event_is_about_the_branch_that_it_names_else_about_that_of_the_event_before(kind):
    again = GenerationRequested(node=NODE, prompt_hash="")
    places = {"node": NODE, "request_id": f"{NODE}.t2", "replaces": NODE, "question_id": "q1", "branch": 3, "parent": 3}
    event = kind.model_construct(again=again, **places)
    expected = "b1" if kind.model_fields["kind"].default in OF_THE_RUN else "b3"
    assert branch_about(STATE, event) == expected


def test_a_wait_of_the_run_is_about_the_branch_of_the_event_before():
    wait = next(each for each in EVENTS if each.model_fields["kind"].default == "wait_requested")
    assert branch_about(STATE, wait.model_construct(node=None, request_id="deadline")) == "b1"


def test_the_only_branch_is_meant_by_every_event():
    assert branch_about(SimpleNamespace(branches=("b0",)), EVENTS[0].model_construct(node=NODE)) == "b0"
