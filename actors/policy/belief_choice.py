"""Chooses the move after a rejection by the belief: the likeliest success of the next leaf attempt per call. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from actors.policy.belief import Belief, BeliefModel, Odds
from actors.policy.table import Person
from actors.search.graph import Graph
from actors.search.progress import BranchProgress, Move, Phase, Redo, Retry, can_redo, can_retry, cleared_steps
from runtime.core.events import Value

TIE = 1e-9
"""The relative difference below which two values are equal; then the earlier candidate is chosen."""
PLACES_SHOWN = 3
"""The likeliest places of the mistake that a decision records."""


class MistakePlace(Value):
    """A place of the mistake, with its probability before and after the rejection."""

    step: str
    """The step, or `unsolvable`."""
    before: float
    """The probability before the rejection, three decimals."""
    after: float
    """The probability after it, three decimals."""


class Option(Value):
    """A move that the budgets allowed, with its value."""

    move: Literal["retry", "redo", "ask"]
    """Another attempt of the failed step, other steps anew, or a question to the user."""
    targets: tuple[str, ...] = ()
    """The steps that `redo` goes back to."""
    chance: float
    """The probability that the next attempt at the leaf is accepted, three decimals."""
    calls: float
    """The calls until that attempt, with the price of a question, three decimals."""
    value: float
    """The chance per call, which the policy compares, five decimals."""


class Weighing(Value):
    """The numbers on which a belief policy based a decision: at most 15."""

    places: tuple[MistakePlace, ...]
    """The likeliest places of the mistake, at most three."""
    options: tuple[Option, ...]
    """The move that was chosen, then the next best; empty where no move was left."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of the moves besides the budgets of the steps."""

    may_escalate: bool
    """Whether the step may still cause escalations in this round (`e_max`)."""
    only: tuple[str, ...]
    """The steps to go back to while one of them has a visit left (`escalate_to`, `escalate_by_guard`); empty: any."""
    may_ask: bool
    """Whether a question is left."""
    graph: Graph | None = None
    """The graph whose budgets bound the moves; None for that of the model."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A candidate with its value; `move` is None for a question."""

    move: Move | None
    chance: float
    calls: float

    @property
    def value(self) -> float:
        """The probability of success per call."""
        return self.chance / self.calls

    @property
    def option(self) -> Option:
        """The candidate in the form that a decision records."""
        targets = self.move.targets if isinstance(self.move, Redo) else ()
        name: Literal["retry", "redo", "ask"] = "ask" if self.move is None else "redo" if targets else "retry"
        return Option(
            move=name,
            targets=targets,
            chance=round(self.chance, 3),
            calls=round(self.calls, 3),
            value=round(self.value, 5),
        )


def weigh(model: BeliefModel, belief: Belief, progress: BranchProgress, failed: str, bounds: Bounds) -> list[Weighed]:
    """Return the allowed moves after a rejection, the most valuable first; equal ones in the order of `_moves`."""
    graph = model.graph if bounds.graph is None else bounds.graph
    leaf = failed if failed in graph.leaves else next(step for step in graph.below[failed] if step in graph.leaves)
    odds = model.odds(belief)
    candidates = []
    for move in _moves(graph, progress, failed, bounds):
        redone = cleared_steps(graph, move.targets if isinstance(move, Redo) else (failed,))
        candidates.append(Weighed(move, model.chance(odds, redone, leaf), _calls(model, redone)))
    if bounds.may_ask and model.table.person is not None:
        candidates.append(_question(model, odds, failed, leaf, model.table.person))
    return _best_first(candidates)


def _calls(model: BeliefModel, redone: Collection[str]) -> int:
    """Return the fewest calls in which these steps can be redone, at least one."""
    return max(1, sum([model.graph.budgets[step].happy for step in redone if step in model.steps]))


def _question(model: BeliefModel, odds: Odds, failed: str, leaf: str, person: Person) -> Weighed:
    """Return the value of a question after whose answer, if it is right, the step with the mistake is redone."""
    chance, calls = 0.0, person.calls
    for position, step in enumerate(model.steps):
        redone = cleared_steps(model.graph, (step,))
        if step == failed or step in model.graph.above[failed]:
            chance += person.accuracy * model.chance(odds, redone, leaf, at=step)
        calls += sum([stays[position] for stays in odds.stays]) * _calls(model, redone)
    return Weighed(None, chance, calls)


def record_weighing(before: dict[str, float], after: dict[str, float], weighed: Collection[Weighed]) -> Weighing:
    """Return the record of a decision: the likeliest places of the mistake, the chosen move and the runner-up."""
    likeliest = sorted(after, key=lambda name: -round(after[name], 3))[:PLACES_SHOWN]
    return Weighing(
        places=tuple(
            MistakePlace(step=name, before=round(before[name], 3), after=round(after[name], 3)) for name in likeliest
        ),
        options=tuple(item.option for item in list(weighed)[:2]),
    )


def steps_known_right(graph: Graph, progress: BranchProgress) -> frozenset[str]:
    """Return the steps whose artifacts a leaf builds on that was accepted, that leaf included."""
    right: set[str] = set()
    for leaf in graph.leaves:
        if progress[leaf].phase is Phase.ACCEPTED:
            right.update((leaf, *graph.above[leaf]))
    return frozenset(right)


def _moves(graph: Graph, progress: BranchProgress, failed: str, bounds: Bounds) -> Iterator[Move]:
    """Yield the allowed moves: a retry, the steps above from the nearest on, all roots, a new visit of the step."""
    retry = can_retry(graph, progress, failed)
    if retry:
        yield Retry()
    above = graph.upward(failed, 1) if bounds.may_escalate else []
    possible = [step for step in above if can_redo(graph, progress, step)]
    allowed = [step for step in possible if step in bounds.only] or possible
    for step in allowed:
        yield Redo((step,))
    roots = tuple(step for step in graph.above[failed] if not graph.requires[step] and step in allowed)
    if len(roots) > 1:
        yield Redo(roots)
    if not retry and can_redo(graph, progress, failed):
        yield Redo((failed,))


def count_calls(calls: float) -> str:
    """Return a number of calls, which may be a mean, in words."""
    return f"{calls:.3g} call{'' if calls == 1 else 's'}"


def _best_first(candidates: list[Weighed]) -> list[Weighed]:
    """Return the candidates by falling value; of equal ones the earlier first."""
    result: list[Weighed] = []
    for candidate in candidates:
        place = len(result)
        while place and candidate.value - result[place - 1].value > TIE * result[place - 1].value:
            place -= 1
        result.insert(place, candidate)
    return result
