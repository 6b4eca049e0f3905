"""Decides when people are reminded of a question, and who is asked next. Reads only the state. Pure.

The steps and their times are recorded with the question. When a step is due, an event is recorded, and people get a
message. If several steps are due, for example after a time without a driver, they become one event, so people get one
message.
"""

from collections.abc import Sequence
from typing import Any

from actors.run.ids import expiry_id, reminder_id
from actors.run.questions import ClarificationRequested, Question
from actors.run.reminder_events import (
    ClarificationEscalated,
    ClarificationReminded,
    Ending,
    ReminderEvent,
    ReminderRule,
    Reminders,
    ReminderStep,
)
from actors.run.state import RunState
from actors.run.waits import WaitRequested
from actors.values.format import stamp


def add_reminders(
    event: ClarificationRequested, run: RunState[Any], expires_seconds: float | None
) -> ClarificationRequested:
    """Return a question with the reminders of the run's first rule that applies to it.

    If no rule applies, the question is returned unchanged.
    """
    rule = next((rule for rule in run.reminders if _is_for(rule, event)), None)
    if rule is None:
        return event
    expiry = None if expires_seconds is None else run.now + expires_seconds
    until, ending = _first_ending(run.ledger.ends_at, expiry)
    reminders = Reminders(ask=rule.ask, steps=rule.steps, until=until, ending=ending)
    return event.model_copy(update={"reminders": reminders})


def _is_for(rule: ReminderRule, event: ClarificationRequested) -> bool:
    return rule.questions == "all" or (rule.questions == "approvals") == event.people_only


def _first_ending(deadline: float | None, expiry: float | None) -> tuple[float | None, Ending]:
    if expiry is not None and (deadline is None or expiry <= deadline):
        return expiry, "expiry"
    return deadline, "" if deadline is None else "deadline"


def remind(run: RunState[Any]) -> ReminderEvent | WaitRequested | None:
    """Remind people of a question or ask further people if a step is due. Otherwise, request a wait for the next step.

    A step is done only after its wait has ended. So an answer that was sent before the step was due is accepted first.
    """
    for name, question in run.questions.items():
        reminders = question.request.reminders
        if not question.open or reminders is None or reminder_id(name) in run.waits:
            continue
        rest = reminders.steps[question.steps_done :]
        if not rest:
            continue
        due = [step for step in rest if question.at + step.after_seconds <= run.now]
        if not due:
            until = question.at + rest[0].after_seconds
            return WaitRequested(request_id=reminder_id(name), until=until, why=f"{name} is not answered yet")
        return _event(run, name, question, due)
    return None


def _event(run: RunState[Any], name: str, question: Question, due: Sequence[ReminderStep]) -> ReminderEvent:
    reminders = question.request.reminders
    assert reminders is not None
    done = question.steps_done + len(due)
    added = tuple([person for step in due for person in step.ask])
    later = reminders.steps[done:]
    expiry = run.waits.get(expiry_id(name))
    until, ending = _first_ending(run.ledger.ends_at, None if expiry is None else expiry.until)
    fields: dict[str, Any] = {
        "question_id": name,
        "steps_done": done,
        "asked": reminders.people_after(done),
        "for_people": question.request.people_only,
        "next_at": question.at + later[0].after_seconds if later else None,
        "next_ask": later[0].ask if later else (),
        "until": until,
        "ending": ending,
    }
    return ClarificationEscalated(added=added, **fields) if added else ClarificationReminded(**fields)


def steps_left(question: Question) -> list[tuple[float, tuple[str, ...]]]:
    """Return the remaining steps: when each step is due (UTC seconds), and whom it asks."""
    steps = () if question.request.reminders is None else question.request.reminders.steps
    return [(question.at + step.after_seconds, step.ask) for step in steps[question.steps_done :]]


def describe_reminders(next_at: float | None, next_ask: Sequence[str], until: float | None, ending: Ending) -> str:
    """Return sentences about what happens without an answer: the next step, and the end of the question."""
    parts = []
    if next_at is not None and (until is None or next_at < until):
        parts.append(f"If nobody answers by {stamp(next_at)}, {step_text(next_ask)}.")
    if until is not None and ending == "expiry":
        parts.append(
            f"If nobody answers, the question expires at {stamp(until)}; its page says what the run does then."
        )
    elif until is not None:
        parts.append(f"If nobody answers, the run ends at its deadline, {stamp(until)}.")
    elif not parts:
        parts.append("Nobody else is asked: the run waits until somebody answers.")
    return " ".join(parts)


def step_text(ask: Sequence[str]) -> str:
    """Return a clause about one step of the reminders."""
    if not ask:
        return "a reminder is sent"
    names = " and ".join([", ".join(ask[:-1]), ask[-1]] if len(ask) > 1 else ask)
    return f"{names} {'are' if len(ask) > 1 else 'is'} asked"


def reminders_at_start(reminders: Reminders, asked_at: float) -> str:
    """Return sentences about what happens if nobody answers a question that is asked at `asked_at`."""
    step: ReminderStep | None = next(iter(reminders.steps), None)
    at = None if step is None else asked_at + step.after_seconds
    return describe_reminders(at, () if step is None else step.ask, reminders.until, reminders.ending)
