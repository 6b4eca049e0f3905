"""What people and webhooks are told about a record: ids, a title and codes. Pure; the same record, the same bytes."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import orjson

from actors.run.ending import RunFinished
from actors.run.parking import RunParked
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.reminders import first_follows, what_follows
from actors.values.format import stamp
from replan.relay.message_sender import About, OutgoingMessage
from replan.setup.people import Answering
from replan.setup.webhook import WebhookEntry, WebhookEvent
from replan.webhooks.answer_links import AnswerLink, signed_link
from replan.webhooks.chat_messages import ASKED, HAPPENED, Asking, buttons_of, slack_message, teams_message
from replan.webhooks.slack_buttons import PressedButton, answers_of, slack_question
from runtime.core.events import Record
from runtime.logs.redact import Redactor

TITLE_MAX = 200
"""The most characters of a run's title."""
OPENING = "/open"
"""The path of the page that links lead to."""
ANSWERING = "/answer/"
"""How the paths begin of the links that answer a question."""
SLACK = "/slack/actions"
"""The path that Slack sends to what is pressed."""


@dataclass(frozen=True, slots=True)
class Told:
    """What messages tell of one record."""

    event: WebhookEvent
    """What has happened."""
    data: Mapping[str, Any]
    """The codes and ids of it, by the names that they have in a webhook's message."""
    asking: Asking | None = None
    """Why people are told of a question; None for what is no question."""
    people_only: bool = False
    """Whether no program may answer the question."""
    asked_people: tuple[str, ...] = ()
    """The names of those who are asked by now; empty for everybody who may answer."""
    follows: str = ""
    """What happens without an answer, in sentences; empty for a question without reminders."""
    request: ClarificationRequested | None = None
    """The question; None where the event does not have it, as a reminder."""

    @property
    def sentence(self) -> str:
        """What has happened, in one sentence without its full stop."""
        return HAPPENED[self.event] if self.asking is None else ASKED[self.asking]


def told_of(event: Any, run: str, at: float) -> Told | None:
    """Return what messages say about an event of a run; None for an event that no message is about.

    `at` is the time of its record, in UTC seconds since 1970.
    """
    match event:
        case ClarificationRequested():
            told = Told(
                "waiting", {"question": f"{run}/{event.question_id}"}, "asked", event.people_only, request=event
            )
            if event.reminders is None:
                return told
            return _with_reminders(told, event.reminders.people_after(0), first_follows(event.reminders, at))
        case ClarificationReminded() | ClarificationEscalated():
            asking: Asking = "escalation" if isinstance(event, ClarificationEscalated) else "reminder"
            told = Told("waiting", {"question": f"{run}/{event.question_id}"}, asking, event.for_people)
            follows = what_follows(event.next_at, event.next_ask, event.until, event.ending)
            return _with_reminders(told, event.asked, follows)
        case RunParked(handover=False):
            return Told("parked", {"cause": str(event.cause)})
        case RunFinished():
            return Told("finished", {"outcome": str(event.outcome)})
        case _:
            return None


def _with_reminders(told: Told, asked: tuple[str, ...], follows: str) -> Told:
    """Return what is told of a question with reminders: also who is asked, and what happens without an answer."""
    people = {"asked_people": list(asked)} if asked else {}
    data = {**told.data, "asking": told.asking, **people, "follows": follows}
    return replace(told, data=data, asked_people=asked, follows=follows)


def message_id(run: str, seq: int) -> str:
    """Return the id of the message about a record."""
    return "msg_" + hashlib.sha256(f"replan webhook\n{run}\n{seq}".encode()).hexdigest()[:32]


def until_of(answering: Answering, at: float) -> int:
    """Return when the links end of a message that was made at a time, in UTC seconds since 1970."""
    return int(at + answering.links.hours * 3600)


def answer_address(answering: Answering, page: str, link: AnswerLink) -> str:
    """Return the address of the page on which a link answers; `page` is the server's, as people reach it."""
    return f"{page.rstrip('/')}{ANSWERING}{signed_link(answering, link)}"


@dataclass(frozen=True, slots=True)
class Addressees:
    """Who reads the messages of a webhook, and is sent links that answer questions."""

    webhook: str = ""
    """The name of the webhook."""
    answering: Answering | None = None
    """The people of the settings; None where nobody is sent links."""

    def reads(self, told: Told) -> bool:
        """Tell whether the webhook is told of a question: one whose people are not asked is not."""
        if self.answering is None or not told.asked_people:
            return True
        readers = {name for name, person in self.answering.people.items() if self.webhook in person.webhooks}
        return not readers or not readers.isdisjoint(told.asked_people)

    def links(
        self, page: str, question: str, *, people_only: bool, at: float, asked: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the links to a question of which is told at a time, by person: of those who may answer it.

        `asked` are the names of those who are asked by now, empty for everybody.
        """
        if self.answering is None:
            return {}
        until = until_of(self.answering, at)
        return {
            name: answer_address(self.answering, page, AnswerLink(name, question, until))
            for name, person in self.answering.people.items()
            if self.webhook in person.webhooks
            and person.may_answer(people_only=people_only)
            and (not asked or name in asked)
        }


NOBODY = Addressees()


def shown_title(about: About, redactor: Redactor) -> str:
    """Return the title of a run as messages show it: without secrets, and not longer than `TITLE_MAX`."""
    return redactor.text(about.title)[:TITLE_MAX]


def _body(entry: WebhookEntry, told: Told, title: str, data: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return what is posted, in the format of the webhook."""
    buttons = buttons_of(data.get("link"), data.get("answer_links", {}))
    match entry.format:
        case "replan":
            return {"type": f"run.{told.event}", "timestamp": at, "data": data}
        case "slack":
            return slack_message(told.sentence, title, buttons, told.follows)
        case "teams":
            return teams_message(told.sentence, title, buttons, told.follows)
        case _:
            assert_never(entry.format)


def _with_buttons(
    message: Mapping[str, Any], answering: Answering, told: Told, button: PressedButton, redactor: Redactor
) -> dict[str, Any]:
    """Return a message of Slack about a question with buttons that send what is pressed to Replan.

    The question is shown without secrets. Where an answer has one, no answer has a button, since an answer that is
    changed is another answer.
    """
    request, answers = told.request, answers_of(told.request)
    if any(redactor.text(answer) != answer for answer in answers):
        answers = ()
    if request is not None:
        shown = {"text": redactor.text(request.text), "shown": redactor.text(request.shown)}
        request = request.model_copy(update=shown)
    return slack_question(message, answering, button, request, answers)


def message_about(
    record: Record[Any], about: About, entry: WebhookEntry, redactor: Redactor, addressees: Addressees = NOBODY
) -> OutgoingMessage | None:
    """Return the message about a record; None for a record that this webhook is not told about."""
    told = told_of(record.event, about.run, record.at)
    if told is None or told.event not in entry.events or not addressees.reads(told):
        return None
    title = shown_title(about, redactor)
    data: dict[str, Any] = {"run_id": about.run, "title": title, "kind": about.kind, "seq": record.seq, **told.data}
    if entry.page is not None:
        page = entry.page.rstrip("/")
        data["link"] = page + OPENING
        if told.asking is not None:
            links = addressees.links(
                page, told.data["question"], people_only=told.people_only, at=record.at, asked=told.asked_people
            )
            data |= {"answer_links": links} if links else {}
    body = _body(entry, told, title, data, stamp(record.at))
    answering = addressees.answering
    if entry.buttons and entry.page is not None and told.asking is not None and answering is not None:
        button = PressedButton(addressees.webhook, told.data["question"], until_of(answering, record.at))
        links = {"Open Replan": entry.page.rstrip("/") + OPENING}
        message = slack_message(told.sentence, title, links, told.follows)
        body = _with_buttons(message, answering, told, button, redactor)
    return OutgoingMessage(message_id(about.run, record.seq), record.seq, record.at, orjson.dumps(body))


def without_closed(records: Sequence[Record[Any]]) -> list[Record[Any]]:
    """Return records without the steps of reminders of questions that later ones of them close: nobody needs these."""
    closed: set[str] = set()
    kept: list[Record[Any]] = []
    for record in reversed(records):
        match record.event:
            case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
                closed.add(record.event.question_id)
            case ClarificationReminded() | ClarificationEscalated() if record.event.question_id in closed:
                continue
            case _:
                pass
        kept.append(record)
    return kept[::-1]
