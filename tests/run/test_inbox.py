"""What a person may tell a run, and why a message is refused."""

import json

import pytest

from actors.run import inbox
from actors.run.inbox import NoteTold, RequirementTold, UserMessage, accept_mail, check_message, mark_seen
from actors.run.questions import ClarificationAnswered, ClarificationDeclined, Question, close_question
from actors.run.state import RunState
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Ledger, Limits
from runtime.core.messages import Mailed
from tests.support.questions import question_asked


def told(body, **fields):
    message = Mailed(1, "key", body if isinstance(body, str) else json.dumps(body), 5.0)
    return accept_mail({}, (), Ledger(Limits(calls=3)), message, **{"never_strict": "", **fields})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("no JSON", "the run does not know this kind of message"),
        ("[" * 100_000, "the run does not know this kind of message"),
        ("[]", "the run does not know this kind of message"),
        ({"kind": "other"}, "the run does not know this kind of message"),
        ({"kind": "answer", "question": "q1", "answer": "x"}, "there is no open question 'q1'"),
        ({"kind": "decline", "question": "q1"}, "there is no open question 'q1'"),
        ({"kind": "note", "text": "  "}, "the message is empty"),
        ({"kind": "requirement", "text": 3}, "the message is empty"),
        ({"kind": "change"}, "the message changes nothing"),
    ],
)
def test_a_message_that_cannot_be_taken_is_refused_with_the_reason(body, reason):
    event = told(body)
    assert (event.kind, event.reason, event.key, event.at) == ("mail_refused", reason, "key", 5.0)


@pytest.mark.parametrize(
    ("body", "kind", "field", "value"),
    [
        ({"kind": "note", "text": " a "}, "note_told", "text", "a"),
        ({"kind": "requirement", "text": "a"}, "requirement_told", "text", "a"),
        ({"kind": "cancel"}, "run_finished", "why", "cancelled by the user"),
        ({"kind": "change", "calls": 9}, "settings_changed", "limits", Limits(calls=9)),
    ],
)
def test_a_message_that_is_taken_becomes_an_event(body, kind, field, value):
    event = told(body)
    assert (event.kind, getattr(event, field), event.at) == (kind, value, 5.0)


def test_an_answer_by_a_way_that_is_not_used_any_more_is_read_and_its_way_is_not_known():
    stored = {"question_id": "q1", "answer": "red", "via": "by pigeon", "person": "ana", "at": 1.0}
    for kind in (ClarificationAnswered, ClarificationDeclined):
        event = kind.model_validate({key: stored[key] for key in stored if key in kind.model_fields})
        assert (event.via, event.person) == ("", "ana")


def test_a_run_that_has_finished_cannot_be_cancelled():
    assert told({"kind": "cancel"}, finished=True).reason == "the run has finished"
    assert told({"kind": "note", "text": "a"}, finished=True).kind == "note_told"


def test_a_message_has_a_limit_of_length_and_a_run_one_of_messages(monkeypatch):
    monkeypatch.setattr(inbox, "MESSAGE_MAX", 3)
    monkeypatch.setattr(inbox, "MESSAGES_MAX", 2)
    one = UserMessage("note", "a", place=1)
    assert check_message((one,), "abc") == "abc"
    with pytest.raises(UsageProblem, match="a message may have at most 3 characters, but this message has 4"):
        check_message((), "abcd")
    with pytest.raises(UsageProblem, match="a run accepts at most 2 notes and requirements"):
        check_message((one, one), "abc")


def test_messages_are_seen_once_a_prompt_has_gone_out_and_are_read_by_their_kind():
    messages = (UserMessage("note", "a", place=1), UserMessage("requirement", "b", place=2))
    assert [each.seen for each in messages] == [False, False]
    assert [each.seen for each in mark_seen(messages)] == [True, True]
    run = RunState(messages=messages)
    assert (run.texts_of("note"), run.texts_of("requirement")) == (("a",), ("b",))


def test_what_people_tell_has_a_place_also_where_all_of_it_comes_at_the_same_time():
    """The page shows messages and answers in this order."""
    asked = {name: Question(question_asked(question_id=name), 1.0) for name in ("q1", "q2")}
    messages, questions = (), asked
    messages = inbox.add_message(messages, NoteTold(at=1.0, text="a"), inbox.next_place(messages, questions))
    answer = ClarificationAnswered(at=1.0, question_id="q2", answer="x")
    questions = close_question(questions, answer, inbox.next_place(messages, questions))
    messages = inbox.add_message(messages, RequirementTold(at=1.0, text="b"), inbox.next_place(messages, questions))
    decline = ClarificationDeclined(at=1.0, question_id="q1")
    questions = close_question(questions, decline, inbox.next_place(messages, questions))
    assert [message.place for message in messages] == [1, 3]
    assert {name: question.place for name, question in questions.items()} == {"q1": 4, "q2": 2}
