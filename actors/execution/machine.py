"""The machine of executions: the rules and messages that only executions have. Pure."""

from collections.abc import Mapping
from typing import Any, assert_never

from actors.execution import replan_rules, requests, step_rules, trouble_rules, undo_rules
from actors.execution.edits import accept_edit
from actors.execution.events import (
    ExecutionCall,
    ExecutionCallReissued,
    ExecutionEvent,
    ExecutionStarted,
    FileReplied,
    FileRequested,
    PlanEdited,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    UndoDecided,
)
from actors.execution.evolve import apply_event, start_state
from actors.execution.ids import proof_node
from actors.execution.replan_rules import replan_brief
from actors.execution.state import ExecutionState, State
from actors.handlers.briefs import JudgementBrief
from actors.run.calls import CallRequested, Judged, ReplyFields
from actors.run.ending import RunFinished, end_exhausted_run
from actors.run.inbox import MailRefused, body_of
from actors.run.machine import MODEL, CallPrompt, RunMachine
from actors.run.rules import AFTER_FAULT, EXPIRE, REMIND, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.state import NotStarted, RunState
from actors.values.artifacts import Artifact, Context
from actors.values.findings import limit_verdict
from runtime.core.ledger import Limit
from runtime.core.machine import Work
from runtime.core.messages import Mailed

PLANNER = "planner"
PROVER = "prover"


class ExecutionMachine(RunMachine[State, ExecutionEvent]):
    """The machine of executions."""

    reissued = ExecutionCallReissued

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that decide the next event. The first rule that returns an event wins."""
        return (
            TAKE_OVER_TOOLS,
            EXPIRE,
            Rule("settle an effect that is undone", Scope.RUN, undo_rules.settle),
            Rule("settle a step", Scope.RUN, step_rules.settle),
            Rule("decide about a trouble", Scope.RUN, trouble_rules.decide),
            Rule("withdraw a question", Scope.RUN, step_rules.withdraw),
            Rule("ask about a trouble", Scope.RUN, trouble_rules.ask),
            Rule("end", Scope.RUN, trouble_rules.finish),
            AFTER_FAULT,
            Rule("keep the deadline", Scope.RUN, undo_rules.keep_deadline),
            REMIND,
            Rule("reissue", Scope.RUN, self.reissue),
            Rule("rest", Scope.RUN, step_rules.rest),
            Rule("try again", Scope.RUN, self.try_again),
            Rule("replan", Scope.RUN, replan_rules.replan),
            Rule("request", Scope.RUN, step_rules.request),
        )

    def begin(self, event: ExecutionStarted) -> State:
        """Return the state after the first event."""
        return start_state(event)

    def apply(self, state: State, run: RunState[ExecutionCall], event: ExecutionEvent) -> State:
        """Return the state after an event."""
        return apply_event(self.common, state, run, event)

    def next_try(self, state: State, request: ExecutionCall) -> ExecutionCall | None:
        """Return the request for the next try of a call; None if its attempt or replan no longer exists."""
        return requests.next_try(state, request)

    def try_again(self, state: State) -> CallRequested | RunFinished | None:
        """Return the next try of a failed call whose pause is over.

        If the limits allow no try and no work is open, return the run's end.
        """
        next_call = None if state.run.saving else self.further_try(state)
        if isinstance(next_call, Limit):
            return None if step_rules.is_working(state) else end_exhausted_run(next_call)
        return next_call

    def prompt(self, state: State, request: ExecutionCall) -> CallPrompt | None:
        """Return the prompt for a model that writes a file; None for any other request."""
        attempt = state.attempt_at(request.node) if isinstance(request, FileRequested) else None
        return None if attempt is None else requests.file_prompt(state, attempt)

    def reply_event(self, state: State, request: ExecutionCall, fields: ReplyFields) -> ExecutionEvent:
        """Return the event for a reply of a model, or for the end of a planning run."""
        del state
        match request:
            case FileRequested():
                return FileReplied(**fields)
            case ReplanRequested():
                return ReplanReplied(**fields)
            case _:
                assert_never(request)

    def address(self, request: ExecutionCall | ProofRequested) -> str:
        """Return the address of the actor that does a request for a file, a planning run or a proof."""
        match request:
            case FileRequested():
                return MODEL
            case ReplanRequested():
                return PLANNER
            case ProofRequested():
                return PROVER
            case _:
                assert_never(request)

    def is_child(self, state: State, request: ExecutionCall) -> bool:
        """Return whether a request is for a planning run. A planning run is a child run and continues by itself."""
        del state
        return isinstance(request, ReplanRequested)

    def message_event(self, state: State, message: Mailed) -> UndoDecided | PlanEdited | MailRefused | None:
        """Return the event for a message that edits the plan or asks to undo everything; None for any other message."""
        body = body_of(message.body)
        return accept_edit(state, body, message) or undo_rules.accept_undo_message(state, body, message)

    def judgements(self, state: State) -> Mapping[str, ProofRequested]:
        """Return the open request for the proof of a new plan, with its id as the key; empty if no proof is open."""
        if not state.proving or state.replan is None:
            return {}
        proof = ProofRequested(node=proof_node(state.revision, state.replan.number), guard=state.config.level)
        return {proof.request_id: proof}

    def verdict_event(self, state: State, message: Judged) -> ProofReached | None:
        """Return the event for the result of a proof; None if this proof is not open."""
        if message.request_id not in self.judgements(state):
            return None
        return ProofReached(
            node=message.request_id,
            at=message.at,
            mono=message.mono,
            elapsed=message.elapsed,
            verdict=limit_verdict(message.verdict),
        )

    def brief(self, state: ExecutionState, work: Work) -> Any:
        """Return the brief (the input of an actor) for a piece of work."""
        request = work.request
        if not isinstance(request, ReplanRequested | ProofRequested):
            return super().brief(state, work)
        assert not isinstance(state, NotStarted)
        if isinstance(request, ReplanRequested):
            return replan_brief(state, request)
        assert state.replan is not None, "a proof is requested only for a replan"
        artifact = Artifact(request.node, "plan", state.replan.plan, request.node)
        return JudgementBrief(request.request_id, request.guard, artifact, Context(state.config.problem))
