"""What a belief can learn from recorded runs of the planning machine, and what it would have done in each. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from actors.planning.agreement import came_again
from actors.planning.config import RunConfig
from actors.planning.decision_event import Decided
from actors.planning.events import PlanningEvent, VerdictReached
from actors.planning.machine import PlanningMachine
from actors.planning.rules import situation_of
from actors.planning.state import State
from actors.policy.belief import STEPS_MAX, BeliefModel
from actors.policy.belief_table import BeliefTable
from actors.policy.decision import Failure, Situation, decide, remembered
from actors.policy.history import Past, Signature
from actors.policy.table import Policy
from actors.run.ids import step_of
from actors.search.moves import Search
from replan.tuning.belief_estimate import Accepted, Case
from runtime.core.events import text_hash

_MACHINE = PlanningMachine()


@dataclass(frozen=True, slots=True)
class Choice:
    """A recorded rejection about which a belief decides, in its situation."""

    failure: Failure
    """The rejection."""
    situation: Situation
    """All else that a decision depends on, with the history as a belief policy keeps it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded run, as far as a belief has a use for it: its first round."""

    case: Case
    """What a belief learns from it."""
    problem: str
    """The name of its problem: a hash of the text. Runs of the same problem tell less than runs of several."""
    choices: tuple[Choice, ...]
    """The rejections in it about which a belief decides."""


def why_unfit(config: RunConfig) -> str:
    """Return why a belief has no use for the runs of a configuration; empty if it has."""
    if config.compares or config.search is not Search.DEPTH_FIRST:
        return f"its search is {config.workflow.search}"
    asked = sum(1 for budget in config.graph.budgets.values() if not budget.deterministic)
    return f"it has more than {STEPS_MAX} steps with model calls" if asked > STEPS_MAX else ""


def recorded(events: Iterable[PlanningEvent], policy: Policy) -> Recorded | str:
    """Return what a belief policy learns from a run, or why it has no use for it."""
    state, items, choices = _MACHINE.initial(), list[Past | Accepted](), list[Choice]()
    config: RunConfig | None = None
    problem = ""
    for event in events:
        if isinstance(state, State):
            if config is None:
                config, problem = state.config, text_hash(" ".join(state.specification.split()))
                if unfit := why_unfit(config):
                    return unfit
            if state.round > 1:  # A requirement or an answer has changed what is asked for.
                break
            if isinstance(event, Decided):
                choice = _choice(state, event, [item for item in items if isinstance(item, Past)], policy)
                if choice is not None:
                    failure = choice.failure
                    past = remembered(failure.verdict, event.decision, config.graph, policy, failure.came)
                    items.append(past)
                    choices += [choice] if past.row else []
        state = _MACHINE.evolve(state, event)
        if isinstance(event, VerdictReached) and _accepted_leaf(state, event.node):
            items.append(Accepted(step_of(event.node)))
    if config is None or not items:
        return "nothing was judged in it"
    shape = text_hash(repr((config.graph, config.roles)))
    return Recorded(Case(shape, config.graph, config.roles, _numbered(items)), problem, tuple(choices))


def _numbered(items: Iterable[Past | Accepted]) -> tuple[Past | Accepted, ...]:
    """Return the items with numbers for the signatures, so that runs that went alike are equal."""
    numbers: dict[Signature, str] = {}
    numbered: list[Past | Accepted] = []
    for item in items:
        if isinstance(item, Past):
            number = numbers.setdefault(item.signature, str(len(numbers)))
            numbered.append(replace(item, signature=frozenset({(number, "")}), up=0))
        else:
            numbered.append(item)
    return tuple(numbered)


def _accepted_leaf(state: State, node: str) -> bool:
    return state.nodes[node].status == "accepted" and step_of(node) in state.config.graph.leaves


def _choice(state: State, event: Decided, history: Sequence[Past], policy: Policy) -> Choice | None:
    """Return the situation of a rejection that is decided for the first time; None for any other."""
    node = state.nodes[event.node]
    if node.verdict is None or node.decision is not None:
        return None
    branch = state.branch_of(node.node)
    failure = Failure(node.step, node.node, node.verdict, came=came_again(state, branch, node, policy))
    situation = situation_of(state, branch, node.step)
    return Choice(failure, replace(situation, policy=policy, history=tuple(history), search=Search.DEPTH_FIRST))


class FirstMoves:
    """Counts in how many recorded rejections the first move would differ between two tables, run by run."""

    different = 0
    """The rejections in which it would differ."""
    total = 0
    """All rejections about which a belief decides."""

    def __init__(self, shipped: BeliefTable, other: BeliefTable) -> None:
        self._tables = shipped, other
        self._models: dict[str, list[BeliefModel]] = {}

    def add(self, run: Recorded) -> None:
        """Count the rejections of a run."""
        case = run.case
        if case.shape not in self._models:
            self._models[case.shape] = [BeliefModel(table, case.graph, case.roles) for table in self._tables]
        models = self._models[case.shape]
        for choice in run.choices:
            moves = [decide(choice.failure, replace(choice.situation, belief=model)) for model in models]
            self.total += 1
            self.different += (moves[0].level, moves[0].targets) != (moves[1].level, moves[1].targets)
