"""One branch of the search: a slot for each step, the operators (S1 to S6), and the move after a failure. Pure.

In the initial state of a branch, no step has an accepted artifact. In a goal state, every step has an accepted
artifact. There are five operators. `begin` starts an attempt, which is one model call. `accept` accepts the artifact of
an attempt. `mark` sets another phase: rejected, to be retried, waiting for a person, or stuck. `redo` backtracks: it
unsets the target steps and all steps that require them. `new_round` resets the counts.

A visit of a step ends with its first accepted artifact or with its last attempt. The next attempt after that begins a
new visit. A step that another step requires has at most `1 + backtrack_budget` visits. A leaf, which no step requires,
can have any number of visits. It has `rmax` attempts for each distinct set of parent artifacts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from actors.search.graph import Graph
from runtime.core.copies import changed


class Phase(StrEnum):
    """The phase of a step in a branch."""

    IDLE = "idle"  # no artifact; the next attempt begins a visit
    BUSY = "busy"  # an attempt is being generated or judged
    FAILED = "failed"  # rejected, and not yet decided
    AGAIN = "again"  # rejected; the next attempt is a retry in the same visit
    ASKED = "asked"  # waiting for a person's answer
    STUCK = "stuck"  # rejected, with nothing left to try in this round
    ACCEPTED = "accepted"


UNSET = frozenset({Phase.IDLE, Phase.AGAIN})
"""The phases of a step in which its next attempt can begin. The set is a constant for speed, because it is read after
every event.
"""
GOAL = frozenset({Phase.ACCEPTED})
"""The set of the only phase that steps have in a goal state, because all steps are accepted there (rule S2)."""


@dataclass(frozen=True)
class Slot:
    """The state of one step in a branch: its phase, its counts, and its accepted artifact."""

    phase: Phase = Phase.IDLE
    visits: int = 0
    attempt: int = 0
    """The number of the last attempt in the visit, from 1. For a leaf, the number includes earlier visits with the same
    parent artifacts.
    """
    number: int = 0
    """The number of the last visit, from 1. Unlike `visits`, this number is not reset in a new round."""
    parents: tuple[str, ...] | None = None
    accepted: str | None = None


_PHASE_OF = attrgetter("phase")


class BranchProgress(dict[str, Slot]):
    """The state of a branch: the slot of each step, in file order. The object is immutable."""

    __slots__ = ("_ready", "phases")

    def __init__(self, slots: Mapping[str, Slot]) -> None:
        super().__init__(slots)
        self.phases = frozenset(map(_PHASE_OF, slots.values()))
        """The phases that at least one step has."""
        self._ready: tuple[str, ...] | None = None

    def ready(self, graph: Graph) -> tuple[str, ...]:
        """Return the steps that can begin an attempt, in file order (S3)."""
        if self._ready is None:
            self._ready = () if self.phases.isdisjoint(UNSET) else tuple(_ready(graph, self))
        return self._ready


def _ready(graph: Graph, progress: BranchProgress) -> list[str]:
    result, requires = [], graph.requires
    # Read once, because reading an enum member is slow before Python 3.12.
    accepted, idle, again = Phase.ACCEPTED, Phase.IDLE, Phase.AGAIN
    for step, slot in progress.items():  # A plain loop: a generator would be slower.
        phase = slot.phase
        if phase is idle or phase is again:
            for parent in requires[step]:
                if progress[parent].phase is not accepted:
                    break
            else:
                result.append(step)
    return result


def start(graph: Graph) -> BranchProgress:
    """Return the initial state, in which no step has been attempted."""
    return BranchProgress(dict.fromkeys(graph.steps, Slot()))


def first(progress: BranchProgress, phase: Phase) -> str | None:
    """Return the first step, in file order, that is in `phase`; None if no step is in this phase."""
    return next((step for step, slot in progress.items() if slot.phase is phase), None)


def next_attempt(graph: Graph, progress: BranchProgress, step: str) -> Slot:
    """Return the slot that the step has after its next attempt has begun."""
    slot = progress[step]
    if slot.phase is Phase.AGAIN:
        return changed(slot, phase=Phase.BUSY, attempt=slot.attempt + 1)
    parents = tuple([progress[parent].accepted or "" for parent in graph.requires[step]])
    restart = step not in graph.leaves or parents != slot.parents
    return changed(
        slot,
        phase=Phase.BUSY,
        visits=slot.visits + 1,
        attempt=1 if restart else slot.attempt + 1,
        number=slot.number + 1,
        parents=parents,
    )


def begin(graph: Graph, progress: BranchProgress, step: str) -> BranchProgress:
    """Return the progress after the next attempt at a ready step has begun."""
    return BranchProgress({**progress, step: next_attempt(graph, progress, step)})


def accept(progress: BranchProgress, step: str, artifact: str) -> BranchProgress:
    """Return the progress with the step's artifact accepted."""
    return BranchProgress({**progress, step: changed(progress[step], phase=Phase.ACCEPTED, accepted=artifact)})


def mark(progress: BranchProgress, step: str, phase: Phase) -> BranchProgress:
    """Return the progress with the step in the phase `phase`. The step's counts do not change."""
    return BranchProgress({**progress, step: changed(progress[step], phase=phase)})


def redo(graph: Graph, progress: BranchProgress, targets: Iterable[str]) -> BranchProgress:
    """Return the progress after backtracking: the targets and all steps that require them are unset (S5)."""
    unset = {step: changed(progress[step], phase=Phase.IDLE, accepted=None) for step in cleared_steps(graph, targets)}
    return BranchProgress({**progress, **unset})


def cleared_steps(graph: Graph, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the steps that `redo` unsets, in file order: the targets and all steps that require them."""
    unset = set(targets)
    for target in tuple(unset):
        unset.update(graph.below[target])
    return tuple(step for step in graph.steps if step in unset)


def new_round(progress: BranchProgress) -> BranchProgress:
    """Return the progress with all counts reset, because the requirements have changed.

    If a step has a visit that is not finished, this visit becomes the first visit of the round. A visit that waits for
    a person is not finished, because it continues if nobody answers. The visit that made an accepted artifact also
    becomes the first visit. So the search can backtrack to the step `backtrack_budget` times, as in every round. A
    stuck step can be tried again.
    """
    in_visit = (Phase.BUSY, Phase.FAILED, Phase.AGAIN, Phase.ASKED)
    return BranchProgress(
        {
            step: changed(
                slot,
                phase=Phase.IDLE if slot.phase is Phase.STUCK else slot.phase,
                visits=1 if slot.phase in (*in_visit, Phase.ACCEPTED) else 0,
                attempt=slot.attempt if slot.phase in in_visit else 0,
                parents=slot.parents if slot.phase in (*in_visit, Phase.ACCEPTED) else None,
            )
            for step, slot in progress.items()
        }
    )


def can_retry(graph: Graph, progress: BranchProgress, step: str) -> bool:
    """Return whether the step has attempts left in its current visit (S4).

    A deterministic step has no attempts left, because its result would be the same.
    """
    budget = graph.budgets[step]
    return not budget.deterministic and progress[step].attempt < budget.rmax


def can_redo(graph: Graph, progress: BranchProgress, target: str) -> bool:
    """Return whether the target and every non-leaf step that requires the target have a visit left."""
    if graph.budgets[target].deterministic or target in graph.leaves:
        return False
    return all(_has_visit(graph, progress, step) for step in (target, *graph.below[target]))


def _has_visit(graph: Graph, progress: BranchProgress, step: str) -> bool:
    if step in graph.leaves or graph.budgets[step].deterministic:
        return True
    return progress[step].visits <= graph.budgets[step].backtrack_budget


class Search(StrEnum):
    """The way in which one branch is searched, that is, the steps to which the search may go back."""

    DEPTH_FIRST = "depth_first"  # the policy chooses the target
    BLIND = "blind"  # always one level up
    LINEAR = "linear"  # never back


class PruneCause(StrEnum):
    """The reason for pruning a branch."""

    STUCK = "stuck"  # it has nothing left to try
    DUPLICATE = "duplicate"  # another branch has the same artifacts
    RANK = "rank"  # better branches fill the beam
    BACK = "back"  # it would have to backtrack, and other branches need not
    CALLS = "calls"  # it has used up its slice of the calls


@dataclass(frozen=True, slots=True)
class Retry:
    """Try the failed step again, in this visit."""


@dataclass(frozen=True, slots=True)
class Redo:
    """Backtrack: unset the targets and all steps that require them."""

    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stuck:
    """Give up: nothing is left to try, or the policy says so. The step stays rejected in this round."""


Move = Retry | Redo | Stuck


def choose(graph: Graph, progress: BranchProgress, failed: str, wanted: Sequence[str]) -> Move:
    """Return the first possible move after the artifact of the step `failed` was rejected.

    `wanted` are the steps to which the policy wants to go back. If the failed step is one of them and has attempts
    left, the move is a retry. Otherwise the moves are tried in this order:

    1. back to the wanted steps
    2. back to a step as far up as the farthest wanted step, or farther
    3. back to a nearer step
    4. a retry in this visit
    5. a new visit of the failed step

    If no wanted step is above the failed step, case 2 begins one level up.
    """
    retry = can_retry(graph, progress, failed)
    if failed in wanted and retry:
        return Retry()
    allowed = tuple(step for step in wanted if step in graph.above[failed] and can_redo(graph, progress, step))
    if allowed:
        return Redo(allowed)
    far = max((graph.distance(step, failed) for step in wanted if step in graph.above[failed]), default=1)
    for target in (*graph.upward(failed, far), *graph.nearer(failed, far)):
        if can_redo(graph, progress, target):
            return Redo((target,))
    if retry:
        return Retry()
    if can_redo(graph, progress, failed):
        return Redo((failed,))
    return Stuck()


def stay(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a step that must not cause backtracking again: a retry, else a new visit, else `Stuck`."""
    if can_retry(graph, progress, failed):
        return Retry()
    return Redo((failed,)) if can_redo(graph, progress, failed) else Stuck()


def forward_only(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a linear search: a retry if attempts are left, else `Stuck`."""
    return Retry() if can_retry(graph, progress, failed) else Stuck()


def retry_or_go_up(graph: Graph, progress: BranchProgress, failed: str) -> Move:
    """Return the move of a search that ignores findings (S11): a retry if attempts are left, else one level back."""
    if can_retry(graph, progress, failed):
        return Retry()
    return choose(graph, progress, failed, graph.upward(failed, 1)[:1])
