"""Defines the profiles of the simulated author (how hard problems are, and the causes of mistakes), and loads them."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from actors.config.loader import find_shipped
from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, ParsedFile, config_error
from actors.files.yaml_document import read_document
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Price

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]

SUM_TOLERANCE = 1e-6
"""How far a sum of shares may differ from 1. The tolerance allows rounded shares in a profile's file."""


Level = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""A level at which a problem may be hard. Its name is the role of a step. The lowest level is `plan`."""
PLAN = "plan"
"""The name of the lowest level: the role of the step that writes the plan."""
UNSOLVABLE = "unsolvable"
"""The name that stands in place of a level as the cause of a problem without a right plan."""
LEVELS: tuple[str, ...] = ("analysis", "recon", "strategy", PLAN)
"""The levels of the shipped workflows, topmost first."""
OTHER = "other"
"""The key of the entry in a profile's table that applies to all levels and causes without an entry of their own."""


class Defect(StrEnum):
    """The kinds of defects of a wrong plan. The guard `plan_medium` finds each of them."""

    UNSATISFIED = "unsatisfied"  # a precondition without a producer
    UNORDERED = "unordered"  # a precondition whose producer is not ordered before the step
    DELETED = "deleted"  # a precondition that another step may delete
    GOAL = "goal"  # a goal token without a producer
    UNKNOWN_GUARD = "unknown_guard"  # a step whose guard is not in the catalogue


class AuthorOdds(Config):
    """The odds that an attempt is right, at the level where a problem is hard.

    Each problem has its own probability, drawn from a beta distribution: results of real models do not fit equal odds
    for all problems. Rejections that name the cause multiply the odds: the first one by `first`, each other one by
    `further`.
    """

    alpha: Factor
    """The beta distribution's first parameter."""
    beta: Factor
    """The beta distribution's second parameter."""
    first: Factor = 1.0
    """The factor by which the first rejection that names the cause multiplies the odds."""
    further: Factor = 1.0
    """The factor by which each further rejection that names the cause multiplies the odds. Below 1, a long memory does
    harm.
    """

    def lift(self, told: int, heeds: float = 1.0) -> float:
        """Return the factor by which `told` rejections multiply the odds.

        Each of these rejections names the cause. `heeds` multiplies the logarithm of the factor: 1 for the whole
        effect, 0 for no effect.
        """
        if not told or not heeds:
            return 1.0
        factor = self.first * self.further ** (min(told, TOLD_MAX) - 1)
        return float(factor if heeds == 1.0 else factor**heeds)


TOLD_MAX = 5
"""The largest number of rejections that affect the odds; further rejections do not change them. By default, a prompt
shows the same number of rejections (`feedback_window`)."""


class Critic(Config):
    """How often critiques of drafts are right."""

    detects: Share
    """The share of wrong drafts that it rejects."""
    objects: Share
    """The share of right drafts that it rejects."""


class SimulatedPerson(Config):
    """A simulated person. Asked about a rejected plan, the person names the step with the mistake."""

    accuracy: Share
    """The share of answers that name the level with the mistake. All other answers name another level."""
    calls: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 5.0
    """The price of an answer, in model calls."""


class GuardErrors(Config):
    """The error rates of the plan's guard in simulated experiments.

    The same keys of a pipeline replace these values.
    """

    false_accept: Share = 0.0
    """The probability that the guard accepts a wrong plan, for each attempt."""
    false_reject: Share = 0.0
    """The probability that the guard rejects a right plan, for each attempt."""
    accepting_problems: Share = 0.0
    """The share of problems on which the guard accepts every plan."""
    rejecting_problems: Share = 0.0
    """The share of problems on which the guard rejects every plan."""


class Latency(Config):
    """The distribution of a call's duration, which is log-normal."""

    median_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
    """The median, in seconds."""
    spread: Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)] = 0.0
    """The standard deviation of the logarithm."""


class Cost(Config):
    """The tokens and the price of a call. Four bytes of text count as one token."""

    reasoning_tokens: Annotated[int, Field(ge=0, le=10**6)] = 0
    """The output tokens in addition to the tokens of the text."""
    input_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million input tokens."""
    output_usd_per_mtok: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Dollars per million output tokens."""


def _require_all_or_base(schema: dict[str, Any]) -> None:
    """Change the JSON Schema of a profile: it requires all values, or else `based_on`."""
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["name", "description", "based_on"]}]


class AuthorProfile(Config):
    """How hard the problems are, and how often the author that solves them makes mistakes."""

    model_config = ConfigDict(json_schema_extra=_require_all_or_base)

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """The name in `simulated:NAME`."""
    description: str = Field(min_length=1)
    """One line for people."""
    based_on: str | None = None
    """The profile that provides the values missing in this file; it must not have `based_on`."""
    source: str = Field(min_length=1)
    """The sources of the numbers, and the numbers that are assumptions."""
    levels: Annotated[tuple[Level, ...], Field(min_length=1, max_length=16)] = LEVELS
    """The levels at which a problem may be hard, topmost first: roles of steps. The last is `plan`."""
    causes: Mapping[str, Share]
    """The share of problems with each cause. A cause is the level at which a problem is hard, or `unsolvable`. The
    shares add up to 1."""
    also_hard: Share = 0.0
    """The probability that a level other than the cause is hard too; its difficulty is drawn separately."""
    odds: AuthorOdds
    """The odds that an attempt is right at a level where the problem is hard."""
    heeds: Mapping[str, Share] = Field(default_factory=dict)
    """How much of the effect of feedback counts at each level: a factor for its effect on the logarithm of the odds. A
    level without a value uses the value of `other`, or else 1.
    """
    easy: Share
    """The probability that an attempt is right at a level where the problem is not hard."""
    wrong_views: Annotated[int, Field(ge=1, le=1000)] = 8
    """The number of wrong views of a level. Attempts share these views, so two wrong attempts may agree."""
    favourite: Mapping[str, Share] = Field(default_factory=dict)
    """The share of wrong attempts at a level that have the author's favourite wrong view. Other wrong attempts are
    spread evenly.
    """
    texts_vary: Share = 0.0
    """The probability that an artifact before the plan has a wording of its own, different from all others. If the
    probability is above 0, a recon also lists a word of the problem. The word depends on the recon's view.
    """
    meanings_vary: Share = 0.0
    """The probability that the typed fields of an artifact before the plan (problem type, strategy, words) are random,
    and do not depend on its view. Plans depend on the view, so they are not affected.
    """
    sticky: Mapping[str, Share] = Field(default_factory=dict)
    """The probability that an attempt at a level reuses the random numbers of the step's previous attempt. Then both
    attempts have the same view, unless feedback has raised the odds. A level without a value uses the value of `other`,
    or else 0.
    """
    sticky_afresh: Share | None = None
    """Like `sticky`, for an attempt whose prompt shows no rejected attempt; None means the value of `sticky`."""
    cascade: Factor = 1.0
    """The factor for the odds of an attempt with a wrong artifact in its prompt."""
    drift: Factor = 1.0
    """Each earlier visit of the step, and each earlier attempt of the visit, multiplies the odds by this factor."""
    forgets: Share = 0.0
    """The probability that an attempt ignores a rejection after which the search went back, drawn for each rejection.
    """
    misled: Factor = 1.0
    """The factor for the odds at a level that a rejection names, if the problem is not hard at the level."""
    findings: Mapping[str, Mapping[Defect, Share]]
    """The shares of the defects of a wrong plan, by cause. Each row adds up to 1. `other` is the row for all other
    causes.
    """
    misattributed: Share = 0.0
    """The share of wrong plans whose defect and token belong to another level than the wrong one, drawn evenly."""
    repeats: Mapping[str, Share]
    """The share of wrong plans that have the problem's own defect again, by cause. `other` is the value for all other
    causes.
    """
    classifier: Share | None = None
    """The share of classifications that name the topmost wrong level; None if the answer is always `unclear`."""
    person: SimulatedPerson | None = None
    """The simulated person who answers questions; None if nobody answers."""
    guard_errors: GuardErrors = GuardErrors()
    """The error rates of the plan's guard."""
    call_prices: Mapping[str, Factor] = Field(default_factory=dict)
    """How many calls a call at a level counts as, in comparisons at equal calls. A level without a value counts as 1.
    """
    malformed: Share = 0.0
    """The share of replies that are cut off in the middle."""
    unsettled: Factor = 1.0
    """The factor for the odds at a level that has no step of its own before the plan in the workflow."""
    critic: Critic
    """How often critiques of drafts are right."""
    latency: Latency
    """The duration of calls."""
    cost: Cost
    """The tokens and the price of calls."""

    @model_validator(mode="after")
    def _check(self) -> "AuthorProfile":
        if self.levels[-1] != PLAN or len(set(self.levels)) < len(self.levels):
            raise config_error("the levels must be different roles, and the last must be `plan`", ("levels",))
        for key, known in (
            ("causes", (*self.levels, UNSOLVABLE)),
            ("heeds", (*self.levels, OTHER)),
            ("favourite", self.levels),
            ("sticky", (*self.levels, OTHER)),
            ("call_prices", self.levels),
            ("findings", (*self.levels, UNSOLVABLE, OTHER)),
            ("repeats", (*self.levels, UNSOLVABLE, OTHER)),
        ):
            for name in getattr(self, key):
                if name not in known:
                    raise config_error(f"there is no level {name!r}", (key, name), nearest(name, known))
        _check_sum(self.causes, ("causes",))
        for cause in (*self.levels, UNSOLVABLE):
            if cause not in self.findings and OTHER not in self.findings:
                raise config_error(
                    f"`findings` has no entry for the cause {cause!r}",
                    ("findings",),
                    f"add the entry, or an entry {OTHER!r}",
                )
        for cause, row in self.findings.items():
            _check_sum(row, ("findings", cause))
        return self

    @property
    def price(self) -> Price:
        """The price of the model that the profile imitates."""
        return Price.per_mtok(self.cost.input_usd_per_mtok, self.cost.output_usd_per_mtok, "simulated")

    @property
    def upstream(self) -> tuple[str, ...]:
        """The levels before the plan, topmost first."""
        return self.levels[:-1]

    def defects(self, cause: str) -> Mapping[Defect, float]:
        """Return the shares of the defects of a plan that is wrong for this cause."""
        return self.findings.get(cause) or self.findings[OTHER]

    def heed(self, level: str) -> float:
        """Return the value of `heeds` for a level."""
        return self.heeds.get(level, self.heeds.get(OTHER, 1.0))

    def stickiness(self, level: str, *, afresh: bool = False) -> float:
        """Return the probability that an attempt reuses the random numbers of the previous attempt at the level."""
        if afresh and self.sticky_afresh is not None:
            return self.sticky_afresh
        return self.sticky.get(level, self.sticky.get(OTHER, 0.0))

    def repeated(self, cause: str) -> float:
        """Return the value of `repeats` for a cause."""
        return self.repeats.get(cause, self.repeats.get(OTHER, 0.0))


def _check_sum(shares: Mapping[str, float] | Mapping[Defect, float], path: tuple[str, ...]) -> None:
    total = sum(shares.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise config_error(
            f"the shares add up to {total:g}, not to 1", path, "change the shares so that their sum is 1"
        )


def load_profile(name: str, *, place: str = "--model", own: Path | None = None) -> AuthorProfile:
    """Return the profile of this name from the folder `own`, or else the shipped profile of this name.

    `place` is the flag or key that contains the name.

    Raises:
        UsageProblem: the profile does not exist or is invalid. The error has the file, the line and the nearest valid
            name.
    """
    try:
        document = _document(name, own)
    except UsageProblem as problem:
        raise UsageProblem(problem.cause, place=problem.place or place, hint=problem.hint) from None
    value = document.value
    if isinstance(value, dict) and (wanted := value.get("based_on")) is not None:
        base = _document(str(wanted), own)
        if not isinstance(base.value, dict) or "based_on" in base.value:
            cause = f"{wanted!r} is not a profile, or has the key `based_on` itself"
            raise document.problem(cause, ("based_on",), "name a profile without `based_on`")
        value = {**base.value, **value}
    profile = document.read_as(AuthorProfile, value)
    if profile.name != name:
        raise document.problem(
            f"the name is {profile.name!r}, not the name of the file",
            ("name",),
            f"the name must be {name!r}, as in {name}.yaml",
        )
    return profile


def _document(name: str, own: Path | None) -> ParsedFile:
    if own is not None and (own / f"{name}.yaml").is_file():
        return read_document(own / f"{name}.yaml")
    return read_document(find_shipped(name, data_root("replan_lab") / "configs" / "profiles", "profile", ()))
