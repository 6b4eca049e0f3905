"""The rule of a replan: the planning run, the proof of its plan, and the swap. Pure."""

from actors.execution.events import PlanRevised, ProofRequested, ReplanRequested
from actors.execution.ids import proof_node
from actors.execution.requests import replan_request
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
