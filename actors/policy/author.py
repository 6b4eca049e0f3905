"""How often a model's attempts are accepted or repeated: as shares, or as counts of attempts in runs. Pure."""

from typing import Annotated

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error

Chance = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**9)]

WEIGHT = 10.0
"""The weight of the expected share: it counts as much as this number of attempts."""
LEAST = 0.0001
"""The smallest share that is computed from counts. The largest such share is 1 minus this number."""


class Author(Config):
    """How often a model's attempts are accepted or repeated."""

    first_accepted: Chance
    """The share of first attempts that are accepted."""
    told_retry_mends: Chance
    """The share of retries with the finding in their prompts that are accepted."""
    repeats: Chance
    """The share of retries that repeat the rejected text word for word."""
    afresh_mends: Chance | None = Field(default=None, exclude_if=lambda share: share is None)
    """The share of retries without the finding that are accepted; null if unknown."""
    in_runs: bool = Field(default=False, exclude_if=lambda in_runs: not in_runs)
    """Whether the numbers were counted in runs of this program. If so, they are compared with `author_in_runs`."""
    source: str = Field(default="", exclude_if=lambda source: not source)
    """The source of the numbers, as a text for people."""


class AttemptCounts(Config):
    """Counts of attempts in the runs of one model."""

    runs: Count
    accepted: Count
    """The number of runs in which all first attempts were accepted."""
    told: Count
    """The number of first retries of a step whose prompts showed the finding."""
    mended: Count
    """The number of these retries that were accepted."""
    again: Count
    """The number of these retries that repeated the rejected text word for word."""

    @model_validator(mode="after")
    def _check(self) -> "AttemptCounts":
        for key, part, whole in (
            ("accepted", self.accepted, self.runs),
            ("mended", self.mended, self.told),
            ("again", self.again, self.told),
        ):
            if part > whole:
                raise config_error(f"{part} is more than the {whole} that were counted", (key,), "count again")
        return self

    def __add__(self, other: "AttemptCounts") -> "AttemptCounts":
        return AttemptCounts(
            **{name: getattr(self, name) + getattr(other, name) for name in AttemptCounts.model_fields}
        )

    def author(self, expected: Author, source: str) -> Author:
        """Return the shares from these counts. The expected shares count as `WEIGHT` additional attempts."""

        def share(hits: int, cases: int, before: float) -> float:
            return min(max(round((hits + WEIGHT * before) / (cases + WEIGHT), 4), LEAST), 1 - LEAST)

        return Author(
            first_accepted=share(self.accepted, self.runs, expected.first_accepted),
            told_retry_mends=share(self.mended, self.told, expected.told_retry_mends),
            repeats=share(self.again, self.told, expected.repeats),
            in_runs=True,
            source=source,
        )


NOTHING = AttemptCounts(runs=0, accepted=0, told=0, mended=0, again=0)


class ModelCounts(AttemptCounts):
    """Counts of attempts in a run of the model `model`."""

    model: str


def odds(chance: float) -> float:
    """Return the odds of a probability below 1: the probability, divided by the probability of the opposite."""
    return chance / (1 - chance)


def shift(chance: float, factor: float) -> float:
    """Return the probability whose odds are `factor` times the odds of `chance`."""
    if factor == 1:
        return chance
    shifted = odds(chance) * factor
    return shifted / (1 + shifted)


def expected_in_runs(in_runs: Author, middle: Author | None, family: Author | None) -> Author:
    """Return the numbers that are expected of a model in runs of this program.

    `in_runs` has the numbers of a middle model in runs. `middle` and `family` have the numbers of the middle model and
    of the model's family in other records. The odds in `in_runs` are multiplied by the ratio of the family's odds to
    the odds in `middle`. If `family` or `middle` is None, the result is `in_runs`.
    """
    if family is None or middle is None:
        return in_runs
    return Author(
        first_accepted=shift(in_runs.first_accepted, odds(family.first_accepted) / odds(middle.first_accepted)),
        told_retry_mends=shift(in_runs.told_retry_mends, odds(family.told_retry_mends) / odds(middle.told_retry_mends)),
        repeats=shift(in_runs.repeats, odds(family.repeats) / odds(middle.repeats)),
    )
