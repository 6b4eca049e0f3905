"""The rules of a replan: the planning run, the proof of its plan, and the swap; and further tries of calls. Pure."""

from actors.execution.events import (
    ExecutionCall,
    ExecutionCallReissued,
    FileRequested,
    PlanRevised,
    ProofRequested,
    ReplanRequested,
)
from actors.execution.ids import proof_node
from actors.execution.requests import next_try, replan_request
from actors.execution.state import State
from actors.execution.step_rules import is_working
from actors.run.ending import RunFinished, exhausted
from runtime.core.ledger import Limit


def replan(state: State) -> ReplanRequested | ProofRequested | PlanRevised | RunFinished | None:
    """Ask a planning run for a new plan, have its plan proved, and put it in the place of the old one.

    Nothing of that begins before the tools at work have ended: their results are part of what the planning run is told.
    """
    replan, run = state.replan, state.run
    if replan is None or state.active or run.tools or run.parked:
        return None
    if not replan.node:
        made = replan_request(state, replan)
        if isinstance(made, Limit):
            return None if is_working(state) else exhausted(made)
        return made
    if not replan.plan or replan.proving:
        return None
    if replan.verdict is None:
        return ProofRequested(node=proof_node(state.revision, replan.number), guard=state.config.level)
    assurance = replan.verdict.facts.get("assurance")
    return PlanRevised(
        revision=state.revision + 1,
        level=replan.level,
        plan=replan.plan,
        assurance=assurance if isinstance(assurance, str) else None,
        why=replan.trouble.why,
    )


def try_again(state: State) -> ExecutionCall | RunFinished | None:
    """Make the next try of a failed call, after its pause; end the run where it cannot be paid and nothing is open."""
    if state.run.saving:
        return None
    short: Limit | None = None
    for tries in state.run.calls.tries.values():
        if tries.phase == "rested":
            made = next_try(state, tries.request)
            if isinstance(made, Limit):
                short = made
            elif made is not None:
                return made
    return None if short is None or is_working(state) else exhausted(short)


def reissue(state: State) -> ExecutionCallReissued | RunFinished | None:
    """Ask again for the files that an earlier driver has asked for, or end the run if one cannot be paid.

    A planning run goes on by itself.
    """
    run = state.run
    if run.saving:
        return None
    for request_id, opened in run.calls.open.items():
        if opened.epoch < run.epoch and not isinstance(opened.request, ReplanRequested):
            made = next_try(state, opened.request)
            if isinstance(made, Limit):
                return exhausted(made)
            if isinstance(made, FileRequested):
                return ExecutionCallReissued(replaces=request_id, again=made)
    return None
