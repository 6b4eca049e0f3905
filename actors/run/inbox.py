"""The messages that people send to a run, and their checks. The checks also run before a message is sent. Pure.

A message is JSON: `{"kind": "answer", "question", "answer"}`, `{"kind": "decline", "question"}`, both with `via` and
`person` if these are known, `{"kind": "cancel"}`, `{"kind": "change", ...}` (`actors.run.settings`), `{"kind": "note",
"text"}`, `{"kind": "requirement", "text"}`, or `{"kind": "edit", "plan", "revision", ...}` with an edited plan. The
answer and the decline of a question share one key of the inbox, so only the first of them has an effect.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actors.run.ending import Outcome, RunFinished
from actors.run.questions import (
    NAMED,
    OTHER_MODEL,
    PEOPLE,
    ClarificationAnswered,
    ClarificationDeclined,
    Question,
    Questions,
    read_via,
)
from actors.run.settings import MODEL_KEYS, SettingsChanged, change_of
from actors.run.waits import TimedEvent
from actors.values.answers import normal_answer
from actors.values.findings import Finding
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable
from runtime.core.ledger import Ledger

if TYPE_CHECKING:
    from runtime.core.messages import Mailed

MESSAGE_MAX = 10_000
"""The largest number of characters in one note or requirement. Put longer texts into the problem of a new run."""
PERSON_MAX = 32
"""The largest number of characters in the name of a person who answers through a link."""
MESSAGES_MAX = 100
"""The largest number of notes and requirements in one run. Every later prompt shows them, so their number is limited.
"""

EDIT = "edit"
EDIT_BYTES_MAX = 1024 * 1024
"""The largest number of bytes in an edited plan as JSON."""

MessageKind = Literal["note", "requirement"]
KINDS: tuple[MessageKind, ...] = ("note", "requirement")


class ForPeopleOnly(UsageProblem):
    """A program tried to answer or decline a question that only a person may answer."""


class NoteTold(TimedEvent):
    """The user sent a note. Later prompts show the note, which changes nothing else."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["note_told"] = "note_told"
    text: str
    """The note, at most `MESSAGE_MAX` characters."""


class RequirementTold(TimedEvent):
    """The user sent a requirement. Later prompts show the requirement, and a planning run replans."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["requirement_told"] = "requirement_told"
    text: str
    """The requirement, at most `MESSAGE_MAX` characters."""


class MailRefused(TimedEvent):
    """A person's message was refused. The message has no effect on the run."""

    kind: Literal["mail_refused"] = "mail_refused"
    key: str
    """The message's key in the inbox."""
    reason: str
    """The reason, in one sentence for people."""


InboxEvent = (
    ClarificationAnswered
    | ClarificationDeclined
    | NoteTold
    | RequirementTold
    | SettingsChanged
    | MailRefused
    | RunFinished
)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A note or a requirement that the user sent without being asked."""

    kind: MessageKind
    """A `requirement` changes the task. A `note` is only shown in later prompts."""
    text: str
    place: int
    """The number of the message among all messages and answers that people sent to the run, from 1."""
    seen: bool = False


Messages = tuple[UserMessage, ...]


def next_place(messages: Messages, questions: Questions) -> int:
    """Return the number of a person's next message. Messages are numbered because two can have the same time."""
    places = [*(message.place for message in messages), *(question.place for question in questions.values())]
    return 1 + max(places, default=0)


def add_message(messages: Messages, event: NoteTold | RequirementTold, place: int) -> Messages:
    """Return the messages with a further message."""
    kind: MessageKind = "note" if isinstance(event, NoteTold) else "requirement"
    return (*messages, UserMessage(kind, event.text, place))


def mark_seen(messages: Messages) -> Messages:
    """Return the messages, all marked as seen. A message is seen once the prompt of a recorded request shows it."""
    if all(message.seen for message in messages):
        return messages
    return tuple(replace(message, seen=True) for message in messages)


def accept_mail(
    questions: Questions,
    messages: Messages,
    ledger: Ledger,
    message: "Mailed",
    *,
    never_strict: str,
    finished: bool = False,
) -> InboxEvent:
    """Return the event that records the effect of a person's message, or its refusal."""
    body = body_of(message.body)
    at, mono = message.at, message.mono
    question, via = str(body.get("question", "")), str(body.get("via") or "")
    person = make_storable(str(body.get("person") or ""))[:PERSON_MAX] if via in NAMED else ""
    try:
        match body.get("kind"):
            case "change":
                return change_of(ledger, body, at, mono, never_strict=never_strict)
            case "cancel" if finished:
                return refuse_message(message, "the run has finished")
            case "cancel":
                return RunFinished(outcome=Outcome.CANCELLED, why="cancelled by the user", at=at, mono=mono)
            case "answer":
                answer = normalise_answer(questions, question, body.get("answer"), via, person)
                change = _model_change(questions[question], answer, body.get("change"), ledger, at)
                return ClarificationAnswered(
                    question_id=question,
                    at=at,
                    mono=mono,
                    answer=answer,
                    via=read_via(via),
                    person=person,
                    change=change,
                )
            case "decline":
                check_decline(questions, question, via, person)
                return ClarificationDeclined(question_id=question, at=at, mono=mono, via=read_via(via), person=person)
            case "note":
                return NoteTold(at=at, mono=mono, text=check_message(messages, body.get("text")))
            case "requirement":
                return RequirementTold(at=at, mono=mono, text=check_message(messages, body.get("text")))
            case _:
                return refuse_message(message, "the run does not know this kind of message")
    except UsageProblem as problem:
        return refuse_message(message, problem.cause)


def refuse_message(message: "Mailed", reason: str) -> MailRefused:
    """Return the event of a message that is refused. `reason` is one sentence for people."""
    return MailRefused(at=message.at, mono=message.mono, key=make_storable(message.key), reason=reason)


def _model_change(question: Question, answer: str, change: object, ledger: Ledger, at: float) -> Mapping[str, Any]:
    """Return the checked settings of the model that an answer at a limit names; empty if the answer names no model."""
    if question.request.reached is None or not answer.startswith(OTHER_MODEL):
        return {}
    if not isinstance(change, dict) or change.keys() - MODEL_KEYS:
        raise UsageProblem("the message does not have the price and the settings of the model that the answer names")
    change_of(ledger, change, at)
    return change


def normalise_answer(questions: Questions, name: str, answer: object, via: str, person: str = "") -> str:
    """Return an answer in its normal form. `via` is the interface by which the answer came; empty if it is unknown.

    `person` is the name of the person who answers, if known. An answer to a withdrawn or expired question is accepted
    too, so no answer is lost. The question is not changed. Raises `UsageProblem` with the reason if the answer is not
    accepted, and `ForPeopleOnly` if no program may give it.
    """
    _check_open(questions, name, "clarification_answered", via, person)
    return normal_answer(questions[name].request.answer_schema, answer)


def check_decline(questions: Questions, name: str, via: str, person: str = "") -> None:
    """Raise `UsageProblem` if a question cannot be declined, and `ForPeopleOnly` if no program may decline it."""
    _check_open(questions, name, "clarification_declined", via, person)


def check_message(messages: Messages, text: object) -> str:
    """Return the stored text of a note or requirement.

    Raises `UsageProblem` if the text is empty or too long, or if the run has too many messages.
    """
    if not isinstance(text, str) or not text.strip():
        raise UsageProblem("the message is empty")
    if len(text) > MESSAGE_MAX:
        raise UsageProblem(f"a message may have at most {MESSAGE_MAX} characters, but this message has {len(text)}")
    if len(messages) >= MESSAGES_MAX:
        raise UsageProblem(f"a run accepts at most {MESSAGES_MAX} notes and requirements")
    return make_storable(text).strip()


def _check_open(questions: Questions, name: str, kind: str, via: str, person: str) -> None:
    question = questions.get(name)
    if question is None:
        raise UsageProblem(f"there is no open question {name!r}")
    if question.answer:
        raise UsageProblem(f"question {name!r} is answered already: {question.answer[:200]!r}")
    if not question.can_take(kind):
        raise UsageProblem(f"question {name!r} is closed: it was {question.status}")
    if via and via not in PEOPLE and question.request.people_only:
        raise ForPeopleOnly("only a person may answer this question")
    if person and not question.asks(person):
        raise UsageProblem(f"{person} has not been asked this question")


def read_edit(
    body: Mapping[str, Any],
    place: Mapping[str, Any],
    check: Callable[[Mapping[str, Any]], Sequence[Finding]],
) -> dict[str, Any]:
    """Return the edited plan in the body of a message, as JSON.

    `place` has the current `revision`, and perhaps further keys. The body must have the same values for these keys.
    Raises `UsageProblem` for other values, for a body without a plan, and for the first finding of `check`.
    """
    if any(body.get(key) != value for key, value in place.items()):
        raise UsageProblem(f"the plan has changed since you opened it: its revision is now {place['revision']}")
    text = str(body.get("plan") or "")
    if len(text) > EDIT_BYTES_MAX:
        raise UsageProblem(f"the edited plan has more than {EDIT_BYTES_MAX:,} bytes")
    value = body_of(text)
    if not isinstance(value.get("steps"), list):
        raise UsageProblem("the message has no plan with steps")
    if found := check(value):
        raise UsageProblem(found[0].message)
    return value


def edit_fields(body: Mapping[str, Any], message: "Mailed") -> dict[str, Any]:
    """Return fields for the event of an edit: the time, the interface and the person."""
    person = make_storable(str(body.get("person") or ""))[:PERSON_MAX]
    return {"at": message.at, "mono": message.mono, "via": read_via(body.get("via")), "person": person}


def body_of(text: str) -> dict[str, Any]:
    """Return the body of a message as an object; empty if the body is unreadable."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):  # Deeply nested brackets raise `RecursionError`.
        return {}
    return body if isinstance(body, dict) else {}
