"""The rule table, the model of `configs/policies/*.yaml`, and its unknown names. The first matching row wins."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, config_error
from actors.policy.belief_table import BeliefTable
from actors.values.findings import Code, Finding, ReasonTag
from runtime.models.replies import ReplyCode


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
"""The longest back-off of a policy in seconds, doublings included: the longest wait of one attempt (`advance`)."""

Target = Annotated[
    str,
    StringConstraints(pattern=r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63}( or up [1-9])?)$"),
]
"""The step to which a row sends the search.

- `self`: the failed step.
- `up N`: an ancestor at distance N over `requires`, or at the greatest distance there is.
- `role NAME`, or `role NAME or up N`: the nearest step with the role, the failed step included. If the workflow has
  none: `up N`, or without it one level up.
- `root`: the first root in the file.
- `further`: in the order of `Graph.upward`, the step after the target of this step's last failure.
"""

Pattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$")]
"""A finding code, or `family.*`."""


class Row(Config):
    """One rule. It matches a failure if any of its conditions holds; a row without conditions matches every failure."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
    """The name by which decisions refer to the row."""
    why: str = Field(min_length=1)
    """The reason for the rule, one sentence for people."""
    codes: tuple[Pattern, ...] = ()
    """Condition: some error finding has one of these codes, or a code of one of these families."""
    tags: tuple[ReasonTag, ...] = ()
    """Condition: some error finding has one of these reason tags."""
    fatal: bool = False
    """Condition: the verdict is fatal."""
    repeated: bool = False
    """Condition: the step's last `r_patience` failures have the same set of (code, where)."""
    repeats: bool = False
    """Condition: the artifact, or one that it builds on, is word for word an earlier one of its step in this round."""
    level: BacktrackLevel
    """How far back the search goes."""
    target: Target = "self"
    """The step to go back to; `self` unless the level is a replan."""
    backoff_seconds: float = Field(default=0.0, ge=0.0, le=BACKOFF_MAX, allow_inf_nan=False)
    """Delay before a local retry in seconds; doubled for each retry in a row."""

    @model_validator(mode="after")
    def _check_target(self) -> "Row":
        replans = self.level in REPLANS
        if replans == (self.target == "self"):
            cause = "a replan needs a target other than self" if replans else f"{self.level} has no target but self"
            raise config_error(cause, ("target",), "up 1, role NAME, root or further" if replans else "")
        return self

    @property
    def always(self) -> bool:
        """Whether the row has no condition."""
        return not (self.codes or self.tags or self.fatal or self.repeated or self.repeats)

    def matches(self, finding: Finding) -> bool:
        """Return whether an error finding has one of the row's codes or tags."""
        family = finding.code.split(".", 1)[0] + ".*"
        return finding.code in self.codes or family in self.codes or any(tag in self.tags for tag in finding.tags)


class Policy(Config):
    """A named rule table. The last row must match everything, so that every failure has a decision."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The name by which workflows refer to it."""
    description: str = ""
    """What the policy is for, in one line for people."""
    schema_version: Literal[1] = 1
    """The version of this file format."""
    rows: tuple[Row, ...] = Field(min_length=1, max_length=100)
    """The rules; the first that matches wins."""
    belief: BeliefTable | None = Field(default=None, exclude_if=lambda belief: belief is None)
    """What a belief policy goes by, for all rows that are not among its `rules`; None: the rows decide alone."""

    def rows_alone(self) -> "Policy":
        """Return the policy without its belief, so that its rows decide about every failure."""
        return self.model_copy(update={"belief": None})

    @model_validator(mode="after")
    def _check_rows(self) -> "Policy":
        seen: set[str] = set()
        for index, row in enumerate(self.rows):
            if row.id in seen:
                raise config_error(f"row id {row.id!r} is used twice", ("rows", index, "id"))
            seen.add(row.id)
            if row.always and index < len(self.rows) - 1:
                raise config_error(
                    f"row {row.id!r} matches everything, so the rows after it never fire", ("rows", index)
                )
        if not self.rows[-1].always:
            cause = "the last row must match everything"
            raise config_error(cause, ("rows", len(self.rows) - 1), "no codes, tags, fatal, repeated or repeats")
        for key, names in () if self.belief is None else self.belief.rows_named():
            for name in names:
                if name not in seen:
                    raise config_error(f"there is no row {name!r}", ("belief", *key), nearest(name, seen))
        return self


ROLES = ("analysis", "recon", "strategy", "plan", "critique")
"""The roles of the shipped workflows; a workflow may have its own."""
_NEAR = 0.82
"""How alike two names must be for the one to be taken as the other, misspelt."""
_CODES = tuple(str(code) for code in (*ReplyCode, *Code))
_FAMILIES = tuple(dict.fromkeys(f"{code.partition('.')[0]}.*" for code in _CODES))


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name in a row that nothing built in has."""

    path: tuple[str | int, ...]
    """The place of the name in the file."""
    row: str
    """The id of the row that has the name."""
    what: str
    """What it names, such as `code 'plan.cicle'`."""
    near: str
    """The known name that it is probably meant to be; empty where none is near."""


def unknown_names(policy: Policy, roles: Collection[str] = ROLES) -> Iterator[UnknownName]:
    """Yield every unknown code, family and role of a policy, in the order of its rows; `roles` are the known ones."""
    for index, row in enumerate(policy.rows):
        for place, code in enumerate(row.codes):
            known = _FAMILIES if code.endswith(".*") else _CODES
            if code not in known:
                yield UnknownName(("rows", index, "codes", place), row.id, f"code {code!r}", _near(code, known))
        words = row.target.split()
        if words[0] == "role" and words[1] not in roles:
            near = _near(words[1], roles)
            yield UnknownName(("rows", index, "target"), row.id, f"role {words[1]!r}", near)


def _near(name: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)), "")
