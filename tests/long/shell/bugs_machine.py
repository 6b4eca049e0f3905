"""Planted bugs of the planning machine: variants of it. See `planted_bugs.BUGS`."""

import json
from dataclasses import replace

from actors.planning.events import ArtifactProduced, JudgementRequested, RequestReissued, Revised
from actors.planning.machine import PlanningMachine
from actors.run.calls import Generated, Settled
from actors.run.inbox import MailRefused
from actors.run.parking import RunResumed
from actors.run.questions import ClarificationAnswered, ClarificationRequested
from actors.run.waits import WaitRequested


def with_run(state, **fields):
    """Return the state with changed fields of the common run."""
    return replace(state, run=replace(state.run, **fields))


class ReusesRequestIds(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        if not isinstance(event, RequestReissued):
            return event
        number = event.again.try_number - 1
        return event.model_copy(update={"again": event.again.model_copy(update={"try_number": number})})


class TrustsOldRequests(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        if isinstance(event, RunResumed):  # As if the new driver had sent the requests of an earlier one.
            opened = {name: call._replace(epoch=event.epoch) for name, call in after.run.calls.open.items()}
            return with_run(after, calls=replace(after.run.calls, open=opened))
        return after


class ReusesQuestionIds(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        if isinstance(event, ClarificationRequested):
            return event.model_copy(update={"question_id": "q1"})
        return event


class AcceptsRepliesOfOlderRevisions(PlanningMachine):
    """Keeps every request, so that the reply to a withdrawn request becomes an artifact."""

    def __init__(self):
        self.seen = {}

    def evolve(self, state, event):
        self.seen |= state.run.calls.open
        return super().evolve(state, event)

    def accept(self, state, message):
        withdrawn = isinstance(message, Generated) and message.request_id in state.run.ledger.forfeited
        if withdrawn and message.request_id in self.seen:
            opened = {**state.run.calls.open, message.request_id: self.seen[message.request_id]}
            forfeited = {
                name: amount for name, amount in state.run.ledger.forfeited.items() if name != message.request_id
            }
            calls, ledger = replace(state.run.calls, open=opened), replace(state.run.ledger, forfeited=forfeited)
            state = with_run(state, calls=calls, ledger=ledger)
        return super().accept(state, message)


class DropsLateReplies(PlanningMachine):
    def accept(self, state, message):
        event = super().accept(state, message)
        return None if isinstance(event, Settled) else event


class NeverReissues(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        return None if isinstance(event, RequestReissued) else event


class NeverJudges(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        return None if isinstance(event, JudgementRequested) else event


class StaysParked(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        return with_run(after, parked=state.run.parked) if isinstance(event, RunResumed) else after


class DropsQuestionsAtResume(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        return with_run(after, questions={}) if isinstance(event, RunResumed) else after


class KeepsWithdrawnWorkOpen(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        if isinstance(event, Revised):
            return with_run(after, calls=state.run.calls, ledger=state.run.ledger)
        return after


class AnswersChangeNothing(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        branches = tuple(replace(branch, to_revise=None) for branch in after.branches)
        return replace(after, branches=branches) if isinstance(event, ClarificationAnswered) else after


class LosesTheCancel(PlanningMachine):
    def accept(self, state, message):
        if json.dumps({"kind": "cancel"}) == getattr(message, "body", ""):
            return None
        return super().accept(state, message)


class RefusesMessagesWithoutARecord(PlanningMachine):
    def accept(self, state, message):
        event = super().accept(state, message)
        return None if isinstance(event, MailRefused) else event


class ShortensAnswers(PlanningMachine):
    def accept(self, state, message):
        event = super().accept(state, message)
        if isinstance(event, ClarificationAnswered):
            return event.model_copy(update={"answer": event.answer[:3]})
        return event


class ShortensReplies(PlanningMachine):
    def accept(self, state, message):
        event = super().accept(state, message)
        if isinstance(event, ArtifactProduced):
            return event.model_copy(update={"content": event.content[:-1]})
        return event


class HidesQuestions(PlanningMachine):
    def summary(self, state):
        summary = super().summary(state)
        return replace(summary, status="running", detail="") if summary.status == "waiting" else summary


class ForgetsToWake(PlanningMachine):
    def summary(self, state):
        return replace(super().summary(state), next_wake=None)


class LeavesAnswersOut(PlanningMachine):
    def brief(self, state, work):
        unanswered = {name: question for name, question in state.run.questions.items() if question.open}
        return super().brief(with_run(state, questions=unanswered), work)


class WaitsForNothing(PlanningMachine):
    def advance(self, state):
        event = super().advance(state)
        if isinstance(event, WaitRequested) and event.request_id != "deadline":
            return event.model_copy(update={"until": event.until + 1e9})
        return event


class IgnoresTheDeadline(PlanningMachine):
    def advance(self, state):
        limits = state.run.ledger.limits
        if limits.deadline is not None:
            ledger = replace(state.run.ledger, limits=limits.model_copy(update={"deadline": None}))
            state = with_run(state, ledger=ledger)
        return super().advance(state)


class CountsByTheWallClock(PlanningMachine):
    def accept(self, state, message):
        event = super().accept(state, message)
        return event if getattr(event, "mono", None) is None else event.model_copy(update={"mono": None})


class CountsTheTimeBetweenDrivers(PlanningMachine):
    def evolve(self, state, event):
        after = super().evolve(state, event)
        if isinstance(event, RunResumed) and state.working:
            return with_run(after, ledger=after.run.ledger.add_work(max(0.0, event.at - state.run.now)))
        return after
