"""Makes the messages of webhooks about records of runs. Pure: the same record gives the same bytes.

A message has ids, codes and the run's title, but no text of a question, a model or a tool.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from actors.run.ending import RunFinished
from actors.run.near_limit import LimitNear
from actors.run.parking import RunParked
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.reminders import describe_reminders, reminders_at_start
from actors.values.format import stamp
from replan_server.notifications import Answering, PersonEntry, ReceiverEntry, WebhookEvent
from replan_server.webhooks.answer_links import AnswerLink, sign_link
from runtime.core.events import Record
from runtime.logs.redact import Redactor

TITLE_MAX = 200
"""The largest number of characters of a run's title in a message."""
OPENING = "/open"
ANSWERING = "/answer/"

Asking = Literal["asked", "reminder", "escalation"]
"""Why a message about a question is sent: the question was asked, nobody has answered it yet, or more people are
asked."""


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message about one record."""

    id: str
    """The id of the message, made from the run's id and the record's number. A repeated message has the same id."""
    seq: int
    at: float
    """When the record was appended (UTC seconds since 1970)."""
    body: bytes
    """The content. If a message is repeated, the bytes are the same."""


@dataclass(frozen=True, slots=True)
class About:
    """The facts about a run that messages contain."""

    run: str
    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class Notification:
    """The content of the messages about one record, the same for every webhook."""

    event: WebhookEvent
    data: Mapping[str, Any]
    asking: Asking | None = None
    """The reason why the record leads to a message about a question; None if the record is not about a question."""
    people_only: bool = False
    """Whether no program may answer the question."""
    asked_people: tuple[str, ...] = ()
    """The names of the people who have been asked so far; empty if everybody who may answer is asked."""


def _notification_of(event: Any, run: str, at: float) -> Notification | None:
    """Return the content of the messages about an event of a run; None if the event has no messages.

    `at` is the time of the event's record, in UTC seconds since 1970.
    """
    match event:
        case ClarificationRequested():
            question = {"question": f"{run}/{event.question_id}"}
            first_notification = Notification("waiting", question, "asked", event.people_only)
            if event.reminders is None:
                return first_notification
            return _with_reminders(
                first_notification, event.reminders.people_after(0), reminders_at_start(event.reminders, at)
            )
        case ClarificationReminded() | ClarificationEscalated():
            asking: Asking = "escalation" if isinstance(event, ClarificationEscalated) else "reminder"
            question = {"question": f"{run}/{event.question_id}"}
            follows = describe_reminders(event.next_at, event.next_ask, event.until, event.ending)
            return _with_reminders(Notification("waiting", question, asking, event.for_people), event.asked, follows)
        case RunParked(handover=False):
            return Notification("parked", {"cause": str(event.cause)})
        case LimitNear():
            return Notification("limit_near", event.amounts)
        case RunFinished():
            return Notification("finished", {"outcome": str(event.outcome)})
        case _:
            return None


def _with_reminders(notification: Notification, asked: tuple[str, ...], follows: str) -> Notification:
    """Return the content with the reason, the people who have been asked, and what happens if nobody answers."""
    people = {"asked_people": list(asked)} if asked else {}
    data = {**notification.data, "asking": notification.asking, **people, "follows": follows}
    return replace(notification, data=data, asked_people=asked)


def message_id(run: str, seq: int) -> str:
    """Return the id of the message about a record."""
    return "msg_" + hashlib.sha256(f"replan webhook\n{run}\n{seq}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook or a sender in the settings, with the people who may get links in its messages."""

    name: str
    entry: ReceiverEntry
    answering: Answering | None = None
    """The people in the settings, and the secrets that sign links; None if nobody gets links."""

    @property
    def readers(self) -> Mapping[str, PersonEntry]:
        """The people who read the webhook's messages, by name."""
        people = {} if self.answering is None else self.answering.people
        return {name: person for name, person in people.items() if self.name in person.webhooks}

    def gets(self, notification: Notification) -> bool:
        """Return whether the webhook gets a message.

        If the webhook has readers and only certain people are asked, at least one of the readers must be asked.
        """
        if notification.event not in self.entry.events:
            return False
        readers, people = self.readers, notification.asked_people
        return not people or not readers or not readers.keys().isdisjoint(people)

    def links(self, page: str, notification: Notification, at: float) -> dict[str, str]:
        """Return the links that answer the question of a message, by the names of the readers who may answer it.

        `page` is the address of `replan serve` without a slash at its end. `at` is the time of the message's record, in
        UTC seconds since 1970.
        """
        if self.answering is None or notification.asking is None:
            return {}
        until, question = int(at + self.answering.links.hours * 3600), notification.data["question"]
        return {
            name: f"{page}{ANSWERING}{sign_link(self.answering, AnswerLink(name, question, until))}"
            for name, person in self.readers.items()
            if person.may_answer(people_only=notification.people_only)
            and (not notification.asked_people or name in notification.asked_people)
        }


def message_about(record: Record[Any], about: About, webhook: Webhook, redactor: Redactor) -> OutgoingMessage | None:
    """Return the message of a webhook about a record; None if the webhook gets no message."""
    found = _notification_of(record.event, about.run, record.at)
    if found is None or not webhook.gets(found):
        return None
    title = redactor.text(about.title)[:TITLE_MAX]
    data: dict[str, Any] = {"run_id": about.run, "title": title, "kind": about.kind, "seq": record.seq, **found.data}
    if webhook.entry.page is not None:
        page = webhook.entry.page.rstrip("/")
        links = webhook.links(page, found, record.at)
        data |= {"link": page + OPENING, **({"answer_links": links} if links else {})}
    body = orjson.dumps({"type": f"run.{found.event}", "timestamp": stamp(record.at), "data": data})
    return OutgoingMessage(message_id(about.run, record.seq), record.seq, record.at, body)


def without_closed(records: Sequence[Record[Any]]) -> list[Record[Any]]:
    """Return the records without reminders of questions that a later record in the list closes."""
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
