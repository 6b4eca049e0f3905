"""The machine of planning runs: the rules and messages that only planning runs have. Pure.

A process that only reads a run needs no decisions, so only a driver imports the modules that make decisions and
requests.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from actors.planning.events import (
    GenerationRequested,
    JudgementRequested,
    PlanCorrected,
    PlanningCall,
    PlanningEvent,
    RequestReissued,
    RunFinished,
    RunStarted,
    VerdictReached,
)
from actors.planning.evolve import apply_event, start_state
from actors.planning.planning_questions import question_of
from actors.planning.state import PlanningState, State
from actors.policy.table import CLASSIFIER
from actors.run import ending
from actors.run.calls import Judged, ReplyFields
from actors.run.ids import SECOND_CALL, call_of, step_of
from actors.run.inbox import EDIT, MailRefused, body_of
from actors.run.machine import CallPrompt, RunMachine
from actors.run.open_question import Shown
from actors.run.rules import Rule
from actors.run.state import RunState
from runtime.core.ledger import Price
from runtime.core.machine import Work
from runtime.core.messages import Mailed


class PlanningMachine(RunMachine[State, PlanningEvent]):
    """The machine of planning runs."""

    reissued = RequestReissued

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of planning runs. The first rule that returns an event wins."""
        from actors.planning.rules import rules_with  # noqa: PLC0415 -- only a driver needs it

        return rules_with(self.reissue)

    def decide(self, state: State) -> PlanningEvent | None:
        """Return the next decision. Some rules look at each branch, or at the tree of all branches."""
        return self._decide(state)

    @cached_property
    def _decide(self) -> Callable[[State], PlanningEvent | None]:
        # Imported once: an import statement at each of a step's four decisions would take 1 % of the step's time.
        from actors.planning.rules import next_event  # noqa: PLC0415 -- only a driver needs it

        return partial(next_event, tuple((rule.scope, rule.function) for rule in self.rules))

    def begin(self, event: RunStarted) -> State:
        """Return the state after the first event."""
        return start_state(event)

    def apply(self, state: State, run: RunState[PlanningCall], event: PlanningEvent) -> State:
        """Return the state after an event."""
        return apply_event(self.common, state, run, event)

    def next_try(self, state: State, request: PlanningCall) -> PlanningCall:
        """Return the request for the next try of a call, in any branch."""
        from actors.planning.briefs import next_try  # noqa: PLC0415 -- only a driver needs it

        return next_try(state, request)

    def prompt(self, state: State, request: PlanningCall) -> CallPrompt | None:
        """Return the prompt of a call; None if the step calls no model."""
        from actors.planning.briefs import prompt_of  # noqa: PLC0415 -- only a driver needs it

        return prompt_of(state, request)

    def reply_event(self, state: State, request: PlanningCall, fields: ReplyFields) -> PlanningEvent:
        """Return the event for a reply. The reply is an artifact, or the cause of a rejection."""
        from actors.planning.briefs import accept_reply  # noqa: PLC0415 -- only a driver needs it

        return accept_reply(state, request, fields)

    def verdict_event(self, state: State, message: Judged) -> VerdictReached | None:
        """Return the event for a verdict; None if no open request asks for the verdict."""
        from actors.planning.briefs import accept_verdict  # noqa: PLC0415 -- only a driver needs it

        return accept_verdict(state, message)

    def message_event(self, state: State, message: Mailed) -> PlanCorrected | MailRefused | None:
        """Return the event for a message with an edited plan; None for any other message."""
        body = body_of(message.body)
        if body.get("kind") != EDIT:
            return None
        from actors.planning.edits import accept_edit  # noqa: PLC0415 -- few messages are edits

        return accept_edit(state, body, message)

    def judgements(self, state: State) -> Mapping[str, JudgementRequested]:
        """Return the open requests for verdicts; the keys are the ids of the requests."""
        return state.judgements

    def address(self, request: PlanningCall | JudgementRequested) -> str:
        """Return the address of the actor that does a request: a step, its guard or the classifier."""
        if isinstance(request, JudgementRequested):
            return f"guard:{request.step}"
        return f"step:{request.step}" if isinstance(request, GenerationRequested) else CLASSIFIER

    def price(self, state: State, request_id: str) -> Price | None:
        """Return the price of the step's model; for a classification, the price of the run's model."""
        config = state.config
        if not config.step_models or call_of(request_id).endswith(SECOND_CALL):
            return config.price
        return config.steps[step_of(request_id)].price

    def is_child(self, state: State, request: PlanningCall) -> bool:
        """Return whether a child run answers the request."""
        return state.is_child(request)

    def shows_messages(self, state: State, request: PlanningCall) -> bool:
        """Return whether the prompt of a request contains the user's messages.

        The classifier's prompt does not contain them.
        """
        return isinstance(request, GenerationRequested) and not state.config.graph.budgets[request.step].deterministic

    def end_event(self, end: ending.RunFinished) -> RunFinished:
        """Return the end of a run of any kind as the end of a planning run."""
        return RunFinished.of(end)

    def calls_ahead(self, state: State) -> int:
        """Return the most calls of the latest branch if it visits each step without an accepted artifact once."""
        left = [step for step, slot in state.latest.progress.items() if slot.accepted is None]
        budgets = [state.config.graph.budgets[step] for step in left]
        return sum(budget.rmax * budget.calls for budget in budgets if not budget.deterministic)

    def question_view(self, state: State) -> Shown:
        """Return the function that turns an open question into plain data."""
        return partial(question_of, state)

    def brief(self, state: PlanningState, work: Work) -> Any:
        """Return the input of the actor that does a piece of work."""
        return self._brief(state, work)

    @cached_property
    def _brief(self) -> Callable[[PlanningState, Work], Any]:
        from actors.planning.briefs import brief_for  # noqa: PLC0415 -- only a driver needs it

        return brief_for
