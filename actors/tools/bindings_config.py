"""The bindings in a tools file. A binding names a tool, its arguments, and how to read its output. Pure."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, StringConstraints, field_validator
from pydantic import model_validator as checks

from actors.files.validation_errors import Config, config_error
from actors.plans.plan import RESERVED_OUTCOMES
from actors.tools.output_parsing import with_values
from actors.tools.parameters import PATTERN_CHARACTERS_MAX, Regex, pattern_problem

ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
ParameterName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
PlanName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""The name of a generator, guard or step in a plan."""

Expected = Literal["success", "failure"]
"""The end that a step expects from the call of a tool: the call must succeed, or it must fail."""


TokenName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""The name of a token that has a value, which a later step can use as an argument."""
OutcomeName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
OutcomePattern = Annotated[str, StringConstraints(min_length=1, max_length=PATTERN_CHARACTERS_MAX)]
"""A regular expression, in which `{token}` is replaced by the value of the token."""


class TokenValue(Config):
    """The value of a token, used as an argument."""

    value: TokenName
    """The token, whose value an earlier step reads from its output."""


class OutputValue(Config):
    """Where a token's value is in an output."""

    after: str = Field(default="", max_length=PATTERN_CHARACTERS_MAX)
    """The text right before the value; if empty, the value begins the output."""
    pattern: Regex = Field(min_length=1, max_length=PATTERN_CHARACTERS_MAX)
    """The regular expression of the value. The value is the longest match."""


StepToken = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^,]+$", strip_whitespace=True)]
"""A token of a plan. It contains no comma, because command lines separate tokens by commas."""


class OutcomeTokens(Config):
    """The tokens that one outcome changes, in addition to the tokens that every outcome changes."""

    effects: tuple[StepToken, ...] = Field(default=(), max_length=200)
    """The tokens that the outcome adds."""
    delete_effects: tuple[StepToken, ...] = Field(default=(), max_length=200)
    """The tokens that the outcome deletes."""


class StepTokens(Config):
    """The data about a generator's step that planning without a model needs."""

    preconditions: tuple[StepToken, ...] = Field(default=(), max_length=200)
    """The tokens that must hold before the step. The tokens whose values the call uses are added automatically."""
    effects: tuple[StepToken, ...] = Field(default=(), max_length=200)
    """The tokens that the step's success adds."""
    delete_effects: tuple[StepToken, ...] = Field(default=(), max_length=200)
    """The tokens that the step's success deletes, before its effects are added."""
    outcomes: dict[OutcomeName, OutcomeTokens] = Field(default_factory=dict, max_length=50)
    """The changes of each outcome, by its name in the binding. Outcomes that are missing here have no changes of their
    own.
    """
    guard: PlanName | None = None
    """The guard under `guards` that checks the step; null if no guard checks the step."""
    retry_budget: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 3
    """The largest number of attempts, including the first attempt."""


class Binding(Config):
    """A tool with its arguments."""

    tool: ToolName
    """The tool's name under `tools`."""
    with_: dict[ParameterName, str | int | TokenValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("with")
    )
    """The arguments by parameter: a value or `{value: TOKEN}`. All other parameters get their defaults."""
    expect: Expected = "success"
    """How a call must end. With `failure`, the call must fail, such as a test before the fix."""
    outcomes: dict[OutcomeName, OutcomePattern] = Field(default_factory=dict, max_length=50)
    """The patterns of a step's outcomes, by outcome. The first pattern that matches an output line decides."""
    values: dict[TokenName, OutputValue] = Field(default_factory=dict, max_length=50)
    """The tokens whose values are read from a generator's output, as `{after, pattern}`."""
    step: StepTokens | None = None
    """The needs and effects of a generator's step, for `run --goal`, which plans without a model; null for no step."""

    @field_validator("outcomes")
    @classmethod
    def _check_outcomes(cls, outcomes: dict[str, str]) -> dict[str, str]:
        for name, pattern in outcomes.items():
            if name in RESERVED_OUTCOMES:
                raise config_error(f"{name!r} is a reserved word", hint="choose another name for the outcome")
            if cause := pattern_problem(with_values(pattern, {})):
                raise config_error(f"the pattern of {name!r} {cause}")
        return outcomes


def _as_binding(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


Bound = Annotated[Binding, BeforeValidator(_as_binding, json_schema_input_type=ToolName | Binding)]
"""The name of a tool, or a tool with arguments."""


class StepBinding(Config):
    """The tools of one step of a plan. They replace the tools of the step's generator and guard."""

    generator: Bound | None = None
    """The tool that executes the step; null for the tool of its generator."""
    guard: Bound | None = None
    """The tool that checks the step; null for the tool of its guard."""

    @checks(mode="after")
    def _check_bound(self) -> "StepBinding":
        if self.generator is None and self.guard is None:
            raise config_error("should have `generator`, `guard` or both")
        return self
