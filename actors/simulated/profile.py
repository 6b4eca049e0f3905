"""Profiles of the simulated author: how hard its problems are, and the causes of its mistakes."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from actors.files.config_model import Config, config_error

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]

SUM_TOLERANCE = 1e-6
"""How much a sum of shares may differ from 1, for rounded numbers in a file."""


class Cause(StrEnum):
    """The level at which a problem is hard, in the order of the steps. If several are wrong, the first counts."""

    UNSOLVABLE = "unsolvable"
    ANALYSIS = "analysis"
    RECON = "recon"
    STRATEGY = "strategy"
    PLAN = "plan"


class Defect(StrEnum):
    """The defect of a wrong plan; `plan_medium` finds each of them."""

    UNSATISFIED = "unsatisfied"  # a precondition without a producer
    UNORDERED = "unordered"  # a precondition whose producer is not ordered before the step
    DELETED = "deleted"  # a precondition that another step may delete
    GOAL = "goal"  # a goal token without a producer
    UNKNOWN_GUARD = "unknown_guard"  # a step whose guard is not in the catalogue


class Odds(Config):
    """The odds that an attempt is right, at the level where a problem is hard.

    Each problem has its own probability, drawn from a beta distribution, since equal odds for all problems
    contradict every recorded curve. Rejections that name the cause multiply the odds: the first by `first`, others by
    `further`.
    """

    alpha: Factor
    """The beta distribution's first parameter."""
    beta: Factor
    """The beta distribution's second parameter."""
    first: Factor = 1.0
    """The factor of the odds for the first rejection that names the cause."""
    further: Factor = 1.0
    """The factor of the odds for each further rejection that names the cause."""

    def lift(self, clues: int) -> float:
        """Return the factor of the odds for this number of rejections that name the cause."""
        return float(self.first * self.further ** (min(clues, CLUES_MAX) - 1)) if clues else 1.0


CLUES_MAX = 5
"""The most rejections that change the odds: as many as a prompt shows by default (`feedback_window`)."""


class Critic(Config):
    """The accuracy of critiques."""

    detects: Share
    """The share of wrong drafts that it rejects."""
    objects: Share
    """The share of right drafts that it rejects."""


class Latency(Config):
    """The distribution of a call's duration, which is log-normal."""

    median_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
    """The median, in seconds."""
    spread: Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)] = 0.0
    """The standard deviation of the logarithm."""


class Cost(Config):
    """The tokens and the price of a call. A token is modelled as four bytes of text."""

    reasoning_tokens: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Output tokens in addition to those of the text."""
    input_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million input tokens."""
    output_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million output tokens."""


def _whole_or_based(schema: dict[str, Any]) -> None:
    """Make the JSON Schema require all values, or `based_on`."""
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["name", "description", "based_on"]}]


class Profile(Config):
    """The difficulty of problems, and the error rates of the author that solves them."""

    model_config = ConfigDict(json_schema_extra=_whole_or_based)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """The name in `simulated:NAME`."""
    description: str = Field(min_length=1)
    """One line for people."""
    based_on: str | None = None
    """The profile that provides the values missing in this file; it must not be based on another one."""
    source: str = Field(min_length=1)
    """The sources of the numbers, and which of them are assumptions."""
    causes: Mapping[Cause, Share]
    """The share of problems that are hard at each level; they add up to 1."""
    odds: Odds
    """The odds that an attempt is right at the level where the problem is hard."""
    easy: Share
    """The probability that an attempt is right at a level where the problem is not hard."""
    findings: Mapping[Cause, Mapping[Defect, Share]]
    """The shares of the defects of a wrong plan, by cause; each row adds up to 1."""
    repeats: Mapping[Cause, Share]
    """The share of wrong plans that repeat the same defect, by cause."""
    malformed: Share = 0.0
    """The share of replies that are cut off in the middle."""
    acquisition_errors: Share = 0.2
    """The share of replies in acquisition runs that are wrong: unknown fields, invented quotes, altered values."""
    unsettled: Factor = 1.0
    """The factor of the odds at a level for which the workflow has no step before the plan."""
    critic: Critic
    """The accuracy of critiques."""
    latency: Latency
    """The duration of calls."""
    cost: Cost
    """The tokens and the price of calls."""

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
