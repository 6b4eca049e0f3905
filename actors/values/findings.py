"""What guards say: findings with typed codes, and the verdict that holds them.

Codes steer the search; messages are for the model and for people, and steer nothing. The set of codes is open for
plug-in guards; the ones that the built-in guards emit are the constants of `Code`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from runtime.core.events import Value


class Code(StrEnum):
    """The finding codes of the built-in guards, beside `runtime.models.replies.ReplyCode`."""

    # any artifact: `where` is a JSON path such as `key_signals` or `steps[3].effects`
    NOT_OBJECT = "field.not_object"
    MISSING = "field.missing"
    TYPE = "field.type"
    CHOICE = "field.choice"
    EMPTY = "field.empty"
    UNKNOWN = "field.unknown"  # warning
    # plan, structure (minimal): `where` is the step id
    NO_STEPS = "plan.no_steps"
    DUPLICATE_ID = "plan.duplicate_id"
    RESERVED_ID = "plan.reserved_id"
    UNKNOWN_DEPENDENCY = "plan.unknown_dependency"
    UNKNOWN_TARGET = "plan.unknown_target"
    CYCLE = "plan.cycle"
    UNKNOWN_GUARD = "plan.unknown_guard"
    BAD_BUDGET = "plan.bad_budget"
    MIXED_REPEATABLE = "plan.mixed_repeatable"
    # plan, nominal run (medium)
    INITIAL_UNDEFINED = "plan.initial_undefined"
    GOAL_UNDEFINED = "plan.goal_undefined"
    PRECONDITION_UNSATISFIED = "plan.precondition_unsatisfied"  # nobody produces it
    PRECONDITION_UNORDERED = "plan.precondition_unordered"  # its producer is not ordered before
    PRECONDITION_DELETED = "plan.precondition_deleted"  # a step may delete it in between
    GOAL_UNREACHABLE = "plan.goal_unreachable"  # nobody produces it, or no trace reaches it
    GOAL_DELETED = "plan.goal_deleted"  # a step may delete it before the end
    BLOCKED_DEPENDENCY = "plan.blocked_dependency"  # it waits for a step that only runs after a failure
    FAILURE_UNREACHABLE = "plan.failure_unreachable"  # no failure leads to this contingent step
    BUDGET_OVER_TOTAL = "plan.budget_over_total"
    BUDGET_OVER_R_MAX = "plan.budget_over_r_max"
    ORPHAN_STEP = "plan.orphan_step"  # warning: nothing needs what it makes
    REDUNDANT_STEP = "plan.redundant_step"  # warning: everything it makes is there already
    # plan, all traces (expansive)
    DEAD_END = "plan.dead_end"
    INVARIANT_BROKEN = "plan.invariant_broken"
    ASSURANCE_TOO_LOW = "plan.assurance_too_low"
    TOO_COMPLEX = "plan.too_complex"
    # recon
    NOT_IN_TEXT = "recon.not_in_text"
    NOTHING_FOUND = "recon.nothing_found"
    # a final plan, beside the critique of its draft: `where` is a step id
    CRITIQUE_IGNORED = "critique.ignored"  # it is the draft unchanged
    CRITIQUE_UNHEEDED = "critique.unheeded"  # warning: a step that the critique names stands there as it did
    NOT_COMPARED = "critique.not_compared"  # warning: there is no critique or no draft
    # requirements, which only a person can mend
    OPEN_QUESTION = "requirements.open_question"
    CONFLICT = "requirements.conflict"
    REQUIREMENT_MISSING = "requirements.missing"
    AMBIGUOUS = "requirements.ambiguous"
    CHANGED = "requirements.changed"
    # tools, which are not the model's transport
    TOOL_TRANSIENT = "tool.transient"
    TOOL_PERMANENT = "tool.permanent"
    # a person's review
    REVIEW_REJECTED = "review.rejected"
    REVIEW_UNANSWERED = "review.unanswered"  # declined or expired
    # a step that is a run of its own, which ended without success
    CHILD_UNSUCCESSFUL = "child.unsuccessful"
    # a plug-in guard that gave no code
    REJECTED = "guard.rejected"


class ReasonTag(StrEnum):
    """Why a validation asks for another try (S109)."""

    REQUIREMENT_VIOLATION = "requirement_violation"
    TOOL_FAILURE = "tool_failure"
    MISSING_EVIDENCE = "missing_evidence"
    WORKFLOW_MISMATCH = "workflow_mismatch"
    GOAL_DEPENDENCY_FAILURE = "goal_dependency_failure"


class Finding(Value):
    """One thing that a guard found.

    `where` is a path into the artifact or a plan's step id; `tokens` are the tokens it is about, sorted; `trace` is a
    list of `STEP:ok` and `STEP:fail` that replays to it; `answer_schema` is a JSON Schema for the answer, where the
    message is a question. Only findings of severity `error` reject.
    """

    code: str
    message: str
    where: str = ""
    severity: Literal["error", "warning"] = "error"
    tags: tuple[ReasonTag, ...] = ()
    tokens: tuple[str, ...] = ()
    trace: tuple[str, ...] | None = None
    answer_schema: Mapping[str, Any] | None = None


class Verdict(Value):
    """A guard's answer.

    `passed` is true iff no finding is an error (and every sub-guard that must pass did); a verdict that does not
    say so rejects. `fatal` means that no retry can help: a person is asked. `score` is 0..1, a cheap measure of
    progress; 1 when passed. `facts` are measured values such as a plan's `assurance`. `parts` are the verdicts of a
    composite guard's members, in their order.
    """

    guard: str
    passed: bool = False
    score: float = Field(default=0.0, ge=0.0, le=1.0)
    findings: tuple[Finding, ...] = ()
    fatal: bool = False
    facts: Mapping[str, Any] = Field(default_factory=dict)
    parts: tuple["Verdict", ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that reject."""
        return tuple(finding for finding in self.findings if finding.severity == "error")
