"""Questions to people: their events, the table of their status changes, and when they expire. Pure.

A question gets a new id each time it is asked. A question is open while its status is `asked`. Each later status comes
from an event. After a question is declined, expired or withdrawn, the run goes on without an answer. A late answer to
an expired or withdrawn question is recorded, and later prompts show the answer.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from actors.run.ids import expiry_id, step_of
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded, ReminderEvent, Reminders
from actors.run.waits import TimedEvent, WaitRequested, Waits
from actors.values.answers import choice
from actors.values.artifacts import Clarified
from actors.values.question_form import AskedForm, make_form
from runtime.core.events import Event, Value
from runtime.core.ledger import Amount, Limit
from runtime.core.machine import Work

SUCCEEDED = "it ran and succeeded"
FAILED = "it ran and failed"
NOT_RUN = "it did not run"
OUTCOME_SCHEMA = choice([SUCCEEDED, FAILED, NOT_RUN])


def outcome_question(tool: str, step: str, *, lives: bool = False, forked: bool = False) -> AskedForm:
    """Return the question about the outcome of a call that was interrupted.

    `lives` says whether the call may still be running.

    `forked` says whether the run that this run was forked from has made the call.
    """
    where = " The call may still be running where it was started; end it there first." if lives else ""
    name = f"the tool '{tool}'" if tool else "the tool"
    text = f"What became of the call of {name} for {step}?"
    subject = f"The call was interrupted, and may have done its work; the step waits for the answer.{where}"
    after_failure, after_no_run = "The step goes on as after a failure.", "The tool is called again."
    if forked:
        text = f"Should the call of {name} for {step} be made again, or did it succeed or fail?"
        subject = (
            "The run that this run was forked from has made this call, and a fork does not undo it."
            " The step waits for the answer."
        )
        after_failure = "The step goes on as after a failure; the tool is not called again."
        after_no_run = "The tool is called, although the other run has called it too."
    return make_form(
        text,
        about=subject,
        otherwise="the outcome counts as unknown, and the call is not repeated automatically.",
        choices={
            SUCCEEDED: "The step goes on as after a success; the tool is not called again.",
            FAILED: after_failure,
            NOT_RUN: after_no_run,
        },
        priority="high",
    )


Via = Literal["", "cli", "web", "api", "mcp", "python", "ask", "link"]
"""The interface by which an answer was given; empty if it is unknown.

The interfaces are the command line, the web page, HTTP, MCP, `replan.answer`, the `ask` function of a Python program,
and a person's signed link.
"""
VIAS: tuple[Via, ...] = get_args(Via)


def read_via(value: object) -> Via:
    """Return the interface with the given name; empty for a name that is not in `VIAS`."""
    return next((via for via in VIAS if via == value), "")


StoredVia = Annotated[Via, BeforeValidator(read_via)]
"""The interface of an answer in a stored event. The name of an interface that no longer exists is read as empty."""
NAMED: tuple[Via, ...] = ("link",)
"""The interfaces that always name the person who answers, because only named people get links."""
PEOPLE: tuple[Via, ...] = ("cli", "web", "ask", *NAMED)
"""The interfaces by which only people can answer. Programs may use all other interfaces."""
WAYS: Mapping[Via, str] = {
    "": "",
    "cli": " on the command line",
    "web": " on the web page",
    "api": " over HTTP",
    "mcp": " over MCP",
    "python": " from Python",
    "ask": " in a Python program",
    "link": " through a link",
}
"""For each interface, the words that follow `answered` in a sentence about an answer, such as `on the web page`."""
USER = "user"
"""The address of the user, to whom questions are sent. A run whose only open work is questions needs no process."""


STOP = "stop"
GO_ON = "go on"
OTHER_MODEL = "model:"
"""The first characters of an answer that chooses another model when a run has reached a limit. The rest of the answer
is the model's name."""
MODEL_CHOICE = f"{OTHER_MODEL} NAME"


class LimitReached(Value):
    """The limit that a question is about, and the amounts that the question's answers add to the limit."""

    limit: Limit | None
    """The limit of the run that forbids its next request; None for the daily budget of a home or a tenant."""
    more: Mapping[str, int] = Field(default_factory=dict, exclude_if=operator.not_)
    """The amount that each answer adds, in calls, tokens, micro-dollars or seconds, ascending. Empty for a daily
    budget.
    """
    needs: Amount | None = Field(default=None, exclude_if=lambda needs: needs is None)
    """The largest cost of the next request, for a daily budget; None for a limit of the run."""


class ClarificationRequested(AskedForm, Event):
    """A person was asked a question. The event has the texts that people see."""

    added_fields: ClassVar[tuple[str, ...]] = ("for_people", "priority", "reminders", "reached")
    kind: Literal["clarification_requested"] = "clarification_requested"
    question_id: str
    """The id of the question."""
    node: str
    """The subject of the question, as a name that the kind of agent defines."""
    why: str
    """The guard or step that asks, and the rule that leads to the question."""
    blocks: tuple[str, ...]
    """The parts of the run that wait for the answer."""
    review: bool = False
    """Whether the question asks a person to approve or reject the node's artifact."""
    for_people: bool = False
    """Whether no program may answer the question; see `people_only`."""
    reminders: Reminders | None = None
    """Who is asked first, and the reminders while nobody answers; None without reminders."""
    reached: LimitReached | None = None
    """The reached limit, if the question is how to go on at this limit; None for any other question."""

    @property
    def of_run_limit(self) -> bool:
        """Whether the question is how to go on at a limit of the run. The run asks it instead of ending."""
        return self.reached is not None and self.reached.limit is not None

    @property
    def step(self) -> str:
        """The step that asks the question. After the answer, the run continues at this step."""
        return step_of(self.node)

    @property
    def people_only(self) -> bool:
        """Whether no program may answer: an approval, a review, or a question about the outcome of a tool's call."""
        return self.for_people or self.review or self.answer_schema == OUTCOME_SCHEMA


class ClarificationAnswered(TimedEvent):
    """The user answered a question. The answer fits the question's schema."""

    texts: ClassVar[tuple[str, ...]] = ("answer",)
    added_fields: ClassVar[tuple[str, ...]] = ("via", "person", "change")
    kind: Literal["clarification_answered"] = "clarification_answered"
    question_id: str
    """The id of the question."""
    answer: str
    """The answer, normalized by the question's schema."""
    via: StoredVia = ""
    """The interface by which the answer came."""
    person: str = ""
    """The name of the person, if the answer came through their link or account; else empty."""
    change: Mapping[str, Any] = Field(default_factory=dict, exclude_if=operator.not_)
    """The settings of the model that the answer names, as in a message that changes settings; else empty."""

    @property
    def precedes_takeover(self) -> bool:
        """Whether this event answers a question at a limit.

        If so, the answer is recorded before the takeover, which may end the run's wait.
        """
        return self.answer in (GO_ON, STOP) or bool(self.change)


class ClarificationDeclined(TimedEvent):
    """The user declined a question. The question's `otherwise` says what happens next."""

    added_fields: ClassVar[tuple[str, ...]] = ("via", "person")
    kind: Literal["clarification_declined"] = "clarification_declined"
    question_id: str
    """The id of the question."""
    via: StoredVia = ""
    """The interface by which the decline came."""
    person: str = ""
    """The name of the person, if the decline came through their link or account; else empty."""


class ClarificationWithdrawn(Event):
    """A question was withdrawn, because its step is redone or its limit has changed."""

    kind: Literal["clarification_withdrawn"] = "clarification_withdrawn"
    question_id: str
    """The id of the question."""


class ClarificationExpired(Event):
    """Nobody answered a question before it expired. The question's `otherwise` says what happens next."""

    kind: Literal["clarification_expired"] = "clarification_expired"
    question_id: str
    """The id of the question."""


ClosingEvent = ClarificationAnswered | ClarificationDeclined | ClarificationWithdrawn | ClarificationExpired
AboutQuestion = ClarificationRequested | ClosingEvent | ClarificationReminded | ClarificationEscalated


class Status(StrEnum):
    """The status of a question. `MOVES` has the possible changes."""

    ASKED = "asked"
    ANSWERED = "answered"
    DECLINED = "declined"  # a person will not answer
    WITHDRAWN = "withdrawn"  # nobody needs the answer any more
    EXPIRED = "expired"  # nobody answered in time


MOVES: Mapping[tuple[Status, str], Status] = {
    (Status.ASKED, "clarification_answered"): Status.ANSWERED,
    (Status.ASKED, "clarification_declined"): Status.DECLINED,
    (Status.ASKED, "clarification_withdrawn"): Status.WITHDRAWN,
    (Status.ASKED, "clarification_expired"): Status.EXPIRED,
    (Status.ASKED, "run_finished"): Status.WITHDRAWN,
    (Status.WITHDRAWN, "clarification_answered"): Status.ANSWERED,
    (Status.EXPIRED, "clarification_answered"): Status.ANSWERED,
}
"""The new status of a question, by its status before and the kind of event. Combinations that are not listed are
refused."""

_UNANSWERED = {Status.DECLINED: "declined", Status.EXPIRED: "expired"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its status and its answer, if there is an answer."""

    request: ClarificationRequested
    at: float
    """The time when the question was asked, in UTC seconds since 1970."""
    status: Status = Status.ASKED
    answer: str = ""
    """The answer, normalized by the question's schema; empty if there is no answer."""
    place: int = 0
    """The number of the answer or decline among all messages of people to the run, from 1; 0 before an answer or
    decline.
    """
    via: Via = ""
    person: str = ""
    steps_done: int = 0
    change: Mapping[str, Any] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether the question waits for a person."""
        return self.status is Status.ASKED

    @property
    def counts(self) -> bool:
        """Whether the question is about the task.

        If so, prompts show its answer, and it counts against the limit of questions.
        """
        return not self.request.review and self.request.reached is None

    @property
    def asked_people(self) -> tuple[str, ...]:
        """The names of the people who have been asked so far; empty if everybody who may answer is asked."""
        return () if self.request.reminders is None else self.request.reminders.people_after(self.steps_done)

    def asks(self, person: str) -> bool:
        """Return whether a person has been asked so far."""
        return not self.asked_people or person in self.asked_people

    def can_take(self, kind: str) -> bool:
        """Return whether an event of a kind may change the question's status.

        The status of a closed review, or of a closed question at a limit, cannot change.
        """
        stays_closed = self.request.review or self.request.reached is not None
        return (self.status, kind) in MOVES and (self.open or not stays_closed)

    def move(self, event: Event, place: int = 0) -> "Question":
        """Return the question after an event that changes its status.

        `place` is the number of a person's answer among all messages.
        """
        answer = event.answer if isinstance(event, ClarificationAnswered) else self.answer
        moved = replace(self, status=MOVES[self.status, event.kind], answer=answer)
        if isinstance(event, ClarificationAnswered | ClarificationDeclined):
            change = event.change if isinstance(event, ClarificationAnswered) else {}
            return replace(moved, place=place, via=event.via, person=event.person, change=change)
        return moved


Questions = Mapping[str, Question]
"""All questions of a run by id, in the order in which they were asked. Closed questions are included."""


def close_question(questions: Questions, event: ClosingEvent, place: int) -> Questions:
    """Return the questions after one question was closed, or was answered late."""
    return {**questions, event.question_id: questions[event.question_id].move(event, place)}


def record_reminder(questions: Questions, event: ReminderEvent) -> Questions:
    """Return the questions after reminder steps of one question were done."""
    question = replace(questions[event.question_id], steps_done=event.steps_done)
    return {**questions, event.question_id: question}


def end_questions(questions: Questions, event: Event) -> Questions:
    """Return the questions after the run's end. Open questions are closed, because nobody needs their answers."""
    return {name: question.move(event) if question.open else question for name, question in questions.items()}


def new_id(questions: Questions) -> str:
    """Return the id of the next question."""
    return f"q{len(questions) + 1}"


def open_requests(questions: Questions) -> dict[str, ClarificationRequested]:
    """Return the requests of the open questions by id, in the order in which they were asked."""
    return {name: question.request for name, question in questions.items() if question.open}


def questions_for_prompts(questions: Questions) -> tuple[Clarified, ...]:
    """Return the questions that prompts show: the answered, declined and expired questions."""
    return tuple(
        Clarified(question.request.whole, question.answer, question.request.node, _UNANSWERED.get(question.status, ""))
        for question in questions.values()
        if question.counts and question.status not in (Status.ASKED, Status.WITHDRAWN)
    )


def expire(
    questions: Questions, waits: Waits, now: float, seconds: float | None
) -> ClarificationExpired | WaitRequested | None:
    """Return the expiry of a question that was open too long, or a request to wait for the next expiry.

    `seconds` is the longest time for which a question may be open; None means no limit.
    """
    if seconds is None:
        return None
    for name, question in questions.items():
        if question.open:
            until = question.at + seconds
            if now >= until:
                return ClarificationExpired(question_id=name)
            if expiry_id(name) not in waits:
                return WaitRequested(request_id=expiry_id(name), until=until, why=f"{name} expires")
    return None


def work_of(questions: Questions) -> dict[str, Work]:
    """Return the open questions as work for the user."""
    return {name: Work(name, USER, request, repeatable=True) for name, request in open_requests(questions).items()}
