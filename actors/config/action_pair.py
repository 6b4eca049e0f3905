"""Pydantic models for a step of a workflow file and for its key `search`. Pure.

The methods of `actors.config.workflow.Workflow` apply the workflow's defaults to a step.
"""

import operator
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, Field, StringConstraints

from actors.config.model_spec import NAME_MAX
from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, config_error
from actors.guards.port import Composite, GuardOrComposite, Name
from actors.search.notation import NUMBER_MAX, NUMBERS, UnknownSearch, read_search
from actors.values.model_settings import ModelSettings

COUNT_MAX = 100_000
SECONDS_MAX = 86_400.0
"""The longest time limit, in seconds, that a configuration may set: one day."""
StepId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Positive = Annotated[int, Field(strict=True, ge=1, le=COUNT_MAX)]
Count = Annotated[int, Field(strict=True, ge=0, le=COUNT_MAX)]
Patience = Annotated[int, Field(strict=True, ge=2, le=COUNT_MAX)]
"""How many equal failures of a step in a row count as stagnation. The number is at least two, since one failure is not
a repetition."""
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=NAME_MAX)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=SECONDS_MAX, allow_inf_nan=False)]

CHILD = "workflow:"
"""The beginning of a generator's name if the generator runs another workflow as a child run. The workflow's name
follows."""


class ActionPair(Config):
    """A generator and the guard that judges its artifacts."""

    generator: Name
    """The generator: `model`, another built-in name, `workflow:NAME`, or a plug-in."""
    guard: GuardOrComposite
    """The guard: a name, or a composite of several guards."""
    requires: tuple[StepId, ...] = ()
    """The steps whose accepted artifacts this step uses."""
    description: str = ""
    """The work of the step, in one line for people."""
    role: Name | None = None
    """The kind of the step's artifact, named by policies and prompts; null derives it from the guard."""
    rmax: Positive | None = None
    """The largest number of attempts per visit; null uses the workflow's value."""
    backtrack_budget: Count = 0
    """How many times the search may backtrack to this step."""
    r_patience: Patience | None = None
    """The number of successive equal failures that counts as stagnation; null uses the workflow's value."""
    e_max: Count | None = None
    """The largest number of escalations that this step may cause in a round; null uses the workflow's value."""
    escalate_to: tuple[StepId, ...] = Field(
        default=(), validation_alias=AliasChoices("escalate_to", "escalate_feedback_to")
    )
    """The earlier steps to redo if this step stagnates; if empty, the policy decides."""
    escalate_by_guard: Mapping[str, tuple[StepId, ...]] = Field(
        default_factory=dict, validation_alias=AliasChoices("escalate_by_guard", "escalate_feedback_by_guard")
    )
    """The steps to redo after a guard rejects. The keys are guard names as written in this file, even if the target
    level replaces the guard.
    """
    prompt: Name | None = None
    """The id of the prompt entry; null uses the entry for the step's id, or else for its role."""
    generator_config: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the generator, which differ between generators."""
    guard_config: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the guard. In a composite, each member's name is the key of its settings."""
    child_calls: Positive | None = None
    """The largest number of calls in one run of `workflow:NAME`; null uses the child's worst case or limit, whichever
    is lower.
    """
    deterministic: bool | None = None
    """Whether the step calls no model; null derives it from the generator."""
    concurrency: Annotated[int, Field(strict=True, ge=1, le=256)] = 4
    """The largest number of branches that may run this step at the same time."""
    timeout_seconds: Seconds | None = None
    """The time limit of one model call, in seconds; null uses the workflow's value."""
    output_tokens_max: Positive | None = None
    """The largest number of tokens in one reply; null uses the workflow's value."""
    model: ModelName | None = Field(default=None, exclude_if=lambda value: value is None)
    """The model that the step calls, in the form of `--model`; null uses the run's model."""
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)
    """The settings of the step's model calls; missing settings come from the workflow."""

    @property
    def child(self) -> str | None:
        """The workflow that the generator runs, by name; None if it runs none."""
        return self.generator.removeprefix(CHILD) if self.generator.startswith(CHILD) else None

    @property
    def guards(self) -> tuple[str, ...]:
        """The names of the guard, or of the members of the composite."""
        return self.guard.members if isinstance(self.guard, Composite) else (self.guard,)


def canonical_search(value: Any) -> str:
    """Return a search as one text with all its numbers, such as `beam:4`. This function is a pydantic validator."""
    try:
        return str(read_search(value))
    except UnknownSearch as problem:
        hint = nearest(problem.name, NUMBERS, kind="searches") if problem.name else problem.hint
        raise config_error(str(problem), (), hint) from None


def _search_schema() -> dict[str, Any]:
    """Return the JSON Schema of the three forms of a search: a name, a name with numbers, and a mapping."""
    number = {"type": "integer", "minimum": 1, "maximum": NUMBER_MAX}
    names = list(NUMBERS)
    keys: dict[str, Any] = {key: number for numbers in NUMBERS.values() for key in numbers}
    mapping = {
        "type": "object",
        "properties": {"name": {"enum": names}, **keys, "calls": {"type": "integer", "minimum": 1}},
        "required": ["name"],
        "additionalProperties": False,
    }
    numbered = {"type": "string", "pattern": r"^[a-z_]+:[1-9][0-9]*(x[1-9][0-9]*)?$"}
    return {"anyOf": [{"enum": names}, numbered, mapping]}


SEARCH_SCHEMA = _search_schema()
