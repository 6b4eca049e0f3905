"""How the events of a kind fall into pieces of work, for traces and metrics: attempts, checks and decisions. Pure.

Calls, tools, questions and waits are the same in every kind, so a kind says only what it has beside them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

E = TypeVar("E")

Scalar = str | int | float | bool | tuple[str, ...]
"""A value of a field: identifiers, numbers and codes, never a text of a model or a user."""


@dataclass(frozen=True, slots=True)
class CheckBegan:
    """A guard was asked for a verdict."""

    request_id: str
    """The id of the request."""
    node: str
    """The node whose work is checked."""
    guard: str
    """The name of the guard."""


@dataclass(frozen=True, slots=True)
class CheckEnded:
    """A guard has answered."""

    request_id: str
    """The id of the request that it answers."""
    node: str
    """The node whose work was checked."""
    guard: str
    """The name of the guard; of a composite the member that rejected."""
    passed: bool
    """Whether the work is accepted."""
    score: float
    """The verdict's score, from 0 to 1."""
    codes: tuple[str, ...] = ()
    """The codes of the errors that it found."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Something that happened at one moment, such as a decision."""

    name: str
    """Its name, such as `decide partial_replan`."""
    node: str = ""
    """The node that it is about; empty for the whole run."""
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    """What else is known, by the name of its field."""
    rule: str = ""
    """The rule that a decision followed; empty for anything else."""
    level: str = ""
    """How far back a decision goes; empty for anything else."""


Traced = CheckBegan | CheckEnded | Marked


def _no_attempt(_: str) -> str:
    return ""


def _nothing(_: object) -> tuple[Traced, ...]:
    return ()


def _no_ended_attempts(_: object, __: Sequence[str]) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Tracing(Generic[E]):
    """What a kind says about its events. The defaults serve a kind that has only calls, tools, questions and waits."""

    attempt: Callable[[str], str] = _no_attempt
    """Returns the attempt that a node of a call, a tool or a check belongs to; empty for none."""
    facts: Callable[[E], Sequence[Traced]] = _nothing
    """Returns the checks and decisions that an event is."""
    ended: Callable[[E, Sequence[str]], Collection[str]] = _no_ended_attempts
    """Returns the attempts that an event ends, of those that are open."""
