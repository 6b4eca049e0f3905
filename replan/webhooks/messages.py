"""Makes the messages of webhooks about records of runs. Pure: the same record gives the same bytes.

They have ids, the run's title and codes; with buttons in Slack they also have the question.
"""

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
from replan.webhooks.chat_messages import (
    ASKED,
    HAPPENED,
    Asking,
    buttons_of,
    slack_link_buttons,
    slack_message,
    teams_message,
)
from replan.webhooks.slack_buttons import AnswerButton, answer_buttons, answers_of, question_text
from runtime.core.events import Record
from runtime.logs.redact import Redactor

TITLE_MAX = 200
"""The most characters of a run's title."""
OPENING = "/open"
"""The path of the page that links lead to."""
ANSWERING = "/answer/"
"""The beginning of the paths of links that answer a question."""
SLACK = "/slack/actions"
"""The path to which Slack sends a request when somebody presses a button."""


@dataclass(frozen=True, slots=True)
class Notification:
    """The content of the messages about one record, for every channel."""

    event: WebhookEvent
    """What happened."""
    data: Mapping[str, Any]
    """Ids and codes, by their keys in a webhook's message."""
    asking: Asking | None = None
    """The reason for a message about a question; None where the record is not about a question."""
    people_only: bool = False
    """Whether no program may answer the question."""
    asked_people: tuple[str, ...] = ()
    """The names of the people who have been asked so far; empty where everybody who may answer is asked."""
    follows: str = ""
    """What happens without an answer, in sentences; empty for a question without reminders."""
    request: ClarificationRequested | None = None
    """The question; None for a reminder, whose event does not contain it."""

    @property
    def sentence(self) -> str:
        """What happened, as one sentence without its full stop."""
        return HAPPENED[self.event] if self.asking is None else ASKED[self.asking]


def notification_of(event: Any, run: str, at: float) -> Notification | None:
    """Return the content of the messages about an event of a run; None for an event without messages.

    `at` is the time of its record, in UTC seconds since 1970.
    """
    match event:
        case ClarificationRequested():
            question = {"question": f"{run}/{event.question_id}"}
            asked = Notification("waiting", question, "asked", event.people_only, request=event)
            if event.reminders is None:
                return asked
            return _with_reminders(asked, event.reminders.people_after(0), first_follows(event.reminders, at))
        case ClarificationReminded() | ClarificationEscalated():
            asking: Asking = "escalation" if isinstance(event, ClarificationEscalated) else "reminder"
            question = {"question": f"{run}/{event.question_id}"}
            follows = what_follows(event.next_at, event.next_ask, event.until, event.ending)
            return _with_reminders(Notification("waiting", question, asking, event.for_people), event.asked, follows)
        case RunParked(handover=False):
            return Notification("parked", {"cause": str(event.cause)})
        case RunFinished():
            return Notification("finished", {"outcome": str(event.outcome)})
        case _:
            return None


def _with_reminders(notification: Notification, asked: tuple[str, ...], follows: str) -> Notification:
    """Return the content with what a question with reminders adds: who is asked, and what happens without an answer."""
    people = {"asked_people": list(asked)} if asked else {}
    data = {**notification.data, "asking": notification.asking, **people, "follows": follows}
    return replace(notification, data=data, asked_people=asked, follows=follows)


def message_id(run: str, seq: int) -> str:
    """Return the id of the message about a record."""
    return "msg_" + hashlib.sha256(f"replan webhook\n{run}\n{seq}".encode()).hexdigest()[:32]


def link_expiry(answering: Answering, at: float) -> int:
    """Return when the links and buttons of a message expire; `at` is the time of its record.

    Both are in UTC seconds since 1970.
    """
    return int(at + answering.links.hours * 3600)


def answer_address(answering: Answering, page: str, link: AnswerLink) -> str:
    """Return the address of a signed link; `page` is the address at which people reach `replan serve`."""
    return f"{page.rstrip('/')}{ANSWERING}{signed_link(answering, link)}"


@dataclass(frozen=True, slots=True)
class Addressees:
    """The people who read the messages of a webhook, and get links that answer questions."""

    webhook: str = ""
    """The name of the webhook."""
    answering: Answering | None = None
    """The people of the settings, and the key that signs links; None where nobody gets links."""

    def are_told(self, notification: Notification) -> bool:
        """Tell whether the webhook gets a message: not where it has readers, and none of them has been asked so far."""
        if self.answering is None or not notification.asked_people:
            return True
        readers = {name for name, person in self.answering.people.items() if self.webhook in person.webhooks}
        return not readers or not readers.isdisjoint(notification.asked_people)

    def links(
        self, page: str, question: str, *, people_only: bool, at: float, asked: Collection[str] = ()
    ) -> dict[str, str]:
        """Return the links that answer a question, by the names of the readers who may answer it.

        `at` is the time of the message's record. `asked` has the names of the people who have been asked so far; it is
        empty where everybody is asked.
        """
        if self.answering is None:
            return {}
        until = link_expiry(self.answering, at)
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


def _body(entry: WebhookEntry, notification: Notification, data: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return what is posted, in the format of the webhook."""
    sentence, title = notification.sentence, data["title"]
    links = buttons_of(data.get("link"), data.get("answer_links", {}))
    match entry.format:
        case "replan":
            return {"type": f"run.{notification.event}", "timestamp": at, "data": data}
        case "slack":
            return slack_message(sentence, title, slack_link_buttons(links), [notification.follows])
        case "teams":
            return teams_message(sentence, title, links, notification.follows)
        case _:
            assert_never(entry.format)


def _question_with_buttons(
    request: ClarificationRequested | None, answering: Answering, page_button: AnswerButton, redactor: Redactor
) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a question without secrets, and the buttons in Slack that answer it.

    If an answer contains a secret, no answer has a button: without the secret, it would be another answer.
    """
    text, answers = "", answers_of(request)
    if any(redactor.text(answer) != answer for answer in answers):
        answers = ()
    if request is not None:
        text = question_text(redactor.text(request.text), redactor.text(request.shown))
    return text, answer_buttons(answering, page_button, answers)


def message_about(
    record: Record[Any], about: About, entry: WebhookEntry, redactor: Redactor, addressees: Addressees = NOBODY
) -> OutgoingMessage | None:
    """Return the message about a record; None where this webhook gets none."""
    found = notification_of(record.event, about.run, record.at)
    if found is None or found.event not in entry.events or not addressees.are_told(found):
        return None
    title, answering = shown_title(about, redactor), addressees.answering
    data: dict[str, Any] = {"run_id": about.run, "title": title, "kind": about.kind, "seq": record.seq, **found.data}
    if entry.page is not None:
        page = entry.page.rstrip("/")
        data["link"] = page + OPENING
        if found.asking is not None:
            links = addressees.links(
                page, found.data["question"], people_only=found.people_only, at=record.at, asked=found.asked_people
            )
            data |= {"answer_links": links} if links else {}
    if entry.buttons and found.asking is not None and answering is not None:
        button = AnswerButton(addressees.webhook, found.data["question"], link_expiry(answering, record.at))
        text, buttons = _question_with_buttons(found.request, answering, button, redactor)
        buttons += slack_link_buttons(buttons_of(data["link"], {}))
        body = slack_message(found.sentence, title, buttons, [text, found.follows])
    else:
        body = _body(entry, found, data, stamp(record.at))
    return OutgoingMessage(message_id(about.run, record.seq), record.seq, record.at, orjson.dumps(body))


def without_closed(records: Sequence[Record[Any]]) -> list[Record[Any]]:
    """Return records without the reminders of questions that a later one of the records closes."""
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
