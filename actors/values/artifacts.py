"""The output of a generator (`Artifact`) and its input (`Context`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import orjson

from actors.values.given import Attachment, Given
from runtime.core.ledger import Usage
from runtime.models.replies import Parsed, Unreadable, is_whole, read_reply

LENGTH = "length"
"""The finish reason of a reply that reached its token limit."""
FILTERED = "content_filter"
"""The finish reason of a reply that a content filter stopped."""
LARGE = 64 * 1024
"""The largest number of characters in an artifact whose parsed value is kept in memory. A parsed value needs up to 30
times more memory than its text.
"""


@dataclass(frozen=True)
class Artifact:
    """The output of a generator for one step."""

    artifact_id: str
    step: str
    content: str
    """The generator's text, including any text around the JSON."""
    node: str = ""
    previous_attempt_id: str | None = None
    parents: tuple[str, ...] = ()
    usage: Usage | None = None
    """The tokens of the reply that the provider reports; None if it reports no tokens."""
    finish_reason: str = "stop"
    """The reason why the model stopped, in OpenAI's words: `stop`, `length` (`LENGTH`) or `content_filter`
    (`FILTERED`).
    """

    @property
    def ended_early(self) -> bool:
        """Whether the reply is not complete, because it reached its token limit or a content filter stopped it."""
        return lacks_end(self.content, self.finish_reason)

    def with_content(self, content: str) -> "Artifact":
        """Return the same artifact with other content."""
        return replace(self, content=content)

    def copy_if_large(self) -> "Artifact":
        """Return a copy of the artifact if it is large; otherwise return the artifact itself.

        The parsed value of a large artifact is stored in the copy, so it is freed together with the copy.
        """
        return replace(self) if len(self.content) > LARGE else self

    @cached_property
    def value(self) -> Parsed | Unreadable:
        """The JSON value in the content, or the reason why the content has none. The content is parsed once."""
        return read_reply(self.content)

    @property
    def parsed(self) -> Any:
        """The JSON value in the content, such as a plan as a dictionary; None if the content has none."""
        value = self.value
        return value.value if isinstance(value, Parsed) else None

    @cached_property
    def shown(self) -> str:
        """The text that prompts show: the JSON value in the content; the whole content if it has no JSON value."""
        return format_json(self.value.value) if isinstance(self.value, Parsed) else self.content


def lacks_end(content: str, finish_reason: str) -> bool:
    """Return whether a reply was cut off. Complete JSON is not cut off, whatever finish reason the server reports."""
    return finish_reason in (LENGTH, FILTERED) and not is_whole(content)


def format_json(value: Any) -> str:
    """Return a JSON value as indented text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # An integer of more than 64 bits, or a lone surrogate.
        return json.dumps(value, indent=2, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Feedback:
    """A rejection that later prompts show."""

    node: str
    text: str
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Clarified:
    """A question to the user that was answered, was declined or has expired."""

    question: str
    """The question in the form that the user saw."""
    answer: str
    node: str = ""
    """The search node of the rejected artifact that led to the question, if any."""
    unanswered: str = ""
    """The reason why the question has no answer: `declined` or `expired`; empty if it has an answer."""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that a generator or a guard may read."""

    specification: str
    constraints: str = ""
    """The workflow's `constraints`, which are rules for every step; may be empty."""
    requirements: tuple[str, ...] = ()
    dependencies: Mapping[str, Artifact] = field(default_factory=dict)
    retry: tuple[Feedback, ...] = ()
    """The last rejections of this step, oldest first; at most `feedback_window`."""
    escalation: tuple[Feedback, ...] = ()
    """The last failures of later steps that led back to this step, oldest first; at most `feedback_window`."""
    afresh: tuple[str, ...] | None = None
    """In a fresh attempt, whose prompt leaves out the earlier rejections: the findings of these rejections that the
    prompt still shows. None if the attempt is not fresh, or if the policy shows nothing of the rejections.
    """
    clarifications: tuple[Clarified, ...] = ()
    """The questions that were answered, were declined or have expired, in the order in which they were asked."""
    notes: tuple[str, ...] = ()
    """The user's notes, oldest first. A note is not a requirement."""
    attachments: tuple[Attachment, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Facts about the workflow, such as `roles`: the role of each step."""
    given: Given | None = None
    rejected_for: frozenset[str] = frozenset()
    """The codes of all errors for which the run has rejected attempts at this step."""

    @property
    def user_texts(self) -> tuple[str, ...]:
        """All texts of the user, the specification first: the texts that an artifact may quote."""
        answers = (clarified.answer for clarified in self.clarifications if clarified.answer)
        files = (attachment.shown for attachment in self.attachments)
        return (self.specification, *self.requirements, *answers, *self.notes, *files)
