"""The rule table as data: what `configs/policies/*.yaml` may say. First matching row wins."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from actors.files.config_model import Config, config_error
from actors.values.findings import Finding, ReasonTag


class BacktrackLevel(StrEnum):
    """How far back a decision goes."""

    LOCAL_RETRY = "local_retry"
    PARTIAL_REPLAN = "partial_replan"
    FULL_REPLAN = "full_replan"
    CLARIFY = "clarify"
    GIVE_UP = "give_up"


REPLANS = frozenset({BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN})
"""The levels that redo other steps."""

BACKOFF_MAX = 600.0
"""Seconds that a policy may delay a retry, however often it doubles: as many as one attempt may wait (`advance`)."""

Target = Annotated[
    str,
    StringConstraints(pattern=r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63}( or up [1-9])?)$"),
]
"""Where a row sends the search.

`self`; `up N`, by distance over `requires`, or the farthest there is; `role NAME`, the nearest step above that has the
role (the failed step itself if it has), and where a workflow has none `or up N`, else one up; `root`, the first root in
the file; or `further`: in the order of `Graph.upward`, the next step up from where the step's last failure went.
"""

Pattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$")]
"""A finding code, or `family.*`."""


class Row(Config):
    """One rule. It matches if any error finding has one of its codes or tags, or the verdict is fatal and so is it.

    A row without any condition matches everything.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
    """What decisions name."""
    why: str = Field(min_length=1)
    """One sentence for people."""
    codes: tuple[Pattern, ...] = ()
    """Finding codes, or whole families."""
    tags: tuple[ReasonTag, ...] = ()
    """Reason tags."""
    fatal: bool = False
    """Whether a fatal verdict matches."""
    repeated: bool = False
    """Whether it matches when the step's last `r_patience` failures found the same set of (code, where)."""
    level: BacktrackLevel
    """How far back."""
    target: Target = "self"
    """Which step; `self` unless the level is a replan."""
    backoff_seconds: float = Field(default=0.0, ge=0.0, le=BACKOFF_MAX, allow_inf_nan=False)
    """Delay before a local retry, doubling with each in a row."""

    @model_validator(mode="after")
    def _sound(self) -> "Row":
        replans = self.level in REPLANS
        if replans == (self.target == "self"):
            cause = "a replan needs a target other than self" if replans else f"{self.level} has no target but self"
            raise config_error(cause, ("target",), "up 1, role NAME, root or further" if replans else "")
        return self

    @property
    def always(self) -> bool:
        """Whether the row has no condition."""
        return not (self.codes or self.tags or self.fatal or self.repeated)

    def matches(self, finding: Finding) -> bool:
        """Tell whether one error finding fires the row."""
        family = finding.code.split(".", 1)[0] + ".*"
        return finding.code in self.codes or family in self.codes or any(tag in self.tags for tag in finding.tags)


class Policy(Config):
    """A named rule table. The last row must match everything, so that every failure has an answer."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """What workflows call it."""
    description: str = ""
    """One line for people."""
    schema_version: Literal[1] = 1
    """The version of this file's shape."""
    rows: tuple[Row, ...] = Field(min_length=1, max_length=100)
    """The rules; the first that matches wins."""

    @model_validator(mode="after")
    def _total(self) -> "Policy":
        seen: set[str] = set()
        for place, row in enumerate(self.rows):
            if row.id in seen:
                raise config_error(f"row id {row.id!r} is used twice", ("rows", place, "id"))
            seen.add(row.id)
            if row.always and place < len(self.rows) - 1:
                raise config_error(
                    f"row {row.id!r} matches everything, so the rows after it never fire", ("rows", place)
                )
        if not self.rows[-1].always:
            cause = "the last row must match everything"
            raise config_error(cause, ("rows", len(self.rows) - 1), "no codes, tags, fatal or repeated")
        return self
