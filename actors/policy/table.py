"""The rule table as data: what `configs/policies/*.yaml` may say. First matching row wins."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from actors.findings import Finding, ReasonTag
from runtime.events import Value


class BacktrackLevel(StrEnum):
    """How far back a decision goes."""

    LOCAL_RETRY = "local_retry"
    PARTIAL_REPLAN = "partial_replan"
    FULL_REPLAN = "full_replan"
    CLARIFY = "clarify"
    GIVE_UP = "give_up"


Target = Annotated[str, StringConstraints(pattern=r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63})$")]
"""`self`, `up N` (by distance), `role NAME`, `root`, or `further`: one more level up than the step's last failure."""

Pattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$")]
"""A finding code, or `family.*`."""


class Row(Value):
    """One rule. It matches if any error finding has one of its codes or tags, or the verdict is fatal and so is it.

    `repeated` matches when the step's last `r_patience` failures found the same set of (code, where). A row without any
    condition matches everything. `backoff_seconds` delays a local retry, doubling with each in a row.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
    why: str = Field(min_length=1)
    codes: tuple[Pattern, ...] = ()
    tags: tuple[ReasonTag, ...] = ()
    fatal: bool = False
    repeated: bool = False
    level: BacktrackLevel
    target: Target = "self"
    backoff_seconds: float = Field(default=0.0, ge=0.0, le=600.0)

    @property
    def always(self) -> bool:
        """Whether the row has no condition."""
        return not (self.codes or self.tags or self.fatal or self.repeated)

    def matches(self, finding: Finding) -> bool:
        """Tell whether one error finding fires the row."""
        family = finding.code.split(".", 1)[0] + ".*"
        return finding.code in self.codes or family in self.codes or any(tag in self.tags for tag in finding.tags)


class Policy(Value):
    """A named rule table. The last row must match everything, so that every failure has an answer."""

    name: str
    description: str = ""
    schema_version: Literal[1] = 1
    rows: tuple[Row, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _total(self) -> "Policy":
        ids = [row.id for row in self.rows]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"row id {twice[0]!r} is used twice")
        if not self.rows[-1].always:
            raise ValueError("the last row must match everything (no codes, tags, fatal or repeated)")
        early = [row.id for row in self.rows[:-1] if row.always]
        if early:
            raise ValueError(f"row {early[0]!r} matches everything, so the rows after it never fire")
        return self
