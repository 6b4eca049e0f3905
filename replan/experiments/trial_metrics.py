"""The metrics of a trial, computed from the state and the events of its run. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from actors.planning.call_events import ArtifactProduced
from actors.planning.events import Outcome, PlanningEvent
from actors.planning.state import Node, PlanningState, State
from actors.policy.table import REPLANS, BacktrackLevel
from actors.run.ids import step_of
from actors.simulated.world import World, strategy_for
from replan.experiments.results import StepUse, Trial
from runtime.models.replies import Parsed

WAITING = "waiting"
"""The outcome of a trial whose run asked a question: an experiment has nobody who could answer it."""


@dataclass(frozen=True, slots=True)
class TrialKey:
    """The identity of a trial, and its problem's category."""

    arm: str
    """The arm's name."""
    problem: str
    """The problem's name."""
    category: str
    """The problem's category; may be empty."""
    seed: int
    """The seed, or the number of the repetition with a real model."""


def trial_from(key: TrialKey, state: PlanningState, events: Iterable[PlanningEvent], world: World | None) -> Trial:
    """Return the metrics of a run; `world` is its simulated problem, None with a real model."""
    assert isinstance(state, State), "a trial is of a run that has begun"
    passed = state.end is not None and state.end.outcome is Outcome.SUCCESS
    plan = _accepted(state, "plan")
    rejected = [node for node in state.nodes.values() if node.decision is not None]
    used = state.run.ledger.committed
    return Trial(
        arm=key.arm,
        problem=key.problem,
        seed=key.seed,
        category=key.category,
        cause="" if world is None else str(world.cause),
        outcome=WAITING if state.run.finished is None else str(state.run.finished.outcome),
        passed=passed,
        solved=None if world is None else passed and plan is not None and world.solved_by(plan),
        calls=used.calls,
        help_calls=_price(world) * sum(1 for each in state.run.questions.values() if each.answer),
        tokens=used.tokens,
        micro_usd=None if state.config.price is None else used.micro_usd,
        seconds=round(state.run.ledger.active, 3),
        depths=tuple(_depth(state, node) for node in rejected if node.decision and node.decision.level in REPLANS),
        retries=sum(1 for node in rejected if node.decision and node.decision.level is BacktrackLevel.LOCAL_RETRY),
        rules=dict(sorted(Counter(node.decision.rule for node in rejected if node.decision).items())),
        aligned=_aligned(state),
        steps=_steps(state, events),
    )


def _price(world: World | None) -> float:
    """Return the price of an answer, in model calls."""
    return 0.0 if world is None or world.profile.person is None else world.profile.person.calls


def _depth(state: State, node: Node) -> int:
    """Return the largest distance over `requires` from a step to the targets of a replan; 0 for the step itself."""
    assert node.decision is not None
    graph = state.config.graph
    return max((graph.distance(target, node.step) for target in node.decision.targets), default=0)


def _steps(state: State, events: Iterable[PlanningEvent]) -> dict[str, StepUse]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for event in events:
        if isinstance(event, ArtifactProduced):
            seconds[step_of(event.node)] += event.elapsed
    uses = {}
    for step in state.config.graph.steps:
        nodes = [node for node in state.nodes.values() if node.step == step]
        uses[step] = StepUse(
            attempts=len(nodes),
            accepted=sum(1 for node in nodes if node.verdict is not None and node.verdict.passed),
            calls=sum(node.used.calls for node in nodes),
            seconds=round(seconds[step], 3),
        )
    return uses


def _accepted(state: State, role: str) -> Any:
    """Return the value of the accepted artifact of the last step with a role, in the branch that is shown as result."""
    for step in reversed(state.config.graph.steps):
        node = state.nodes.get(state.latest.progress[step].accepted or "")
        if state.config.roles[step] == role and node is not None and node.artifact is not None:
            value = node.artifact.value
            return value.value if isinstance(value, Parsed) else None
    return None


def _aligned(state: State) -> bool | None:
    """Return whether the accepted strategy is the one for the accepted problem type; None if either is missing."""
    analysis, strategy = _accepted(state, "analysis"), _accepted(state, "strategy")
    if not isinstance(analysis, dict) or not isinstance(strategy, dict):
        return None
    return bool(strategy.get("strategy_id") == strategy_for(analysis.get("problem_type")))
