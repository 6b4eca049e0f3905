"""The effects of an execution and their undoing: values that `evolve` keeps. Pure.

An effect is a successful call of a generator, whether or not a check accepted its result. If nobody knows what a call
did, its effect is uncertain: a person is asked before it is undone.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from actors.plans.plan import IRREVERSIBLE, NOTHING, UNDO_WORDS
from actors.tools.uses import ModelUse, PersonUse, ToolUse, is_agent


class EffectEnd(StrEnum):
    """The end of an effect that was to be undone."""

    UNDONE = "undone"  # the undo tool has succeeded
    BY_HAND = "by_hand"  # a person has undone it
    LEFT = "left"  # a person leaves it, or nobody has answered
    NOT_DONE = "not_done"  # there was nothing to undo, as a person knows


@dataclass(frozen=True, slots=True)
class CallEffect:
    """The effect of one call of a generator, and the facts that its undoing needs."""

    node: str
    number: int
    """The number of the call in the execution, from 1: the order in which calls were requested."""
    step: str
    """The id of its step in the plan of its time."""
    undo: str
    """The step's `undo`: the name of a tool, `nothing`, `irreversible`, or empty if the step has none."""
    attempts: int
    """The calls of the undo tool that may fail before a person is asked: the step's `retry_budget`."""
    arguments: str = "{}"
    """The arguments of the call, a JSON object as text; only the path of a file that a model wrote."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of tokens that were known after it."""
    certain: bool = True
    """Whether the call has succeeded; False where nobody knows what it did."""
    before_fork: bool = False
    """Whether it was made by the run that this one was forked from."""

    @property
    def call(self) -> Mapping[str, Any]:
        """The arguments of the call."""
        arguments: Mapping[str, Any] = json.loads(self.arguments)
        return arguments

    @property
    def counts(self) -> bool:
        """Whether there is something to undo, or to ask about."""
        return self.undo not in UNDO_WORDS


@dataclass(frozen=True, slots=True)
class Undoing:
    """The undoing of everything that was done, until it is over."""

    why: str
    tries: int = 0
    """The calls of the undo tool so far for the effect that is undone now."""
    tool_open: bool = False
    """Whether such a call is open."""
    rest_seconds: float = 0.0
    """The back-off before the next one."""
    asks: str = ""
    """Why a person is asked about the effect, as a clause; empty where nobody is."""
    question: str = ""
    """The id of that question; empty until it is asked."""
    may_call: bool = False
    """Whether a person has said that the undo tool is to be called."""
    end: EffectEnd | None = None
    """What has become of the effect, until that is recorded."""
    end_question: str | None = None
    """The question by which a person has said so."""


def with_effect(effects: dict[str, CallEffect], effect: CallEffect) -> dict[str, CallEffect]:
    """Return the effects with one added or replaced, sorted by the numbers of the calls."""
    listed = {**effects, effect.node: effect}
    last = next(reversed(effects.values()), None)
    if last is None or last.number < effect.number:
        return listed
    return {value.node: value for value in sorted(listed.values(), key=lambda item: item.number)}


def to_undo(effects: dict[str, CallEffect], ends: Mapping[str, EffectEnd]) -> CallEffect | None:
    """Return the effect that is undone next: the last one that counts and has no end; None if there is none."""
    return next((effect for effect in reversed(effects.values()) if effect.counts and effect.node not in ends), None)


def can_undo(effects: Mapping[str, CallEffect], ends: Mapping[str, EffectEnd]) -> bool:
    """Return whether at least one effect without an end has a declared undo."""
    return any(effect.counts and effect.undo and effect.node not in ends for effect in effects.values())


@dataclass(frozen=True, slots=True)
class ShownEffect:
    """An effect of an execution that is undone, as views show it."""

    step: str
    call: int
    """The number of the call in the execution."""
    undo: str
    """What undoes it; empty where nothing is declared."""
    status: str
    """One of `EffectEnd`, `irreversible`, or `open` where it is not undone."""

    def to_json(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        return {"step": self.step, "call": self.call, "undo": self.undo or None, "status": self.status}


def _status(effect: CallEffect, end: EffectEnd | None) -> str:
    return str(end or (IRREVERSIBLE if effect.undo == IRREVERSIBLE else "open"))


def effect_views(effects: dict[str, CallEffect], ends: Mapping[str, EffectEnd]) -> tuple[ShownEffect, ...]:
    """Return all effects but those with the undo `nothing`, the last call first."""
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
"""The words for each status, in the order of the summary."""


def effect_text(effect: ShownEffect) -> str:
    """Return the status of an effect in words."""
    by = f" by {effect.undo}" if effect.status == EffectEnd.UNDONE else ""
    return f"{_WORDS[effect.status]}{by}"


def count_ends(shown: Iterable[ShownEffect]) -> str:
    """Return the number of effects with each status, as a clause; empty if there are none."""
    statuses = [item.status for item in shown]
    return ", ".join(f"{statuses.count(status)} {word}" for status, word in _WORDS.items() if status in statuses)


def has_effect(use: ToolUse | ModelUse | PersonUse, phase: str) -> bool:
    """Return whether a phase of an attempt, by its name, is the one whose success is an effect."""
    if is_agent(use):
        return phase == "merge"
    return phase == ("write" if isinstance(use, ModelUse) else "act")
