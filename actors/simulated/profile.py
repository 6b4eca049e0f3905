"""Profiles of the simulated author as data: how hard its world is, and where its mistakes come from."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from actors.files.config_model import Config, config_error

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]

SUM_TOLERANCE = 1e-6
"""How far shares may be from adding up to one: the rounding of a file, and no more."""


class Cause(StrEnum):
    """Where the mistake lies that a problem provokes; in the order of the steps, the first one wins."""

    UNSOLVABLE = "unsolvable"
    ANALYSIS = "analysis"
    RECON = "recon"
    STRATEGY = "strategy"
    PLAN = "plan"


class Defect(StrEnum):
    """How a wrong plan shows that it is wrong; each is found by the real `plan_medium`."""

    UNSATISFIED = "unsatisfied"  # a precondition that no step makes
    UNORDERED = "unordered"  # a precondition whose producer is not ordered before
    DELETED = "deleted"  # a precondition that another step may delete
    GOAL = "goal"  # a goal that no step makes
    UNKNOWN_GUARD = "unknown_guard"  # a step with a guard that is not in the catalogue


class Odds(Config):
    """How likely an attempt is right, at the level where a problem is hard.

    Each problem has its own probability, drawn once from a beta distribution: equal odds for all are refuted by every
    recorded curve. Feedback that names the cause multiplies the odds, by `first` once, by `further` for each one more.
    """

    alpha: Factor
    """The beta distribution's first parameter."""
    beta: Factor
    """The beta distribution's second parameter."""
    first: Factor = 1.0
    """What the first telling rejection multiplies the odds by."""
    further: Factor = 1.0
    """What each further telling rejection multiplies them by."""

    def lift(self, told: int) -> float:
        """Return what so many telling rejections multiply the odds by."""
        return float(self.first * self.further ** (min(told, TOLD_MAX) - 1)) if told else 1.0


TOLD_MAX = 5
"""Rejections that an author takes in at once: as many as a prompt shows by default (`feedback_window`)."""


class Critic(Config):
    """How well a critique tells a wrong draft from a right one."""

    detects: Share
    """The share of wrong drafts that it objects to."""
    objects: Share
    """The share of right drafts that it objects to as well."""


class Latency(Config):
    """How long a call takes: log-normal, by its median and the standard deviation of its logarithm."""

    median_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
    """Half of the calls take longer."""
    spread: Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)] = 0.0
    """The standard deviation of the logarithm."""


class Cost(Config):
    """What a call uses and costs. Tokens are modelled as a quarter of the bytes."""

    reasoning_tokens: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Output tokens beside the text."""
    input_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million input tokens."""
    output_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million output tokens."""


def _whole_or_based(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema that a file has all values, or names the profile that has the others."""
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["name", "description", "based_on"]}]


class Profile(Config):
    """A world of problems and an author for them."""

    model_config = ConfigDict(json_schema_extra=_whole_or_based)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """What `simulated:NAME` calls it."""
    description: str = Field(min_length=1)
    """One line for people."""
    based_on: str | None = None
    """The profile whose values hold where a file has none of its own; that one stands for itself."""
    source: str = Field(min_length=1)
    """Where the numbers come from, and which of them are assumed."""
    causes: Mapping[Cause, Share]
    """The share of problems that are hard at each level; they add up to 1."""
    odds: Odds
    """How likely an attempt is right where the problem is hard."""
    easy: Share
    """How likely an attempt is right at every other level."""
    findings: Mapping[Cause, Mapping[Defect, Share]]
    """Which defect a plan has, by the cause; each row adds up to 1."""
    repeats: Mapping[Cause, Share]
    """How much of what goes wrong goes wrong in the same way each time, by the cause."""
    malformed: Share = 0.0
    """The share of replies that are cut off in the middle."""
    unsettled: Factor = 1.0
    """What it does to the odds of a level that no step of its own has settled before the plan."""
    critic: Critic
    """How good critiques are."""
    latency: Latency
    """How long calls take."""
    cost: Cost
    """What calls use and cost."""

    @model_validator(mode="after")
    def _sums(self) -> "Profile":
        _check_sum(self.causes, ("causes",))
        for cause in Cause:
            if cause not in self.findings:
                raise config_error(f"there is no row for {cause}", ("findings",), "one row per cause")
            _check_sum(self.findings[cause], ("findings", str(cause)))
        return self


def _check_sum(shares: Mapping[Cause, float] | Mapping[Defect, float], path: tuple[str, ...]) -> None:
    total = sum(shares.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise config_error(f"the shares add up to {total:g}, not to 1", path, "they are shares of all cases")
