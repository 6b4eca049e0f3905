"""Where the search stands: one slot per step, and the operators on it (S1 to S6). Pure.

A state of the search is the map step → accepted artifact; all unset at first; the goal is all set. The operators are
`begin` (generate or retry, one model call each), `accept`, `reject`, `again` (the decision to retry) and `redo` (the
decision to backtrack, which clears the targets and everything that requires them, and only that).

Attempts and visits: a visit ends with its first accepted artifact or its last attempt; coming back is a new visit;
visits are bounded by `1 + backtrack_budget`, but for a leaf, which has `rmax` attempts per distinct set of parent
artifacts instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from actors.search.graph import Graph
from runtime.core.copies import changed


class Phase(StrEnum):
    """What is going on at a step."""

    IDLE = "idle"  # unset; the next attempt opens a visit
    BUSY = "busy"  # an attempt is being generated or judged
    FAILED = "failed"  # rejected; nothing decided yet
    AGAIN = "again"  # rejected; to be retried in the same visit
    ASKED = "asked"  # waits for a person
    STUCK = "stuck"  # rejected for good, unless the requirements change
    ACCEPTED = "accepted"


UNSET = frozenset({Phase.IDLE, Phase.AGAIN})
"""Where the next attempt may be made; a constant, because it is asked for every step after every event."""
GOAL = frozenset({Phase.ACCEPTED})
"""What is going on at the steps once every one has an accepted artifact (S2)."""


@dataclass(frozen=True)
class Slot:
    """One step's place. `visits` and `attempt` count in this round; `number` numbers visits over the whole run.

    `parents` are the artifacts that the current visit builds on, and `accepted` its artifact once the guard passes.
    """

    phase: Phase = Phase.IDLE
    visits: int = 0
    attempt: int = 0
    number: int = 0
    parents: tuple[str, ...] | None = None
    accepted: str | None = None


Progress = Mapping[str, Slot]


def start(graph: Graph) -> Progress:
    """Return the initial state: every step unset."""
    return dict.fromkeys(graph.steps, Slot())


def phases_of(progress: Progress) -> set[Phase]:
    """Return what is going on at any step."""
    return {slot.phase for slot in progress.values()}


def first(progress: Progress, phase: Phase) -> str | None:
    """Return the first step in a phase, in file order."""
    # A plain loop, here and below: this is asked after every event, and a generator costs more than what it yields.
    for step, slot in progress.items():
        if slot.phase is phase:
            return step
    return None


def ready(graph: Graph, progress: Progress) -> list[str]:
    """Return the steps that an attempt can be made at now, in file order (S3)."""
    found, requires, accepted = [], graph.requires, Phase.ACCEPTED  # Before Python 3.12 an enum is slow to look into.
    for step, slot in progress.items():
        if slot.phase in UNSET:
            for parent in requires[step]:
                if progress[parent].phase is not accepted:
                    break
            else:
                found.append(step)
    return found


def next_attempt(graph: Graph, progress: Progress, step: str) -> Slot:
    """Return the slot as it will be during the attempt that comes next."""
    slot = progress[step]
    if slot.phase is Phase.AGAIN:
        return changed(slot, phase=Phase.BUSY, attempt=slot.attempt + 1)
    parents = tuple([progress[parent].accepted or "" for parent in graph.requires[step]])
    fresh = step not in graph.leaves or parents != slot.parents
    return changed(
        slot,
        phase=Phase.BUSY,
        visits=slot.visits + 1,
        attempt=1 if fresh else slot.attempt + 1,
        number=slot.number + 1,
        parents=parents,
    )


def begin(graph: Graph, progress: Progress, step: str) -> Progress:
    """Return the progress with the next attempt at a ready step under way."""
    return {**progress, step: next_attempt(graph, progress, step)}


def accept(progress: Progress, step: str, artifact: str) -> Progress:
    """Return the progress with the step's artifact accepted."""
    return {**progress, step: changed(progress[step], phase=Phase.ACCEPTED, accepted=artifact)}


def mark(progress: Progress, step: str, phase: Phase) -> Progress:
    """Return the progress with the step in another phase, its counts untouched."""
    return {**progress, step: changed(progress[step], phase=phase)}


def redo(graph: Graph, progress: Progress, targets: Iterable[str]) -> Progress:
    """Return the progress with the targets, and all that requires them, unset (S5)."""
    unset = {step: changed(progress[step], phase=Phase.IDLE, accepted=None) for step in cleared(graph, targets)}
    return {**progress, **unset}


def cleared(graph: Graph, targets: Iterable[str]) -> tuple[str, ...]:
    """Return what a backtrack to the targets unsets, in file order."""
    wanted = set(targets)
    for target in tuple(wanted):
        wanted.update(graph.below[target])
    return tuple(step for step in graph.steps if step in wanted)


def new_round(progress: Progress) -> Progress:
    """Return the progress with all counts given back, after the requirements have changed.

    A step in the middle of a visit keeps that visit, as its first of the round, also while it waits for a person, since
    it goes on with that visit when nobody answers. So does a step whose artifact stands:
    it is gone back to `backtrack_budget` times at most, in this round as in any. A stuck step is tried anew.
    """
    running = (Phase.BUSY, Phase.FAILED, Phase.AGAIN, Phase.ASKED)
    return {
        step: changed(
            slot,
            phase=Phase.IDLE if slot.phase is Phase.STUCK else slot.phase,
            visits=1 if slot.phase in (*running, Phase.ACCEPTED) else 0,
            attempt=slot.attempt if slot.phase in running else 0,
            parents=slot.parents if slot.phase in (*running, Phase.ACCEPTED) else None,
        )
        for step, slot in progress.items()
    }


def can_retry(graph: Graph, progress: Progress, step: str) -> bool:
    """Tell whether the visit has attempts left (S4). A deterministic step would only repeat itself."""
    budget = graph.budgets[step]
    return not budget.deterministic and progress[step].attempt < budget.rmax


def can_redo(graph: Graph, progress: Progress, target: str) -> bool:
    """Tell whether the target, and every non-leaf below it that would be redone, has a visit left."""
    if graph.budgets[target].deterministic or target in graph.leaves:
        return False
    return all(_has_visit(graph, progress, step) for step in (target, *graph.below[target]))


def _has_visit(graph: Graph, progress: Progress, step: str) -> bool:
    if step in graph.leaves or graph.budgets[step].deterministic:
        return True
    return progress[step].visits <= graph.budgets[step].backtrack_budget
