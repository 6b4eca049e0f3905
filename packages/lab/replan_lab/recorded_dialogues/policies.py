"""The policies that are compared on recorded dialogues. A policy chooses a move from what a run could see then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from replan_lab.recorded_dialogues.records import Move, RecordedAttempt


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The known shares of a model from its other tasks. Each share is moved towards the mean of all models."""

    first_accepted: float
    """How often a first attempt is accepted."""
    told_retry_mends: float
    """How often the next attempt of the same dialogue is accepted, after a rejection."""
    afresh_mends: float
    """How often a first attempt at a task is accepted after another first attempt at the task was rejected."""
    repeats: float
    """How often the next attempt of the same dialogue repeats the rejected attempt, word for word."""
    count: int

    @property
    def shares(self) -> Mapping[str, float]:
        """The shares by name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "count"}


@dataclass(frozen=True, slots=True)
class RejectedAttempt:
    """An attempt that a policy has seen rejected, and the move that it came from."""

    move: Move | None
    attempt: RecordedAttempt


@dataclass(frozen=True, slots=True)
class Seen:
    """The facts that a policy may see after a rejection."""

    made: tuple[RejectedAttempt, ...]
    """The rejected attempts, oldest first. The policy decides what follows the last attempt."""
    moves: frozenset[Move]
    """The moves that can still be made. `STOP` is always one of them."""
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
        """How many attempts of the current dialogue are equal to an earlier attempt of this dialogue."""
        texts = [attempt.text for attempt in self.here if attempt.text]
        return len(texts) - len(set(texts))

    @property
    def came_again(self) -> bool:
        """Whether the last attempt is equal to an earlier attempt of its dialogue."""
        *earlier, last = self.here
        return bool(last.text) and last.text in {attempt.text for attempt in earlier}


Policy = Callable[[Seen], Move]


def always(move: Move) -> Policy:
    """Return the policy that makes one move while this move is possible.

    After that, it retries if it can, or else stops.
    """
    return lambda seen: _first(seen, move, Move.RETRY)


def _first(seen: Seen, *moves: Move) -> Move:
    return next((move for move in moves if move in seen.moves), Move.STOP)


def repeat_rule(seen: Seen) -> Move:
    """Begin another dialogue if the model repeats at least half of its rejected attempts; otherwise retry."""
    if seen.known.repeats >= 0.5:
        return _first(seen, Move.AFRESH, Move.RETRY)
    return _first(seen, Move.RETRY, Move.AFRESH)


MARGIN = 1.25
"""The least ratio of tasks that fresh attempts mended to tasks that retries mended, among the model's other tasks."""


def compare_chances(margin: float) -> Policy:
    """Return the policy that retries, unless fresh attempts mended `margin` times as many other tasks of the model."""

    def choose(seen: Seen) -> Move:
        known = seen.known
        if known.afresh_mends > margin * known.told_retry_mends:
            return _first(seen, Move.AFRESH, Move.RETRY)
        return _first(seen, Move.RETRY, Move.AFRESH)

    return choose


REPEATS_MAX = 2


def informed(seen: Seen) -> Move:
    """Choose by the model's numbers, by whether the finding carries a fact, and by repeated attempts.

    It begins another dialogue after a repeated attempt. It also does so if the finding carries no fact and fresh
    attempts mended clearly more of the model's other tasks. Otherwise it retries. After the second repeated attempt, or
    if nothing was proposed, it begins another dialogue if possible, and otherwise stops.
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
"""The policies by name. The difference of each other policy to `BASELINE` is reported."""
BASELINE = "retry"
