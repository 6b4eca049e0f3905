"""The policies that are compared on recorded dialogues.

After a rejection, a policy chooses the next move from the facts that a run would know at this moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from replan_lab.recorded_dialogues.records import Move, RecordedAttempt


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The shares of successes and repeats of a model, counted on its other tasks.

    Each share is shifted towards the mean of all models.
    """

    first_accepted: float
    """The share of accepted first attempts."""
    told_retry_mends: float
    """After a rejection, the share of accepted next attempts of the same dialogue."""
    afresh_mends: float
    """After a rejected first attempt at a task, the share of accepted first attempts of other dialogues about the task.
    """
    repeats: float
    """After a rejection, the share of next attempts of the same dialogue that are equal to the rejected attempt."""
    count: int

    @property
    def shares(self) -> Mapping[str, float]:
        """The shares by name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "count"}


@dataclass(frozen=True, slots=True)
class RejectedAttempt:
    """A rejected attempt, and the move that led to it."""

    move: Move | None
    attempt: RecordedAttempt


@dataclass(frozen=True, slots=True)
class Seen:
    """The facts that a policy may see after a rejection."""

    made: tuple[RejectedAttempt, ...]
    """The rejected attempts, oldest first. The policy chooses the move after the last attempt."""
    moves: frozenset[Move]
    """The possible moves. `STOP` is always one of them."""
    attempts_left: int
    model: str
    known: ModelRecord

    @property
    def here(self) -> tuple[RecordedAttempt, ...]:
        """The attempts of the current dialogue, oldest first."""
        begins = max((at for at, made in enumerate(self.made) if made.move is not Move.RETRY), default=0)
        return tuple(made.attempt for made in self.made[begins:])

    @property
    def repeats(self) -> int:
        """The number of attempts of the current dialogue that are equal to an earlier attempt of the dialogue."""
        texts = [attempt.text for attempt in self.here if attempt.text]
        return len(texts) - len(set(texts))

    @property
    def came_again(self) -> bool:
        """Whether the last attempt is equal to an earlier attempt of its dialogue."""
        *earlier, last = self.here
        return bool(last.text) and last.text in {attempt.text for attempt in earlier}


Policy = Callable[[Seen], Move]


def always(move: Move) -> Policy:
    """Return the policy that always makes one move. If the move is not possible, the policy retries, or else stops."""
    return lambda seen: _first(seen, move, Move.RETRY)


def _first(seen: Seen, *moves: Move) -> Move:
    return next((move for move in moves if move in seen.moves), Move.STOP)


def repeat_rule(seen: Seen) -> Move:
    """Begin another dialogue if the model repeated at least half of its rejected attempts at other tasks.

    Otherwise, retry.
    """
    if seen.known.repeats >= 0.5:
        return _first(seen, Move.AFRESH, Move.RETRY)
    return _first(seen, Move.RETRY, Move.AFRESH)


MARGIN = 1.25
"""Fresh attempts are clearly better if their success rate is more than this number times the rate of retries. Both
rates are from the model's other tasks."""


def compare_chances(margin: float) -> Policy:
    """Return the policy that compares the success rates of fresh attempts and retries on the model's other tasks.

    The policy begins another dialogue if the rate of fresh attempts is more than `margin` times the rate of retries.
    Otherwise the policy retries.
    """

    def choose(seen: Seen) -> Move:
        known = seen.known
        if known.afresh_mends > margin * known.told_retry_mends:
            return _first(seen, Move.AFRESH, Move.RETRY)
        return _first(seen, Move.RETRY, Move.AFRESH)

    return choose


REPEATS_MAX = 2


def informed(seen: Seen) -> Move:
    """Choose a move from the model's shares, the information in the finding, and the number of repeated attempts.

    The policy begins another dialogue after a repeated attempt. It also begins another dialogue if the finding has no
    information and fresh attempts solved clearly more of the model's other tasks. Otherwise it retries. After the
    second repeated attempt, or after a retry without a proposal, it never retries: it begins another dialogue, or stops
    if there is none.
    """
    *_, last = seen.here
    if seen.repeats >= REPEATS_MAX or (len(seen.here) > 1 and not last.text):
        return _first(seen, Move.AFRESH)
    known = seen.known
    if seen.came_again or (not last.informative and known.afresh_mends > MARGIN * known.told_retry_mends):
        return _first(seen, Move.AFRESH, Move.RETRY)
    return _first(seen, Move.RETRY, Move.REPHRASE, Move.AFRESH)


ARMS: Mapping[str, Policy] = {
    "retry": always(Move.RETRY),
    "afresh": always(Move.AFRESH),
    "rephrase": always(Move.REPHRASE),
    "stop": always(Move.STOP),
    "repeat_rule": repeat_rule,
    "better_chance": compare_chances(1.0),
    "clearly_better": compare_chances(MARGIN),
    "informed": informed,
}
"""The policies by name. Each policy is compared with `BASELINE`."""
BASELINE = "retry"
