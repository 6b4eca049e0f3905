"""The data model of `configs/policies/*.yaml`: the rule table, a belief's parameters, and causes. Pure.

The first row of the table that matches decides.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from actors.files.suggestions import closest, nearest
from actors.files.validation_errors import Config, config_error
from actors.policy.author import Author, Chance
from actors.values.findings import Code, Finding, ReasonTag
from runtime.core.hooks import make_total
from runtime.models.replies import Parsed, ReplyCode, read_reply

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

DIFFICULTIES = 4
"""The number of levels of difficulty that the table distinguishes for a step at which the problem is hard. At the
start, all levels are equally likely."""
FEEDBACK_CASES = 3
"""The number of cases that the table distinguishes: the mistake was named by no rejection, by one, or by several."""

Chances = Annotated[
    tuple[Annotated[tuple[Chance, ...], Field(min_length=FEEDBACK_CASES, max_length=FEEDBACK_CASES)], ...],
    Field(min_length=DIFFICULTIES, max_length=DIFFICULTIES),
]

SELF, OTHER, UNSOLVABLE = "self", "other", "unsolvable"
"""The places of a mistake that are not roles of steps: the failed step, any other step, and no step. No step is the
place if the problem has no solution."""

SUM_TOLERANCE = 1e-6
"""The largest accepted difference between 1 and a sum of shares in a file. The numbers in a file can be rounded."""


class Person(Config):
    """The value of a question to the user, for a policy that considers questions."""

    accuracy: Share
    """The share of answers after which the step with the mistake is redone."""
    calls: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 5.0
    """The price of a question, in model calls."""


class AuthorKind(Config):
    """A kind of model, by how often it writes the same artifact again if a step is redone from the same inputs."""

    share: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    """The share of runs with such a model."""
    right: Chance
    """The probability that two right artifacts of a step are the same."""
    wrong: Chance
    """The probability that two wrong artifacts of a step are the same."""


class Agreement(Config):
    """How often a step that is redone from the same inputs makes the same artifact again."""

    compare: Literal["text", "meaning"]
    """When two artifacts are the same: if their texts are equal (`text`), or their typed fields (`meaning`, see
    `TYPED_FIELDS`).
    """
    kinds: Annotated[tuple[AuthorKind, ...], Field(min_length=1, max_length=6)]
    """The kinds of models. Comparing a run's artifacts shows which kind its model is."""

    @model_validator(mode="after")
    def _check(self) -> "Agreement":
        make_total = sum(kind.share for kind in self.kinds)
        if abs(make_total - 1) > SUM_TOLERANCE:
            raise config_error(
                f"the shares add up to {make_total:g}, not to 1", ("kinds",), "each number is a share of all runs"
            )
        return self


class BeliefTable(Config):
    """What a belief policy assumes before a run begins, and how it interprets a rejection.

    A problem either has no solution, or is hard at exactly one step, the cause. The chance of a right attempt at the
    cause depends on the problem's difficulty and on how many rejections have named the mistake. The chance of a right
    attempt at any other step is `easy`.
    """

    rules: tuple[str, ...]
    """The ids of the rows that decide without the belief, because chance plays no part in their failures."""
    mends: Mapping[str, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """By row: after how many failures in a visit the step is just retried. The belief decides about later failures.
    """
    rounds: Annotated[int, Field(ge=1, le=1000)] | None = None
    """After this number of attempts in a visit, the step is retried only if no other move is left; null for no limit.
    """
    causes: Mapping[str, Share]
    """The weight of each role as the cause, of `other` for all other roles, and of `unsolvable`. The sum need not
    be 1.
    """
    easy: Chance
    """The chance of a right attempt at a step where the problem is not hard."""
    chances: Mapping[str, Chances]
    """The chance that an attempt at the cause is right, by role or `other`. Each table has a row for each difficulty,
    and columns for 0, 1, and 2 or more rejections that named the mistake.
    """
    feedback: bool = True
    """Whether the model uses feedback. If not, only the first column of each table in `chances` is used."""
    codes: Mapping[str, Mapping[str, Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]]]
    """For each place of the topmost mistake (`self`, a role, `other`, `unsolvable`): the share of rejections that each
    row matches. The shares of a place add up to 1.
    """
    repeats: Mapping[str, Share]
    """The share of rejections that equal the step's last rejection because the mistake is the same, by place of the
    mistake.
    """
    afresh: Share | None = None
    """The chance of a fresh attempt, divided by the chance of a retry with another text; null if the belief considers
    no fresh attempts. `afresh` needs `author`.
    """
    author: Author | None = None
    """The model that `chances` describe, a middle model of the records; null if `chances` hold for every model."""
    author_in_runs: Author | None = None
    """The numbers of the same model in runs of this program; null if runs are not counted. This key needs `author`."""
    facts: Mapping[str, Share] | None = None
    """The share of rejections that say what to add or change, by place of the mistake. Only these rejections name the
    mistake. If null, every rejection names the mistake, and facts say nothing about its place.
    """
    agreement: Agreement | None = None
    """How often redone artifacts equal earlier artifacts; None if the belief does not compare them."""
    classifier: Share = 0.7
    """The share of the classifier's answers that select the row for the right place."""
    person: Person | None = Person(accuracy=0.8)
    """The value of a question to the user; None if only rows in `rules` ask questions."""

    @model_validator(mode="after")
    def _check(self) -> "BeliefTable":
        for key, table, needed in (
            ("causes", self.causes, (OTHER, UNSOLVABLE)),
            ("chances", self.chances, (OTHER,)),
            ("codes", self.codes, (OTHER, UNSOLVABLE)),
            ("repeats", self.repeats, (OTHER, UNSOLVABLE)),
            ("facts", self.facts, (OTHER, UNSOLVABLE)),
        ):
            if table is None:
                continue
            if missing := next((name for name in needed if name not in table), None):
                hint = "a role that has no value uses the value of `other`"
                raise config_error(f"there is no value for {missing!r}", (key,), hint)
        if self.afresh is not None and self.author is None:
            raise config_error("`afresh` can be used only with `author`", ("afresh",), "add `author`")
        if self.author_in_runs is not None and self.author is None:
            raise config_error("`author_in_runs` can be used only with `author`", ("author_in_runs",), "add `author`")
        if not sum(self.causes.values()) > 0:
            raise config_error("all causes have the weight 0", ("causes",), "give a cause a weight above 0")
        for place, row in self.codes.items():
            if abs(sum(row.values()) - 1) > SUM_TOLERANCE:
                cause = f"the shares add up to {sum(row.values()):g}, not to 1"
                raise config_error(cause, ("codes", place), "each number is a share of all cases")
        return self

    def rows_named(self) -> Iterator[tuple[tuple[str, ...], Iterable[str]]]:
        """Yield, for each key of the belief table that names rows, the key's path and the ids of the rows."""
        yield ("rules",), self.rules
        yield ("mends",), self.mends
        for place, row in self.codes.items():
            yield ("codes", place), row


class BacktrackLevel(StrEnum):
    """How far back the search goes after a decision."""

    LOCAL_RETRY = "local_retry"
    PARTIAL_REPLAN = "partial_replan"
    FULL_REPLAN = "full_replan"
    CLARIFY = "clarify"
    GIVE_UP = "give_up"


REPLANS = frozenset({BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN})
"""The levels at which steps other than the failed step are redone."""

BACKOFF_MAX = 600.0
"""The longest delay before a local retry, in seconds. A doubled delay is not longer either."""

Target = Annotated[
    str,
    StringConstraints(pattern=r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63}( or up [1-9])?)$"),
]
"""The step to which a row sends the search.

- `self`: the failed step.
- `up N`: an ancestor at distance N over `requires`, or the farthest ancestor if N is larger.
- `role NAME`, or `role NAME or up N`: the nearest step with the role, the failed step included. If no step has the
  role, the target is `up N`, or one level up if the row does not say `or up N`.
- `root`: the first root in the file.
- `further`: in the order of `Graph.upward`, the step after the target of this step's last failure.
"""

Pattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$")]
"""A finding code, such as `family.code`, or `family.*` for all codes of a family."""


class Row(Config):
    """One rule. It matches a failure if one of its conditions holds. A row without conditions matches every failure."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,40}$")]
    """The name of the row in decisions."""
    why: str = Field(min_length=1)
    """The reason for the row, in one sentence."""
    codes: tuple[Pattern, ...] = ()
    """Condition: an error has one of these codes, or a code of one of these families (`family.*`)."""
    tags: tuple[ReasonTag, ...] = ()
    """Condition: an error has one of these reason tags."""
    fatal: bool = False
    """Condition: the verdict is fatal."""
    repeated: bool = False
    """Condition: the last `r_patience` failures of the step have the same (code, where) pairs."""
    repeats: bool = False
    """Condition: the artifact, or an artifact that it builds on, repeats an earlier text of its step in this round."""
    informative: bool = Field(default=False, exclude_if=lambda informative: not informative)
    """Condition: an error says what to add or change."""
    level: BacktrackLevel
    """How far back the search goes if the row decides."""
    target: Target = "self"
    """The step to go back to; `self` unless the level is a replan."""
    backoff_seconds: float = Field(default=0.0, ge=0.0, le=BACKOFF_MAX, allow_inf_nan=False)
    """The delay before a local retry, in seconds; doubled by each further equal failure."""
    afresh: bool = Field(default=False, exclude_if=lambda afresh: not afresh)
    """Whether the prompts of the redone steps leave out earlier rejections (`Policy.afresh_shows`)."""
    times: Annotated[int, Field(ge=1, le=1000)] | None = Field(default=None, exclude_if=lambda times: times is None)
    """The largest number of retries of a step that the row may cause in one visit, if attempts are left; null for no
    limit.
    """

    @model_validator(mode="after")
    def _check_target(self) -> "Row":
        replans = self.level in REPLANS
        retries = self.level is BacktrackLevel.LOCAL_RETRY
        if self.afresh and not (replans or retries):
            raise config_error(f"the level {self.level} redoes no step, so it cannot have `afresh`", ("afresh",))
        if self.times is not None and not retries:
            raise config_error(
                f"the level {self.level} cannot have `times`", ("times",), "`times` limits a local_retry"
            )
        if replans == (self.target == "self"):
            cause = (
                "a replan must have a target other than self"
                if replans
                else f"the level {self.level} must have the target self"
            )
            raise config_error(cause, ("target",), "use up 1, role NAME, root or further" if replans else "")
        return self

    @property
    def always(self) -> bool:
        """Whether the row has no condition."""
        return not (self.codes or self.tags or self.fatal or self.repeated or self.repeats or self.informative)

    def matches(self, finding: Finding) -> bool:
        """Return whether an error has a code or tag of the row, or says what to change if the row is `informative`."""
        if self.informative and finding.has_fact:
            return True
        family = finding.code.split(".", 1)[0] + ".*"
        return finding.code in self.codes or family in self.codes or any(tag in self.tags for tag in finding.tags)


class Policy(Config):
    """A rule table with a name. The last row must match everything, so that every failure has a decision."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The name by which workflows choose the policy."""
    description: str = ""
    """The purpose of the policy, in one line for people."""
    schema_version: Literal[1] = 1
    """The version of this file format."""
    rows: tuple[Row, ...] = Field(min_length=1, max_length=100)
    """The rules. The first row that matches decides."""
    afresh_shows: Literal["findings", "nothing"] = Field(
        default="findings", exclude_if=lambda shows: shows == "findings"
    )
    """What a fresh attempt's prompt shows of earlier rejections: the findings that say what to add or change, or
    nothing.
    """
    belief: BeliefTable | None = Field(default=None, exclude_if=lambda belief: belief is None)
    """The belief, which decides unless a row in its `rules` matches; null if only the rows decide."""

    def without_belief(self) -> "Policy":
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
                    f"row {row.id!r} matches everything, so the rows after it are never used", ("rows", index)
                )
        if not self.rows[-1].always:
            cause = "the last row must match everything"
            hint = "remove codes, tags, fatal, repeated, repeats and informative"
            raise config_error(cause, ("rows", len(self.rows) - 1), hint)
        for key, names in () if self.belief is None else self.belief.rows_named():
            for name in names:
                if name not in seen:
                    raise config_error(f"there is no row {name!r}", ("belief", *key), nearest(name, seen))
        return self


ROLES = ("analysis", "recon", "strategy", "plan", "critique")
"""The roles in the shipped workflows. A workflow may use other roles."""
_NEAR = 0.82
"""The least similarity to a known name, from 0 to 1, with which a name counts as a misspelling of the known name."""
_CODES = tuple(str(code) for code in (*ReplyCode, *Code))
_FAMILIES = tuple(dict.fromkeys(f"{code.partition('.')[0]}.*" for code in _CODES))


@dataclass(frozen=True, slots=True)
class UnknownName:
    """An unknown code, family or role in a row."""

    path: tuple[str | int, ...]
    """The place of the name in the file."""
    row: str
    what: str
    """The kind of name and the name, such as `code 'plan.cicle'`."""
    near: str
    """The similar known name that was probably meant; empty if no name is similar."""


def unknown_names(policy: Policy, roles: Collection[str] = ROLES) -> Iterator[UnknownName]:
    """Yield every unknown code, family and role in a policy, in the order of its rows. `roles` are the known roles."""
    for index, row in enumerate(policy.rows):
        for position, code in enumerate(row.codes):
            known = _FAMILIES if code.endswith(".*") else _CODES
            if code not in known:
                yield UnknownName(
                    ("rows", index, "codes", position), row.id, f"code {code!r}", closest(code, known, cutoff=_NEAR)
                )
        words = row.target.split()
        if words[0] == "role" and words[1] not in roles:
            near = closest(words[1], roles, cutoff=_NEAR)
            yield UnknownName(("rows", index, "target"), row.id, f"role {words[1]!r}", near)


CLASSIFIER = "failure_classifier"
"""The name of the classifier's prompt, and the purpose of its calls."""


class Cause(StrEnum):
    """Why an artifact was rejected: a reason tag (S109), or one of two further codes that only a classifier uses."""

    REQUIREMENT_VIOLATION = "requirement_violation"
    TOOL_FAILURE = "tool_failure"
    MISSING_EVIDENCE = "missing_evidence"
    WORKFLOW_MISMATCH = "workflow_mismatch"
    GOAL_DEPENDENCY_FAILURE = "goal_dependency_failure"
    OWN_MISTAKE = "own_mistake"  # the artifacts that the step builds on are correct
    UNCLEAR = "unclear"  # the policy decides without a cause


CAUSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"cause": {"type": "string", "enum": [str(cause) for cause in Cause]}},
    "required": ["cause"],
    "additionalProperties": False,
}
"""The JSON Schema of a classifier's reply."""


@make_total("the cause", lambda _: None)
def read_cause(text: str) -> Cause | None:
    """Return the cause in a reply, which must be an object with `cause` as its only key; None for any other text."""
    reply = read_reply(text)
    value = reply.value if isinstance(reply, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {"cause"} or not isinstance(value["cause"], str):
        return None
    return Cause(value["cause"]) if value["cause"] in set(Cause) else None


def row_for(cause: Cause, policy: Policy) -> Row | None:
    """Return the row that a cause selects: the first row with the cause as its tag, or the last row for `OWN_MISTAKE`.

    Return None for `UNCLEAR`, or if no row has the tag. After None, the policy decides without a cause.
    """
    match cause:
        case Cause.UNCLEAR:
            return None
        case Cause.OWN_MISTAKE:
            return policy.rows[-1]
        case _:
            return next((row for row in policy.rows if ReasonTag(cause) in row.tags), None)
