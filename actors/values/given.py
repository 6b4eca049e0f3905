"""Facts that a planning run gets in addition to the problem: attached files, a start state, and steps of tools.

Before a guard judges a plan, these facts replace the model's values. If a fact is None, the model's value is kept.
"""

import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from runtime.core.events import Value


class GivenAnswer(Value):
    """A question that an earlier planning run of the same execution asked, with the person's answer."""

    question: str
    """The question in the form that the person saw."""
    answer: str = ""
    unanswered: str = ""


class ReadableResult(Value):
    """The facts that a plan may read from the result of a generator's call, and the facts that this call needs."""

    outcomes: tuple[str, ...] = ()
    """The named outcomes that the result can report, in their order; empty if a success has no named outcomes."""
    values: tuple[str, ...] = ()
    """The sorted tokens whose values are read from the result."""
    uses: tuple[str, ...] = ()
    """The sorted tokens whose values the call uses. Each of these tokens must be a precondition of the step."""

    @property
    def shown(self) -> dict[str, list[str]]:
        """All fields that are not empty. A prompt shows these fields."""
        fields = {"outcomes": self.outcomes, "values": self.values, "uses": self.uses}
        return {key: list(names) for key, names in fields.items() if names}


class Given(Value):
    """The facts that an execution gives to a planning run."""

    initial_state: tuple[str, ...] | None = None
    """The tokens that hold at the start of the plan; None if the model chooses them."""
    goal_state: tuple[str, ...] | None = None
    """The tokens that must hold at the end; None if the model chooses them."""
    invariants: tuple[Mapping[str, Any], ...] | None = None
    """The plan's invariants as JSON objects; None if the model chooses them."""
    requirements: tuple[Mapping[str, Any], ...] | None = None
    """The stated requirements as JSON objects; None if the model chooses them."""
    kept_requirements: tuple[Mapping[str, Any], ...] = ()
    """Requirements that are added to every plan, as JSON objects."""
    kept_invariants: tuple[Mapping[str, Any], ...] = ()
    """Invariants that are added to every plan, as JSON objects."""
    generators: tuple[str, ...] | None = None
    """The names of generators that tools implement, which steps may use; None allows all names."""
    guards: tuple[str, ...] | None = None
    """The names of guards that tools implement, which steps may use; None allows all names."""
    step_generators: tuple[str, ...] = ()
    """The ids of the steps that a tool executes, whatever generator the step names."""
    step_guards: tuple[str, ...] = ()
    """The ids of the steps that a tool checks, whatever guard the step names."""
    results: Mapping[str, ReadableResult] = Field(default_factory=dict, exclude_if=operator.not_)
    """By generator name: the facts in the results of the generator. Generators without facts are not in the mapping."""
    step_results: Mapping[str, ReadableResult] = Field(default_factory=dict, exclude_if=operator.not_)
    """By step id: the facts in the results of a step in `step_generators`."""
    guard_uses: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=operator.not_)
    """By guard name: the tokens whose values the guard uses. Guards that use no tokens are not in the mapping."""
    undos: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """By generator name: the undo of the generator's call, which is a tool, `nothing` or `irreversible`."""
    step_undos: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """By step id: the undo of the call of a step in `step_generators`."""
    known_values: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The tokens of the initial state whose value is known."""
    failure_summary: str = ""
    """The reason why the previous plan failed. Prompts show its first 4,000 bytes. The text is empty if no plan failed.
    """
    achieved: tuple[str, ...] = ()
    """Tokens, or texts for people, that say which work is done and must not be repeated."""
    failed_generators: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The sorted generators of steps that failed in earlier plans; only for plans that are made without a model."""
    answers: tuple[GivenAnswer, ...] = ()
    """The questions of earlier planning runs with their answers, oldest first."""
    asks_nobody: bool = False
    """Whether a question ends the run at once, because nobody can answer. In that case, the result of the run has the
    question.
    """

    @property
    def values(self) -> dict[str, list[Any]]:
        """A mapping from the keys of a plan to the facts that replace their values."""
        fixed: dict[str, Sequence[Any] | None] = {
            "initial_state": self.initial_state,
            "goal_state": self.goal_state,
            "invariants": None if self.invariants is None else [dict(item) for item in self.invariants],
            "requirements": None if self.requirements is None else [dict(item) for item in self.requirements],
        }
        return {key: list(value) for key, value in fixed.items() if value is not None}

    @property
    def shown(self) -> dict[str, Any]:
        """A mapping from names to the facts that prompts show: `values`, the names that steps may use, and others."""
        names = {
            "generators": self.generators,
            "guards": self.guards,
            "step_generators": self.step_generators or None,
            "step_guards": self.step_guards or None,
            "achieved": self.achieved or None,
            "known_values": self.known_values or None,
            "kept_requirements": tuple(dict(item) for item in self.kept_requirements) or None,
            "kept_invariants": tuple(dict(item) for item in self.kept_invariants) or None,
        }
        results = {
            "results": {name: result.shown for name, result in self.results.items()},
            "step_results": {name: result.shown for name, result in self.step_results.items()},
            "guard_uses": {name: list(tokens) for name, tokens in self.guard_uses.items()},
            "undos": dict(self.undos),
            "step_undos": dict(self.step_undos),
        }
        listed = {key: list(value) for key, value in names.items() if value is not None}
        return {**self.values, **listed, **{key: value for key, value in results.items() if value}}


ATTACHMENT_BYTES_MAX = 64_000
"""The largest number of bytes in one attached file or one attached listing. A longer text is cut."""
ATTACHMENTS_BYTES_MAX = 256_000
"""The largest number of bytes in all attachments of a run together, with their names. They add up to about 64,000
tokens to every prompt of the run."""


class Attachment(Value):
    """A file, or the list of a folder's files."""

    name: str
    text: str
    """The content without texts that look like secrets. A listing has one path per line."""
    kind: Literal["file", "listing"] = "file"
    left_out: int = 0
    """The number of bytes of the file, or of paths of the listing, that are not in `text`."""

    @property
    def shown(self) -> str:
        """The text that a prompt shows: the name, then the content, then how much is left out."""
        unit = "bytes" if self.kind == "file" else "files"
        more = f"\n({self.left_out:,} more {unit})" if self.left_out else ""
        return f"{self.name}\n\n{self.text}{more}"


@cache
def _adapter() -> TypeAdapter[tuple[Attachment, ...]]:
    return TypeAdapter(tuple[Attachment, ...])


def encode_attachments(attachments: tuple[Attachment, ...]) -> str:
    """Return attachments as JSON for a record; an empty text if there are no attachments."""
    return _adapter().dump_json(attachments, exclude_defaults=True).decode() if attachments else ""


def read_attachments(text: str) -> tuple[Attachment, ...]:
    """Return the attachments in a record's text.

    Raises `pydantic.ValidationError` if the text is not from `encode_attachments`.
    """
    return _adapter().validate_json(text) if text else ()


class DeclaredOutcome(Value):
    """One of several ways in which a declared step can succeed."""

    name: str
    """The name of the outcome, which the tool's binding finds in the tool's output."""
    effects: tuple[str, ...] = ()
    """Tokens that the outcome adds, in addition to the tokens that the step adds."""
    delete_effects: tuple[str, ...] = ()
    """Tokens that the outcome deletes, in addition to the tokens that the step deletes."""


class DeclaredStep(Value):
    """A step that a tools file declares for a generator. Plans made without a model consist of declared steps."""

    generator: str
    guard: str = ""
    """The guard that checks the step; empty if no guard checks it."""
    retry_budget: int = Field(default=3, ge=1)
    """The number of attempts, including the first."""
    preconditions: tuple[str, ...] = ()
    """Tokens that must hold before the step, including the tokens whose values its calls use."""
    effects: tuple[str, ...] = ()
    """Tokens that the step's success adds."""
    delete_effects: tuple[str, ...] = ()
    """Tokens that the step's success deletes, before it adds tokens."""
    outcomes: tuple[DeclaredOutcome, ...] = ()
    """The ways in which the step can succeed; empty if there is only one way."""
