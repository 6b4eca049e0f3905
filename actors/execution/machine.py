"""The execution machine: the four functions together, and what the shell shows of a state. Pure."""

from collections.abc import Mapping
from typing import Any

from actors.execution.accept import accept
from actors.execution.advance import advance
from actors.execution.briefs import brief_for
from actors.execution.events import ExecutionEvent, ProofRequested, ReplanRequested
from actors.execution.evolve import evolve
from actors.execution.ids import proof_node
from actors.execution.state import ExecutionState, State
from actors.run import questions, tools, waits
from actors.run.messages import RunMessage
from actors.run.state import NotStarted
from actors.run.summary import status_row
from runtime.core.machine import Refused, Summary, Work

MODEL = "model"
"""The address of the actor that asks the model for a file."""
PLANNER = "planner"
"""The address of the actor that drives the planning runs of replans."""
PROVER = "prover"
"""The address of the actor that judges new plans."""

_NOT_STARTED = NotStarted()


class ExecutionMachine:
    """`runtime.core.machine.Machine` for executions. It has no state of its own."""

    def initial(self) -> ExecutionState:
        """Return the state before the run starts."""
        return _NOT_STARTED

    def accept(self, state: ExecutionState, message: RunMessage) -> ExecutionEvent | Refused | None:
        """Turn a reply into a fact."""
        return accept(state, message)

    def advance(self, state: ExecutionState) -> ExecutionEvent | None:
        """Return the next decision."""
        return advance(state)

    def evolve(self, state: ExecutionState, event: ExecutionEvent) -> State:
        """Return the state after the event."""
        return evolve(state, event)

    def outstanding(self, state: ExecutionState) -> Mapping[str, Work]:
        """Return the open requests as work for the actors, the clock and the user."""
        run = state.run
        if isinstance(state, NotStarted) or run.finished is not None:
            return tools.work_of(run.tools, run.epoch)
        work = {
            name: Work(name, PLANNER if isinstance(request, ReplanRequested) else MODEL, request)
            for name in _carried_out(state)
            for request in (state.run.calls.open[name].request,)
        }
        proof = open_proof(state)
        if proof is not None:
            work[proof.request_id] = Work(proof.request_id, PROVER, proof, repeatable=True)
        return work | tools.work_of(run.tools, run.epoch) | waits.work_of(run.waits) | questions.work_of(run.questions)

    def brief(self, state: ExecutionState, work: Work) -> Any:
        """Return what the actor that does this work may see."""
        return brief_for(state, work)

    def summary(self, state: ExecutionState) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        return status_row(state.run, _carried_out(state), working=state.proving or tools.busy(state.run.tools))


def open_proof(state: State) -> ProofRequested | None:
    """Return the open request to a guard."""
    if not state.proving or state.replan is None:
        return None
    return ProofRequested(node=proof_node(state.revision, state.replan.number), guard=state.config.level)


def _carried_out(state: State) -> list[str]:
    """Return the open calls that somebody carries out.

    A file that an earlier driver has asked for is asked for again or dropped; a planning run goes on by itself, unless
    it waits for its provider.
    """
    run, held = state.run, state.run.held
    return [
        name
        for name, opened in run.calls.open.items()
        if name not in held and (opened.epoch == run.epoch or isinstance(opened.request, ReplanRequested))
    ]
