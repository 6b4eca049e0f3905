"""The parameters of a belief policy as data: the `belief` part of `configs/policies/*.yaml`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Chance = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]

DIFFICULTIES = 4
"""The number of difficulties of a step where the problem is hard; each is as likely as the others at the start."""
TOLD = 3
"""The numbers of rejections that have named the mistake: none, one, two or more."""

Chances = Annotated[
    tuple[Annotated[tuple[Chance, ...], Field(min_length=TOLD, max_length=TOLD)], ...],
    Field(min_length=DIFFICULTIES, max_length=DIFFICULTIES),
]

SELF, OTHER, UNSOLVABLE = "self", "other", "unsolvable"
"""The places of a mistake beside the roles of steps: the step that failed, any other step, and no step at all."""

SUM_TOLERANCE = 1e-6
"""How much a sum of shares may differ from 1, for rounded numbers in a file."""


class Person(Config):
    """The value of a question to the user, as the policy reckons with it."""

    accuracy: Share
    """The share of answers after which the step with the mistake is redone."""
    calls: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 5.0
    """The price of a question, in model calls."""


class Agreement(Config):
    """How often a step that is redone from the same inputs brings the same artifact again, word for word."""

    right: Chance
    """The share where both artifacts are right."""
    wrong: Chance
    """The share where both are wrong."""


class BeliefTable(Config):
    """What the policy believes before a run begins, and how it reads a rejection.

    A problem is hard at one step, its cause, or has no solution. An attempt at the cause is right with a chance that
    depends on the problem's difficulty and on how often a rejection has named the mistake; an attempt at any other step
    is right with the chance `easy`.
    """

    rules: tuple[str, ...]
    """The ids of the rows that decide as in a rule table, because chance has no part in them."""
    mends: Mapping[str, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """By row, the most failures of a visit that are answered by a retry before the belief decides about one."""
    causes: Mapping[str, Share]
    """The weight of each role as the cause, of `other` for further roles, and of `unsolvable`; they need no sum."""
    easy: Chance
    """The chance that an attempt is right at a step where the problem is not hard."""
    chances: Mapping[str, Chances]
    """By role, or `other`: the chance of an attempt at the cause. A row for each difficulty, a column for 0, 1 and 2 or
    more rejections that named the mistake."""
    feedback: bool = True
    """Whether the author uses feedback; if not, only the first column of each table in `chances` counts."""
    codes: Mapping[str, Mapping[str, Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]]]
    """For each place of the topmost mistake (`self`, a role, `other`, `unsolvable`) the shares of the rows that match
    the rejection; each adds up to 1."""
    repeats: Mapping[str, Share]
    """For each place, the share of rejections that equal the step's last one because the mistake is the same."""
    agreement: Agreement | None = None
    """How redone artifacts agree with earlier ones; None: the belief does not compare them."""
    classifier: Share = 0.7
    """The share of the classifier's answers that select the row for the right place."""
    person: Person | None = Person(accuracy=0.8)
    """The value of a question to the user; None: the policy asks none, except where a row of `rules` does."""

    @model_validator(mode="after")
    def _check(self) -> "BeliefTable":
        for key, table, needed in (
            ("causes", self.causes, (OTHER, UNSOLVABLE)),
            ("chances", self.chances, (OTHER,)),
            ("codes", self.codes, (OTHER, UNSOLVABLE)),
            ("repeats", self.repeats, (OTHER, UNSOLVABLE)),
        ):
            if missing := next((name for name in needed if name not in table), None):
                hint = "every role without a value of its own has that of `other`"
                raise config_error(f"there is no value for {missing!r}", (key,), hint)
        if not sum(self.causes.values()) > 0:
            raise config_error("all causes have the weight 0", ("causes",))
        for place, row in self.codes.items():
            if abs(sum(row.values()) - 1) > SUM_TOLERANCE:
                cause = f"the shares add up to {sum(row.values()):g}, not to 1"
                raise config_error(cause, ("codes", place), "they are shares of all cases")
        return self

    def rows_named(self) -> Iterator[tuple[tuple[str, ...], Iterable[str]]]:
        """Yield the ids of rows that the table names, after the path of the key that names them."""
        yield ("rules",), self.rules
        yield ("mends",), self.mends
        for place, row in self.codes.items():
            yield ("codes", place), row
