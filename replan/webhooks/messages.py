"""What a webhook is told about a record: ids, a title and codes. Pure; the same record gives the same bytes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from actors.run.ending import RunFinished
from actors.run.parking import RunParked
from actors.run.questions import ClarificationRequested
from actors.values.format import stamp
from replan.setup.webhook import WebhookEntry, WebhookEvent
from runtime.core.events import Record
from runtime.logs.redact import Redactor

TITLE_MAX = 200
"""The most characters of a run's title."""
OPENING = "/open"
"""The path of the page that links lead to."""


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


def message_about(record: Record[Any], about: About, entry: WebhookEntry, redactor: Redactor) -> WebhookMessage | None:
    """Return the message about a record; None for a record that this webhook is not told about."""
    event = record.event
    told: WebhookEvent
    match event:
        case ClarificationRequested():
            told, more = "waiting", {"question": f"{about.run}/{event.question_id}"}
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
    body = {"type": f"run.{told}", "timestamp": stamp(record.at), "data": data}
    return WebhookMessage(message_id(about.run, record.seq), record.seq, record.at, orjson.dumps(body))
