"""What generators make and what they may see: artifacts and contexts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from runtime.core.cost import Usage
from runtime.models.replies import Parsed, Unreadable, read_reply


@dataclass(frozen=True)
class Artifact:
    """What a generator made for one step. `content` is the text as written; `node` is the search node's id.

    `value` is the JSON value in it, or why there is none; it is parsed once.
    """

    artifact_id: str
    step: str
    content: str
    node: str = ""
    previous_attempt_id: str | None = None
    parents: tuple[str, ...] = ()
    usage: Usage | None = None

    @cached_property
    def value(self) -> Parsed | Unreadable:
        """The JSON value that the content holds."""
        return read_reply(self.content)

    @cached_property
    def shown(self) -> str:
        """What prompts show of it: the value, without the words that the model put around it, or else the content."""
        return _indented(self.value.value) if isinstance(self.value, Parsed) else self.content


def _indented(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # An integer of more than 64 bits, or half a character.
        return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Feedback:
    """One rejection, as a later prompt shows it: which node, and the guard's messages as one text.

    `repeats` is the earlier artifact that this one was identical to, if any; the prompt says so.
    """

    node: str
    text: str
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Clarified:
    """A question and the user's answer to it. Without one, `unanswered` says why: `declined` or `expired`.

    `node` is the rejected attempt that it came from, if any.
    """

    question: str
    answer: str
    node: str = ""
    unanswered: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """All that a generator or a guard may see.

    `specification` is the problem's text; `constraints` the workflow's; `requirements` what the user has asked for
    since; `dependencies` the accepted artifact of every required step, by step id; `retry` this step's rejections and
    `escalation` the later failures that it caused, oldest first, at most `feedback_window` of each; `notes` what the
    user has said beside.
    """

    specification: str
    constraints: str = ""
    requirements: tuple[str, ...] = ()
    dependencies: Mapping[str, Artifact] = field(default_factory=dict)
    retry: tuple[Feedback, ...] = ()
    escalation: tuple[Feedback, ...] = ()
    clarifications: tuple[Clarified, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> tuple[str, ...]:
        """All texts of the user, the problem's first: what may be quoted as said."""
        answers = (clarified.answer for clarified in self.clarifications if clarified.answer)
        return (self.specification, *self.requirements, *answers, *self.notes)
