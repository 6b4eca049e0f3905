"""What a belief learns from recorded runs of the planning machine, and what it would have done in each.

The runs of a home are read one after the other; a run that cannot be read is listed and passed over. Only the training
cases are kept, and equal ones once.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import trio

from actors.planning.agreement import came_again
from actors.planning.config import RunConfig
from actors.planning.events import Decided, PlanningEvent, VerdictReached
from actors.planning.kind import PLANNING
from actors.planning.machine import PlanningMachine
from actors.planning.rules import situation_of
from actors.planning.state import State
from actors.policy.belief import STEPS_MAX, BeliefModel
from actors.policy.decision import Failure, Situation, decide, remembered
from actors.policy.history import Past, Signature
from actors.policy.table import BeliefTable, Policy
from actors.run.ids import is_child, step_of
from actors.search.moves import Search
from replan.learning.belief_estimate import Accepted, TrainingCase
from replan.runs.reader import RunReader
from replan.runs.run_ids import ALL
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.core.events import text_hash

_MACHINE = PlanningMachine()
Tick = Callable[[int, int], None]
"""Takes how many runs have been read, and how many there are."""


@dataclass(frozen=True, slots=True)
class RecordedChoice:
    """A recorded rejection about which a belief decides, in its situation."""

    failure: Failure
    """The rejection."""
    situation: Situation
    """All else that a decision depends on, with the history as a belief policy keeps it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The first round of a recorded run, which is what a belief learns from."""

    case: TrainingCase
    """The training case that it makes."""
    problem: str
    """The name of its problem: a hash of the text. Runs of the same problem tell less than runs of several."""
    choices: tuple[RecordedChoice, ...]
    """The rejections in it about which a belief decides."""


def why_unfit(config: RunConfig) -> str:
    """Return why runs of a configuration make no training case; empty if they make one."""
    if config.compares or config.search is not Search.DEPTH_FIRST:
        return f"its search is {config.workflow.search}"
    asked = sum(1 for budget in config.graph.budgets.values() if not budget.deterministic)
    return f"it has more than {STEPS_MAX} steps with model calls" if asked > STEPS_MAX else ""


def recorded(events: Iterable[PlanningEvent], policy: Policy) -> Recorded | str:
    """Return the first round of a run as a training case, or why the run makes none."""
    state, items, choices = _MACHINE.initial(), list[Past | Accepted](), list[RecordedChoice]()
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
    return Recorded(TrainingCase(shape, config.graph, config.roles, _numbered(items)), problem, tuple(choices))


def _numbered(items: Iterable[Past | Accepted]) -> tuple[Past | Accepted, ...]:
    """Return the items with numbers for the signatures, so that runs that took the same course are equal."""
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


def _choice(state: State, event: Decided, history: Sequence[Past], policy: Policy) -> RecordedChoice | None:
    """Return the situation of a rejection that is decided for the first time; None for any other."""
    node = state.nodes[event.node]
    if node.verdict is None or node.decision is not None:
        return None
    branch = state.branch_of(node.node)
    failure = Failure(node.step, node.node, node.verdict, came=came_again(state, branch, node, policy))
    situation = situation_of(state, branch, node.step)
    return RecordedChoice(failure, replace(situation, policy=policy, history=tuple(history), search=Search.DEPTH_FIRST))


class FirstMoves:
    """Counts in how many recorded rejections the first move would differ between two tables, run by run."""

    different = 0
    """The number of rejections for which the two tables choose different first moves."""
    total = 0
    """The number of rejections for which a belief chooses the move."""

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


@dataclass
class Runs:
    """The planning runs of a home as training cases of a belief, and the runs that are no training cases."""

    cases: dict[TrainingCase, Counter[str]] = field(default_factory=dict)
    """The training cases, each with the number of runs that are equal to it, by problem."""
    unfit: dict[str, str] = field(default_factory=dict)
    """The reason why a run is no training case, by the run's id."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why a run cannot be read, by its id."""
    _pasts: dict[Past | Accepted, Past | Accepted] = field(default_factory=dict)

    @property
    def fit(self) -> int:
        """The number of runs that a belief learns from."""
        return sum(runs.total() for runs in self.cases.values())

    def add(self, run: Recorded) -> None:
        """Count a run; of equal rejections one is kept."""
        case = run.case
        if case not in self.cases:
            kept = tuple(self._pasts.setdefault(item, item) for item in case.items)
            self.cases[TrainingCase(case.shape, case.graph, case.roles, kept)] = Counter()
        self.cases[case][run.problem] += 1


async def runs_of(home: RunReader, policy: Policy, tick: Tick) -> Runs:
    """Return the planning runs of a home as training cases of a belief policy."""
    result = Runs()
    async for run, found in _each(home, policy, tick):
        match found:
            case Recorded():
                result.add(found)
            case str():
                result.unfit[run] = found
            case Exception():
                result.unreadable[run] = str(found)
    return result


async def count_moves(home: RunReader, policy: Policy, moves: FirstMoves, tick: Tick) -> None:
    """Count the rejections in the planning runs of a home."""
    async for _, found in _each(home, policy, tick):
        if isinstance(found, Recorded):
            moves.add(found)


_Found = Recorded | str | Exception
"""The first round of a run, or why the run makes no training case, or why it cannot be read."""


async def _each(home: RunReader, policy: Policy, tick: Tick) -> AsyncIterator[tuple[str, _Found]]:
    """Yield each planning run, in the order of the ids."""
    rows = await home.journal.runs(ALL)
    runs = sorted(row.run for row in rows if not is_child(row.run))
    for number, run in enumerate(runs, 1):
        await trio.lowlevel.checkpoint()
        found = await _read(home, run, policy)
        tick(number, len(runs))
        if found is not None:
            yield run, found


async def _read(home: RunReader, run: str, policy: Policy) -> _Found | None:
    """Read a run; None for a run of another kind, for a fork, and for one that was deleted meanwhile."""
    try:
        kind = await home.kind_of(run)
        if kind.name != PLANNING.name:
            return None
        records = await home.journal.read(run)
    except RunNotFound:
        return None
    except (JournalDamaged, KindUnknown, UsageProblem) as problem:
        return problem
    if getattr(records[0].event, "shared", 0) if records else 0:
        return None  # Its first records are those of another run, which would count twice.
    return recorded([record.event for record in records], policy)
