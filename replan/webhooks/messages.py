"""What a webhook is told about a record: ids, a title and codes. Pure; the same record gives the same bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import orjson

from actors.run.ending import RunFinished
from actors.run.parking import RunParked
from actors.run.questions import ClarificationRequested
from actors.values.format import stamp
from replan.setup.people import Answering
from replan.setup.webhook import WebhookEntry, WebhookEvent
from replan.webhooks.answer_links import AnswerLink, signed_link
from replan.webhooks.chat_messages import buttons_of, slack_message, teams_message
from runtime.core.events import Record
from runtime.logs.redact import Redactor

TITLE_MAX = 200
"""The most characters of a run's title."""
OPENING = "/open"
"""The path of the page that links lead to."""
ANSWERING = "/answer/"
"""How the paths begin of the links that answer a question."""


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A message about one record."""

    id: str
    """Its id, made of the run's id and the record's number: a repetition has the same one."""
    seq: int
    """The number of the record."""
    at: float
    """When the record was appended (UTC seconds since 1970)."""
    body: bytes
    """The JSON that is posted."""


@dataclass(frozen=True, slots=True)
class About:
    """What messages say about a run."""

    run: str
    """Its id."""
    title: str
    """Its title in lists."""
    kind: str
    """The name of its kind."""


def message_id(run: str, seq: int) -> str:
    """Return the id of the message about a record."""
    return "msg_" + hashlib.sha256(f"replan webhook\n{run}\n{seq}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Addressees:
    """Who reads the messages of a webhook, and is sent links that answer questions."""

    webhook: str = ""
    """The name of the webhook."""
    answering: Answering | None = None
    """The people of the settings; None where nobody is sent links."""

    def links(self, page: str, question: str, *, people_only: bool, at: float) -> dict[str, str]:
        """Return the links to a question that was asked at a time, by person: of those who may answer it."""
        if self.answering is None:
            return {}
        until = int(at + self.answering.links.hours * 3600)
        return {
            name: f"{page}{ANSWERING}{signed_link(self.answering, AnswerLink(name, question, until))}"
            for name, person in self.answering.people.items()
            if self.webhook in person.webhooks and person.may_answer(people_only=people_only)
        }


NOBODY = Addressees()


def _body(entry: WebhookEntry, told: WebhookEvent, title: str, data: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return what is posted, in the format of the webhook."""
    buttons = buttons_of(data.get("link"), data.get("answer_links", {}))
    match entry.format:
        case "replan":
            return {"type": f"run.{told}", "timestamp": at, "data": data}
        case "slack":
            return slack_message(told, title, buttons)
        case "teams":
            return teams_message(told, title, buttons)
        case _:
            assert_never(entry.format)


def message_about(
    record: Record[Any], about: About, entry: WebhookEntry, redactor: Redactor, addressees: Addressees = NOBODY
) -> WebhookMessage | None:
    """Return the message about a record; None for a record that this webhook is not told about."""
    links: Mapping[str, str] = {}
    event = record.event
    told: WebhookEvent
    match event:
        case ClarificationRequested():
            told, more = "waiting", {"question": f"{about.run}/{event.question_id}"}
            if entry.page is not None:
                page = entry.page.rstrip("/")
                links = addressees.links(page, more["question"], people_only=event.people_only, at=record.at)
        case RunParked(handover=False):
            told, more = "parked", {"cause": str(event.cause)}
        case RunFinished():
            told, more = "finished", {"outcome": str(event.outcome)}
        case _:
            return None
    if told not in entry.events:
        return None
    title = redactor.text(about.title)[:TITLE_MAX]
    data: Mapping[str, Any] = {"run_id": about.run, "title": title, "kind": about.kind, "seq": record.seq, **more}
    if entry.page is not None:
        data = {**data, "link": entry.page.rstrip("/") + OPENING}
    if links:
        data = {**data, "answer_links": links}
    body = _body(entry, told, title, data, stamp(record.at))
    return WebhookMessage(message_id(about.run, record.seq), record.seq, record.at, orjson.dumps(body))
