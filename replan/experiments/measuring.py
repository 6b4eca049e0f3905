"""From a run to a trial: what is counted of it. A pure projection of the run's state and events."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from actors.planning.call_events import ArtifactProduced
from actors.planning.events import Outcome, PlanningEvent
from actors.planning.state import Node, PlanningState, State
from actors.policy.table import BacktrackLevel
from actors.run.ids import step_of
from actors.simulated.world import World, strategy_for
from replan.experiments.results import StepUse, Trial
from runtime.models.replies import Parsed

_BACK = (BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN)
WAITING = "waiting"
"""The outcome of a trial that ends with a question, for nobody answers in an experiment."""


@dataclass(frozen=True, slots=True)
class Key:
    """What names a trial, and its problem's category."""

    arm: str
    problem: str
    category: str
    seed: int


def trial_of(key: Key, state: PlanningState, events: Iterable[PlanningEvent], world: World | None) -> Trial:
    """Return what is counted of a run; `world` is where its problem came from, if it was a simulated one."""
    assert isinstance(state, State), "a trial is of a run that has begun"
    passed = state.end is not None and state.end.outcome is Outcome.SUCCESS
    plan = _accepted(state, "plan")
    decided = [node for node in state.nodes.values() if node.decision is not None]
    paid = state.run.ledger.committed
    return Trial(
        arm=key.arm,
        problem=key.problem,
        seed=key.seed,
        category=key.category,
        cause="" if world is None else str(world.cause),
        outcome=WAITING if state.run.finished is None else str(state.run.finished.outcome),
        passed=passed,
        solved=None if world is None else passed and plan is not None and world.solved_by(plan),
        calls=paid.calls,
        tokens=paid.tokens,
        micro_usd=None if state.config.price is None else paid.micro_usd,
        seconds=round(state.run.ledger.active, 3),
        depths=tuple(_depth(state, node) for node in decided if node.decision and node.decision.level in _BACK),
        rules=dict(sorted(Counter(node.decision.rule for node in decided if node.decision).items())),
        aligned=_aligned(state),
        steps=_steps(state, events),
    )


def _depth(state: State, node: Node) -> int:
    """Return how far up a decision sent the search, by distance over `requires`; 0 for a new visit of the step."""
    assert node.decision is not None
    graph = state.config.graph
    return max((graph.distance(target, node.step) for target in node.decision.targets), default=0)


def _steps(state: State, events: Iterable[PlanningEvent]) -> dict[str, StepUse]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for event in events:
        if isinstance(event, ArtifactProduced):
            seconds[step_of(event.node)] += event.elapsed
    found = {}
    for step in state.config.graph.steps:
        nodes = [node for node in state.nodes.values() if node.step == step]
        found[step] = StepUse(
            attempts=len(nodes),
            accepted=sum(1 for node in nodes if node.verdict is not None and node.verdict.passed),
            calls=sum(node.used.calls for node in nodes),
            seconds=round(seconds[step], 3),
        )
    return found


def _accepted(state: State, role: str) -> Any:
    """Return the value of the accepted artifact of a role, of the branch that won; of several steps, of the last."""
    for step in reversed(state.config.graph.steps):
        node = state.nodes.get(state.latest.progress[step].accepted or "")
        if state.config.roles[step] == role and node is not None and node.artifact is not None:
            value = node.artifact.value
            return value.value if isinstance(value, Parsed) else None
    return None


def _aligned(state: State) -> bool | None:
    analysis, strategy = _accepted(state, "analysis"), _accepted(state, "strategy")
    if not isinstance(analysis, dict) or not isinstance(strategy, dict):
        return None
    return bool(strategy.get("strategy_id") == strategy_for(analysis.get("problem_type")))
