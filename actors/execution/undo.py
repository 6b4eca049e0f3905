"""The effects of an execution and their undoing, as values that `evolve` stores. Pure.

Each successful call of a generator has an effect, even if a check has rejected the call's result. If nobody knows
whether a call did its work, the effect is uncertain. A person is asked before an uncertain effect is undone.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from actors.plans.plan import IRREVERSIBLE, NOTHING, UNDO_WORDS
from actors.tools.uses import ModelUse, PersonUse, ToolUse, is_agent


class EffectEnd(StrEnum):
    """The result of the undoing of an effect."""

    UNDONE = "undone"  # the undo tool has succeeded
    BY_HAND = "by_hand"  # a person has undone the effect
    LEFT = "left"  # a person has decided not to undo the effect, or nobody has answered
    NOT_DONE = "not_done"  # a person knows that there was nothing to undo


@dataclass(frozen=True, slots=True)
class CallEffect:
    """The effect of one call of a generator, with the facts that are needed to undo it."""

    node: str
    number: int
    """The number of the call in the execution, from 1, in the order of requests."""
    step: str
    undo: str
    attempts: int
    """The number of failed calls of the undo tool after which a person is asked: the step's `retry_budget`.
    """
    arguments: str = "{}"
    """The arguments of the call: a JSON object as text. For a file that a model writes, the object has only the path.
    """
    values: Mapping[str, str] = field(default_factory=dict)
    certain: bool = True
    """Whether the call has succeeded; False if nobody knows what it did."""
    before_fork: bool = False

    @property
    def arguments_by_name(self) -> Mapping[str, Any]:
        """The arguments of the call, parsed from the text `arguments`; the keys are the names of the arguments."""
        arguments: Mapping[str, Any] = json.loads(self.arguments)
        return arguments

    @property
    def counts(self) -> bool:
        """Whether a tool or a person must undo the effect. False if `undo` is `nothing` or `irreversible`."""
        return self.undo not in UNDO_WORDS


@dataclass(frozen=True, slots=True)
class Undoing:
    """The state of undoing all effects of an execution, with the state of the current effect."""

    why: str
    tries: int = 0
    """The number of calls of the undo tool for the current effect."""
    tool_open: bool = False
    backoff_seconds: float = 0.0
    asks: str = ""
    """The reason for asking a person about the current effect, as a clause; empty if no person is asked."""
    question: str = ""
    may_call: bool = False
    end: EffectEnd | None = None
    end_question: str | None = None


def with_effect(effects: dict[str, CallEffect], effect: CallEffect) -> dict[str, CallEffect]:
    """Return the effects with one effect added or replaced, sorted by the numbers of the calls."""
    listed = {**effects, effect.node: effect}
    last = next(reversed(effects.values()), None)
    if last is None or last.number < effect.number:
        return listed
    return {value.node: value for value in sorted(listed.values(), key=lambda item: item.number)}


def to_undo(effects: dict[str, CallEffect], ends: Mapping[str, EffectEnd]) -> CallEffect | None:
    """Return the effect to undo next: the last effect that must be undone and is not settled; None if none is left."""
    return next((effect for effect in reversed(effects.values()) if effect.counts and effect.node not in ends), None)


def can_undo(effects: Mapping[str, CallEffect], ends: Mapping[str, EffectEnd]) -> bool:
    """Return whether at least one effect that is not settled has an undo in the plan."""
    return any(effect.counts and effect.undo and effect.node not in ends for effect in effects.values())


@dataclass(frozen=True, slots=True)
class ShownEffect:
    """An effect and the status of its undoing, as views show it."""

    step: str
    call: int
    undo: str
    status: str
    """A value of `EffectEnd`, `irreversible`, or `open` if the undoing has not ended."""

    def to_json(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        return {"step": self.step, "call": self.call, "undo": self.undo or None, "status": self.status}


def _status(effect: CallEffect, end: EffectEnd | None) -> str:
    return str(end or (IRREVERSIBLE if effect.undo == IRREVERSIBLE else "open"))


def effect_views(effects: dict[str, CallEffect], ends: Mapping[str, EffectEnd]) -> tuple[ShownEffect, ...]:
    """Return all effects except those whose undo is `nothing`, the last call first."""
    listed = (effect for effect in reversed(effects.values()) if effect.undo != NOTHING)
    return tuple(ShownEffect(item.step, item.number, item.undo, _status(item, ends.get(item.node))) for item in listed)


_WORDS = {
    "undone": "undone",
    "by_hand": "undone by hand",
    "left": "left as it is",
    "not_done": "not done at all",
    IRREVERSIBLE: "irreversible",
    "open": "not undone",
}


def effect_text(effect: ShownEffect) -> str:
    """Return the status of an effect in words."""
    by = f" by {effect.undo}" if effect.status == EffectEnd.UNDONE else ""
    return f"{_WORDS[effect.status]}{by}"


def count_ends(shown: Iterable[ShownEffect]) -> str:
    """Return how many effects have each status, as a clause; empty if there are no effects."""
    statuses = [item.status for item in shown]
    return ", ".join(f"{statuses.count(status)} {word}" for status, word in _WORDS.items() if status in statuses)


def has_effect(use: ToolUse | ModelUse | PersonUse, phase: str) -> bool:
    """Return whether a phase has an effect if it succeeds. `phase` is the name of the phase."""
    if is_agent(use):
        return phase == "merge"
    return phase == ("write" if isinstance(use, ModelUse) else "act")
