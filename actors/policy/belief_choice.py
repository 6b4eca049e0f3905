"""Finds the best move after a rejection: by the belief, the move with the highest chance of success per call. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from actors.policy.belief import Belief, BeliefModel, Odds
from actors.policy.table import Person
from actors.search.graph import Graph
from actors.search.progress import BranchProgress, Move, Phase, Redo, Retry, can_redo, can_retry, cleared_steps
from runtime.core.events import Value

TIE = 1e-9
"""The relative difference up to which the values of two candidates count as equal. Of equal candidates, the earlier one
is chosen."""
PLACES_SHOWN = 3
"""The number of places of the mistake that a decision records, the likeliest first."""


class MistakePlace(Value):
    """A possible place of the mistake, with the place's probability before and after the rejection."""

    step: str
    """The id of the step, or `unsolvable`."""
    before: float
    """The probability before the rejection, to three decimals."""
    after: float
    """The probability after the rejection, to three decimals."""


class Option(Value):
    """A move that the budgets allowed, with the move's value."""

    move: Literal["retry", "redo", "ask"]
    """The kind of move: retry the failed step, redo other steps, or ask the user."""
    targets: tuple[str, ...] = ()
    chance: float
    """The probability that the next attempt at the leaf is accepted, to three decimals."""
    calls: float
    """The number of calls up to and including that attempt, with the price of a question, to three decimals."""
    value: float
    """The chance of success per call, to five decimals. The policy compares moves by this value."""
    afresh: bool = Field(default=False, exclude_if=lambda afresh: not afresh)
    """Whether the prompts of the redone steps leave out earlier rejections."""

    @property
    def named(self) -> str:
        """The move in words, such as `redo strategy`."""
        return " ".join((self.move, *(("afresh",) if self.afresh else ()), *self.targets))


class Weighing(Value):
    """The numbers, at most 15, that explain a decision of a belief policy."""

    places: tuple[MistakePlace, ...]
    """The likeliest places of the mistake, at most three."""
    options: tuple[Option, ...]
    """The chosen move and the next best move; empty if no move was allowed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits on moves, in addition to the budgets of the steps."""

    may_escalate: bool
    """Whether the failed step may cause another escalation in this round (`e_max`)."""
    only: tuple[str, ...]
    """The steps to which the search may go back, from `escalate_to` or `escalate_by_guard`. If `only` is empty, or none
    of these steps has a visit left, the search may go back to any step.
    """
    may_ask: bool
    may_retry: bool = True
    """Whether a retry of the failed step in its visit is allowed, if attempts are left (`BeliefTable.rounds`)."""
    graph: Graph | None = None
    """The graph whose budgets limit the moves; None means the belief model's graph."""
    told: float = 1.0
    """The factor for the chance of a move whose prompts show the rejections (`repeat_factors`)."""
    afresh: float | None = None
    """The factor for the chance of a move whose prompts leave out the rejections; None if such moves are not allowed.
    """


@dataclass(frozen=True, slots=True)
class Weighed:
    """An allowed move with its value. `move` is None for a question to the user."""

    move: Move | None
    chance: float
    calls: float
    afresh: bool = False

    @property
    def value(self) -> float:
        """The chance of success per call."""
        return self.chance / self.calls

    @property
    def option(self) -> Option:
        """The move in the form that a decision records, with rounded numbers."""
        targets = self.move.targets if isinstance(self.move, Redo) else ()
        name: Literal["retry", "redo", "ask"] = "ask" if self.move is None else "redo" if targets else "retry"
        return Option(
            move=name,
            targets=targets,
            chance=round(self.chance, 3),
            calls=round(self.calls, 3),
            value=round(self.value, 5),
            afresh=self.afresh,
        )


def weigh(model: BeliefModel, belief: Belief, progress: BranchProgress, failed: str, bounds: Bounds) -> list[Weighed]:
    """Return the allowed moves after a rejection, with the highest value first.

    Moves of equal value have the order of `_moves`.
    """
    graph = model.graph if bounds.graph is None else bounds.graph
    leaf = failed if failed in graph.leaves else next(step for step in graph.below[failed] if step in graph.leaves)
    odds = model.odds(belief)
    candidates = []
    for move in _moves(graph, progress, failed, bounds):
        redone = cleared_steps(graph, move.targets if isinstance(move, Redo) else (failed,))
        chance, calls = model.chance(odds, redone, leaf), _calls(model, redone)
        candidates.append(Weighed(move, chance * bounds.told, calls))
        if bounds.afresh is not None:
            candidates.append(Weighed(move, min(1.0, chance * bounds.afresh), calls, afresh=True))
    if bounds.may_ask and model.table.person is not None:
        candidates.append(_question(model, odds, failed, leaf, model.table.person))
    return _best_first(candidates)


def _calls(model: BeliefModel, redone: Collection[str]) -> int:
    return max(1, sum([model.graph.budgets[step].happy for step in redone if step in model.steps]))


def _question(model: BeliefModel, odds: Odds, failed: str, leaf: str, person: Person) -> Weighed:
    """Return a question to the user with its value.

    The value assumes that, after a right answer, the step with the mistake is redone.
    """
    chance, calls = 0.0, person.calls
    for position, step in enumerate(model.steps):
        redone = cleared_steps(model.graph, (step,))
        if step == failed or step in model.graph.above[failed]:
            chance += person.accuracy * model.chance(odds, redone, leaf, at=step)
        calls += sum([stays[position] for stays in odds.stays]) * _calls(model, redone)
    return Weighed(None, chance, calls)


def record_weighing(before: dict[str, float], after: dict[str, float], weighed: Collection[Weighed]) -> Weighing:
    """Return the record of a decision: the likeliest places of the mistake, the chosen move and the next best move."""
    likeliest = sorted(after, key=lambda name: -round(after[name], 3))[:PLACES_SHOWN]
    return Weighing(
        places=tuple(
            MistakePlace(step=name, before=round(before[name], 3), after=round(after[name], 3)) for name in likeliest
        ),
        options=tuple(item.option for item in list(weighed)[:2]),
    )


def steps_known_right(graph: Graph, progress: BranchProgress) -> frozenset[str]:
    """Return the accepted leaves and all steps that they require, directly or indirectly."""
    right: set[str] = set()
    for leaf in graph.leaves:
        if progress[leaf].phase is Phase.ACCEPTED:
            right.update((leaf, *graph.above[leaf]))
    return frozenset(right)


def _moves(graph: Graph, progress: BranchProgress, failed: str, bounds: Bounds) -> Iterator[Move]:
    """Yield the allowed moves: retry, redo a step above (the nearest first), redo all roots, or begin a new visit."""
    retry = bounds.may_retry and can_retry(graph, progress, failed)
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
    """Return a number of calls in words. The number can have decimals, because it can be a mean."""
    return f"{calls:.3g} call{'' if calls == 1 else 's'}"


def _best_first(candidates: list[Weighed]) -> list[Weighed]:
    result: list[Weighed] = []
    for candidate in candidates:
        place = len(result)
        while place and candidate.value - result[place - 1].value > TIE * result[place - 1].value:
            place -= 1
        result.insert(place, candidate)
    return result
