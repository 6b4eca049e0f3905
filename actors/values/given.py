"""The facts that a planning run is given in addition to the problem: attached files, a start state, and steps of tools.

Before a guard judges a plan, given facts replace the model's values. A fact that is None is left to the model.
"""

import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from runtime.core.events import Value


class GivenAnswer(Value):
    """A question that was asked for an earlier planning run, with a person's answer."""

    question: str
    """The question in the form that the person saw."""
    answer: str = ""
    unanswered: str = ""


class ReadableResult(Value):
    """The facts that a plan may read from the result of a generator, and the facts that its call needs."""

    outcomes: tuple[str, ...] = ()
    """The result's outcomes, in their order; empty if a success has only one outcome."""
    values: tuple[str, ...] = ()
    """The sorted tokens whose values are read from the result."""
    uses: tuple[str, ...] = ()
    """The sorted tokens whose values the call uses. They are among the preconditions of the step."""

    @property
    def shown(self) -> dict[str, list[str]]:
        """The fields that a prompt shows: all fields that are not empty."""
        fields = {"outcomes": self.outcomes, "values": self.values, "uses": self.uses}
        return {key: list(names) for key, names in fields.items() if names}


class Given(Value):
    """The facts that an execution gives to a planning run."""

    initial_state: tuple[str, ...] | None = None
    """The tokens that hold at the start of the plan; None leaves them to the model."""
    goal_state: tuple[str, ...] | None = None
    """The tokens that must hold at the end; None leaves them to the model."""
    invariants: tuple[Mapping[str, Any], ...] | None = None
    """The plan's invariants as JSON objects; None leaves them to the model."""
    requirements: tuple[Mapping[str, Any], ...] | None = None
    """The stated requirements as JSON objects; None leaves them to the model."""
    kept_requirements: tuple[Mapping[str, Any], ...] = ()
    """Requirements that are added to every plan, as JSON objects."""
    kept_invariants: tuple[Mapping[str, Any], ...] = ()
    """Invariants that are added to every plan, as JSON objects."""
    generators: tuple[str, ...] | None = None
    """The names of generators that tools implement, which steps may use; None allows all names."""
    guards: tuple[str, ...] | None = None
    """The names of guards that tools implement, which steps may use; None allows all names."""
    step_generators: tuple[str, ...] = ()
    """Ids of steps that tools execute, whatever the generator."""
    step_guards: tuple[str, ...] = ()
    """Ids of steps that tools check, whatever the guard."""
    results: Mapping[str, ReadableResult] = Field(default_factory=dict, exclude_if=operator.not_)
    """The facts in the results of generators, by name. A generator without facts is left out."""
    step_results: Mapping[str, ReadableResult] = Field(default_factory=dict, exclude_if=operator.not_)
    """The facts in the results of `step_generators`, by the ids of the steps."""
    guard_uses: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=operator.not_)
    """The tokens whose values guards use, by the names of the guards. Guards that use no tokens are left out."""
    undos: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """The undo of a generator's call, by the generator's name: a tool, `nothing` or `irreversible`."""
    step_undos: Mapping[str, str] = Field(default_factory=dict, exclude_if=operator.not_)
    """The undo of a call of `step_generators`, by the ids of the steps."""
    known_values: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The tokens of the initial state whose value is known."""
    failure_summary: str = ""
    """The reason why the previous plan failed. Prompts show the first 4,000 bytes. Empty if no plan failed."""
    achieved: tuple[str, ...] = ()
    """Tokens, or texts for people, about completed work that is not repeated."""
    failed_generators: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The sorted generators of steps that failed in earlier plans; only for plans made from the steps of tools."""
    answers: tuple[GivenAnswer, ...] = ()
    """The questions of earlier planning runs with their answers, oldest first."""
    asks_nobody: bool = False
    """Whether a question ends the run at once, because nobody answers. The result then has the question."""

    @property
    def values(self) -> dict[str, list[Any]]:
        """The facts that replace parts of a plan, by the plan's keys."""
        fixed: dict[str, Sequence[Any] | None] = {
            "initial_state": self.initial_state,
            "goal_state": self.goal_state,
            "invariants": None if self.invariants is None else [dict(item) for item in self.invariants],
            "requirements": None if self.requirements is None else [dict(item) for item in self.requirements],
        }
        return {key: list(value) for key, value in fixed.items() if value is not None}

    @property
    def shown(self) -> dict[str, Any]:
        """All given facts that prompts show, by name: the values, and the names that steps may use."""
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
"""The largest number of bytes in one attached file or listing. A longer text is cut."""
ATTACHMENTS_BYTES_MAX = 256_000
"""The largest number of bytes in all attachments with their names: about 64,000 tokens in every prompt of the run."""


class Attachment(Value):
    """A file, or the list of a folder's files."""

    name: str
    text: str
    """The content without texts that look like secrets. A listing has one path per line."""
    kind: Literal["file", "listing"] = "file"
    left_out: int = 0
    """The number of bytes of a file, or paths of a listing, that were left out."""

    @property
    def shown(self) -> str:
        """The text that a prompt shows: the name, then the content."""
        unit = "bytes" if self.kind == "file" else "files"
        more = f"\n({self.left_out:,} more {unit})" if self.left_out else ""
        return f"{self.name}\n\n{self.text}{more}"


@cache
def _adapter() -> TypeAdapter[tuple[Attachment, ...]]:
    return TypeAdapter(tuple[Attachment, ...])


def encode_attachments(attachments: tuple[Attachment, ...]) -> str:
    """Return attachments as the text of a record; empty if there are no attachments."""
    return _adapter().dump_json(attachments, exclude_defaults=True).decode() if attachments else ""


def read_attachments(text: str) -> tuple[Attachment, ...]:
    """Return the attachments in a record's text. Raises `pydantic.ValidationError`."""
    return _adapter().validate_json(text) if text else ()


class DeclaredOutcome(Value):
    """One of the ways in which a declared step may succeed."""

    name: str
    """The name that the binding reads from the output."""
    effects: tuple[str, ...] = ()
    """Tokens that the outcome adds, besides the tokens that the step adds."""
    delete_effects: tuple[str, ...] = ()
    """Tokens that the outcome deletes, besides the tokens that the step deletes."""


class DeclaredStep(Value):
    """A step that a tools file declares for a generator. Plans that are made without a model consist of such steps."""

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
    """Tokens that the step's success deletes, before tokens are added."""
    outcomes: tuple[DeclaredOutcome, ...] = ()
    """The ways in which the step may succeed; empty if there is only one way."""
