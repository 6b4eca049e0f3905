"""The results of guards: findings with codes, the verdict that contains the findings, and the limits of a verdict.

The search depends only on codes. Messages are only for the model and for people. `Code` lists the codes of the built-in
guards. Plug-in guards may use codes of their own.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from actors.values.format import shorten
from actors.values.question_form import Inquiry
from runtime.core.events import Value


class Code(StrEnum):
    """The finding codes of the built-in guards, in addition to `runtime.models.replies.ReplyCode`."""

    # the end of the reply is missing; no guard sees it
    CUT = "reply.cut"  # the reply reached its token limit
    FILTERED = "reply.filtered"  # a content filter stopped it
    # any artifact: `where` is a JSON path such as `key_signals` or `steps[3].effects`
    NOT_OBJECT = "field.not_object"
    MISSING = "field.missing"
    TYPE = "field.type"
    CHOICE = "field.choice"
    EMPTY = "field.empty"
    UNKNOWN = "field.unknown"  # warning; an error if it is nearly a known key of a plan
    TOO_LARGE = "field.too_large"  # more items or keys than are read
    # plan, structure (minimal): `where` is the step id
    NO_STEPS = "plan.no_steps"
    PLAN_TOO_LARGE = "plan.too_large"  # `where` is the path of the part that is too large
    DUPLICATE_ID = "plan.duplicate_id"
    RESERVED_ID = "plan.reserved_id"
    UNKNOWN_DEPENDENCY = "plan.unknown_dependency"
    UNKNOWN_TARGET = "plan.unknown_target"
    CYCLE = "plan.cycle"
    UNKNOWN_GUARD = "plan.unknown_guard"
    BAD_BUDGET = "plan.bad_budget"
    MIXED_REPEATABLE = "plan.mixed_repeatable"
    BAD_OUTCOME = "plan.bad_outcome"  # an outcome's name is empty, reserved or not the only one
    UNKNOWN_REQUIREMENT = "plan.unknown_requirement"  # warning
    STRATEGY_NOT_FOLLOWED = "plan.strategy_not_followed"  # no step implements a key step of the strategy
    UNKNOWN_KEY_STEP = "plan.unknown_key_step"  # warning
    # plan, nominal run (medium): `where` is the step id, `initial_state` or `goal_state`
    GIVEN_REPLACED = "plan.given_replaced"  # warning: a given fact replaced a value of the plan
    SET_BY_PROGRAM = "plan.set_by_program"  # warning: the program has set a value that only it needs
    UNBOUND = "plan.unbound"  # no tool implements the name of a generator or guard
    INITIAL_UNDEFINED = "plan.initial_undefined"
    GOAL_UNDEFINED = "plan.goal_undefined"
    PRECONDITION_UNSATISFIED = "plan.precondition_unsatisfied"  # no step produces it
    PRECONDITION_UNORDERED = "plan.precondition_unordered"  # its producer is not ordered before
    PRECONDITION_DELETED = "plan.precondition_deleted"  # a step may delete it in between
    GOAL_UNREACHABLE = "plan.goal_unreachable"  # no step produces the token, or no trace reaches it
    GOAL_DELETED = "plan.goal_deleted"  # a step may delete it before the end
    BLOCKED_DEPENDENCY = "plan.blocked_dependency"  # it depends on a step that only runs after a failure
    FAILURE_UNREACHABLE = "plan.failure_unreachable"  # no failure leads to this contingent step
    BUDGET_OVER_TOTAL = "plan.budget_over_total"
    BUDGET_OVER_R_MAX = "plan.budget_over_r_max"
    ORPHAN_STEP = "plan.orphan_step"  # warning: nothing needs its effects
    REDUNDANT_STEP = "plan.redundant_step"  # warning: all its effects hold already
    # plan, all traces (expansive)
    DEAD_END = "plan.dead_end"
    INVARIANT_BROKEN = "plan.invariant_broken"
    ASSURANCE_TOO_LOW = "plan.assurance_too_low"
    TOO_COMPLEX = "plan.too_complex"
    NO_UNDO = "plan.no_undo"  # it may have run before everything is undone, and declares no undo
    # recon
    NOT_IN_TEXT = "recon.not_in_text"
    NOTHING_FOUND = "recon.nothing_found"
    # final plan, compared with the critique of its draft: `where` is a step id
    CRITIQUE_IGNORED = "critique.ignored"  # the plan is its draft unchanged
    CRITIQUE_NEARLY_IGNORED = "critique.nearly_ignored"  # warning: only words differ, nothing that is carried out
    CRITIQUE_UNHEEDED = "critique.unheeded"  # warning: a step that the critique names is unchanged
    NOT_COMPARED = "critique.not_compared"  # warning: the critique or the draft is missing
    # names that are relied on, compared with recon
    EVIDENCE_MISSING = "evidence.missing"
    # strategy, compared with the analysis
    WORKFLOW_MISMATCH = "workflow.mismatch"  # it is for another type of problem
    # requirements, compared with the plan: `where` is a requirement's id, or the id of a step that breaks one
    UNCOVERED = "requirement.uncovered"  # no step that contributes to the goal's tokens satisfies it
    VIOLATED = "requirement.violated"
    GOAL_CYCLE = "requirement.cycle"  # goals wait for each other
    NEARLY_VIOLATED = "requirement.nearly_violated"  # warning: the names differ only in separators
    DEMAND_IN_NO_STEP = "demand.in_no_step"  # a demand of the user's text; `where` is the demand's id
    MANY_SATISFIED = "requirement.many_satisfied"  # warning: one step satisfies more than five
    # a guard that compares with the result of another step, which its step does not require
    NOTHING_TO_COMPARE = "guard.nothing_to_compare"  # warning
    # the problem as a whole
    NOT_UNDERSTOOD = "problem.not_understood"  # a warning beside an open question, else an error
    # requirements, which only a person can correct
    OPEN_QUESTION = "requirements.open_question"
    CONFLICT = "requirements.conflict"
    REQUIREMENT_MISSING = "requirements.missing"
    AMBIGUOUS = "requirements.ambiguous"
    CHANGED = "requirements.changed"
    # a plan that a person has edited: `where` is a step id, or the id of a requirement or a demand
    EDIT_DONE = "edit.step_done"  # it changes a step that is done
    EDIT_DROPS = "edit.drops_constraint"  # the plan leaves out or weakens a constraint on every plan
    EDIT_DROPS_DEMAND = "edit.drops_demand"  # no step serves it any more; a person may agree
    # the preflight check of a plan: `where` is a step id
    WORLD_LACKS = "world.lacks"  # something that the plan needs is missing
    WORLD_UNKNOWN = "world.unknown"  # warning: nobody can tell whether it is there
    # tools; faults of the model's transport are not findings
    TOOL_TRANSIENT = "tool.transient"
    TOOL_PERMANENT = "tool.permanent"
    TOOL_BROKEN = "tool.broken"
    # the execution of a plan: `where` is the step id, a goal's id or the place of an invariant
    STEP_FAILED = "step.failed"  # its tool or a person says so
    NOT_READ = "step.not_read"  # the result is no outcome of the step, or holds no value for a token
    CHECK_FAILED = "step.check_failed"
    CHECK_CHANGES = "step.check_changes"  # the step's check changed files, and nothing forbids exactly these
    PRE_CHECK_FAILED = "step.pre_check_failed"
    NOT_APPROVED = "step.not_approved"  # refused, or not answered
    UNKNOWN_OUTCOME = "step.unknown_outcome"  # nobody knows whether its tool has run
    ASSUMPTION_BROKEN = "plan.assumption_broken"  # the step failed, but the plan says that it never fails
    PREREQUISITE_FAILED = "goal.prerequisite_failed"
    # a person's review
    REVIEW_REJECTED = "review.rejected"
    REVIEW_UNANSWERED = "review.unanswered"  # declined or expired
    # a step that is a child run, which ended without success
    CHILD_UNSUCCESSFUL = "child.unsuccessful"
    # a plug-in guard that rejected without a code
    REJECTED = "guard.rejected"
    # any verdict that is cut before it is recorded
    MORE_FINDINGS = "verdict.more_findings"  # the last finding; it counts the findings that were left out
    VERDICT_TOO_LARGE = "verdict.too_large"


class ReasonTag(StrEnum):
    """A general reason for a rejection, in addition to the code of the finding (S109)."""

    REQUIREMENT_VIOLATION = "requirement_violation"
    TOOL_FAILURE = "tool_failure"
    MISSING_EVIDENCE = "missing_evidence"
    WORKFLOW_MISMATCH = "workflow_mismatch"
    GOAL_DEPENDENCY_FAILURE = "goal_dependency_failure"


ASKABLE = frozenset({Code.OPEN_QUESTION, Code.CONFLICT, Code.REQUIREMENT_MISSING, Code.AMBIGUOUS})
"""The codes of findings that can become questions to a person. Findings with other codes are only for models."""


UNINFORMATIVE = frozenset(
    {
        Code.FILTERED,
        Code.NOTHING_FOUND,
        Code.TOO_COMPLEX,
        Code.ASSURANCE_TOO_LOW,
        Code.NOT_UNDERSTOOD,
        *ASKABLE,
        Code.CHANGED,
        Code.TOOL_TRANSIENT,
        Code.TOOL_PERMANENT,
        Code.TOOL_BROKEN,
        Code.NOT_APPROVED,
        Code.UNKNOWN_OUTCOME,
        Code.REVIEW_UNANSWERED,
        Code.CHILD_UNSUCCESSFUL,
        Code.REJECTED,
        Code.MORE_FINDINGS,
    }
)
"""The codes of findings that do not name what to add or change. A model cannot act on such findings."""


class Finding(Value):
    """One problem that a guard reports."""

    code: str
    """A code such as `plan.cycle`: a value of `Code`, or a plug-in's own code."""
    message: str
    where: str = ""
    """A path into the artifact, or the id of a plan's step."""
    severity: Literal["error", "warning"] = "error"
    """An error rejects the artifact. A warning is only shown."""
    tags: tuple[ReasonTag, ...] = ()
    tokens: tuple[str, ...] = ()
    """The plan tokens that the finding is about, sorted."""
    trace: tuple[str, ...] | None = None
    """A trace that leads to the problem. Its items are `STEP:ok`, `STEP:OUTCOME` or `STEP:fail`."""
    answer_schema: Mapping[str, Any] | None = None
    """The JSON Schema that an answer must fit, if the message is a question that the artifact asks; otherwise None.
    """
    asks: Inquiry | None = None
    """The question to a person whose answer can settle the finding; None if no question can, or if the message itself
    is the question.
    """
    informative: bool | None = Field(default=None, exclude_if=lambda informative: informative is None)
    """Whether the message names what to add or change, such as an unmet token or a test's output. None means true,
    unless the code is in `UNINFORMATIVE`.
    """

    @property
    def has_fact(self) -> bool:
        """Whether the message names what to add or change, according to `informative` or the code."""
        return self.code not in UNINFORMATIVE if self.informative is None else self.informative

    @property
    def askable(self) -> bool:
        """Whether a person may be asked about the finding: its code is in `ASKABLE`, or it contains a question."""
        return self.code in ASKABLE or self.answer_schema is not None or self.asks is not None


class Verdict(Value):
    """The result of a guard for one artifact."""

    guard: str
    """The name of the guard. For a composite that rejects, the name of its first member that rejected; for a composite
    that passes, its kind.
    """
    passed: bool = False
    """Whether the artifact is accepted: no finding is an error, and enough members of a composite passed."""
    score: float = Field(default=0.0, ge=0.0, le=1.0)
    """A cheap measure of progress from 0 to 1; 1 if passed."""
    findings: tuple[Finding, ...] = ()
    """The errors and warnings. `limit_verdict` limits their number and length in a record."""
    fatal: bool = False
    """Whether no retry can help. After a fatal verdict, a person is asked if a finding is a question; otherwise the
    search goes back.
    """
    facts: Mapping[str, Any] = Field(default_factory=dict)
    """Measured values, such as a plan's `assurance`."""
    parts: tuple["Verdict", ...] = ()

    @property
    def judges(self) -> str:
        """The guards that decided the verdict, in words: the members of a composite that passed, or else `guard`."""
        names = [part.guard for part in self.parts if part.passed] if self.passed else []
        if not names:
            return self.guard
        return " and ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more guards"

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that reject the artifact."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def has_fact(self) -> bool:
        """Whether an error names what to add or change."""
        return any(finding.has_fact for finding in self.errors)


FINDINGS_MAX = 100
"""The largest number of findings in a verdict. If a guard reports more findings, one further finding says how many were
left out."""
TEXT_MAX = 4_000
TOKENS_MAX = 1_000
TRACE_CHARACTERS_MAX = 100_000
"""The largest number of characters in a finding's trace. A longer trace is left out as a whole, because a part of a
trace cannot be replayed."""
VERDICT_BYTES_MAX = 4 * 1024 * 1024
"""The largest number of bytes in a recorded verdict as JSON. The journal accepts events of up to 64 MiB."""


def limit_verdict(verdict: Verdict) -> Verdict:
    """Return the verdict, shortened to the limits.

    If it is still too large, return a rejection `verdict.too_large` instead.
    """
    if not (verdict.findings or verdict.parts or verdict.facts) and len(verdict.guard) <= TEXT_MAX:
        return verdict  # Most verdicts are so small, and measuring one takes longer than recording it.
    shorter = _shorten_verdict(verdict)
    try:
        size = len(shorter.model_dump_json())
    except (ValueError, TypeError):  # JSON cannot hold the verdict. Its writer reports that.
        return shorter
    if size <= VERDICT_BYTES_MAX:
        return shorter
    text = f"The verdict has {size:,} characters, more than {VERDICT_BYTES_MAX:,}; make the artifact much smaller."
    finding = Finding(code=Code.VERDICT_TOO_LARGE, message=text)
    return Verdict(
        guard=shorter.guard[:TEXT_MAX], score=min(shorter.score, 0.99), findings=(finding,), fatal=shorter.fatal
    )


def _shorten_verdict(verdict: Verdict) -> Verdict:
    findings = tuple(_shorten_finding(finding) for finding in limit_findings(verdict.findings))
    parts = tuple(_shorten_verdict(part) for part in verdict.parts)
    if all(map(_is_same_object, findings, verdict.findings)) and all(map(_is_same_object, parts, verdict.parts)):
        return verdict
    return verdict.model_copy(update={"findings": findings, "parts": parts})


def _is_same_object(new: object, old: object) -> bool:
    return new is old


def limit_findings(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return at most `FINDINGS_MAX` findings.

    If some are omitted, errors come first, and one more finding counts the rest.

    The additional finding is an error if at least one error was omitted.
    """
    if len(findings) <= FINDINGS_MAX or (len(findings) == FINDINGS_MAX + 1 and findings[-1].code == Code.MORE_FINDINGS):
        return findings
    ordered = sorted(findings, key=lambda finding: finding.severity != "error")
    kept, left_out = ordered[:FINDINGS_MAX], ordered[FINDINGS_MAX:]
    text = f"and {len(left_out):,} more findings; correct these first."
    return (*kept, Finding(code=Code.MORE_FINDINGS, message=text, severity=left_out[0].severity))


def _shorten_finding(finding: Finding) -> Finding:
    trace = finding.trace
    changes = {
        "code": shorten(finding.code, TEXT_MAX),
        "message": shorten(finding.message, TEXT_MAX),
        "where": shorten(finding.where, TEXT_MAX),
        "tokens": _shorten_tokens(finding.tokens),
        "trace": trace if trace is None or sum(map(len, trace)) <= TRACE_CHARACTERS_MAX else None,
    }
    changed = {name: value for name, value in changes.items() if value is not getattr(finding, name)}
    return finding.model_copy(update=changed) if changed else finding


def _shorten_tokens(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first `TOKENS_MAX` tokens, each shortened. If the tuple is short enough, return the tuple itself."""
    if len(tokens) <= TOKENS_MAX and sum(map(len, tokens)) <= TEXT_MAX:
        return tokens
    return tuple(shorten(token, TEXT_MAX // 4) for token in tokens[:TOKENS_MAX])


_EXIT_CODE = re.compile(r": exit code \d+$")
SUMMARY_MAX = 120
"""The largest number of characters that a finding's summary shows of the last line of a tool's output."""


def summary_of(finding: Finding) -> str:
    """Return the first line of a finding's message, and its last line in brackets.

    The last line of most tools is a summary.

    If the message has several lines, the exit code is removed from the first line, because the last line says more.
    """
    first, *others = [row.strip() for row in finding.message.splitlines() if row.strip()] or [""]
    return f"{_EXIT_CODE.sub('', first)} ({shorten(others[-1], SUMMARY_MAX)})" if others else first


def reason_of(finding: Finding) -> str:
    """Return the first sentence of a finding's message, without the instructions for a model."""
    return finding.message.strip().partition("\n")[0].partition(". ")[0].removesuffix(".")


def finding_line(finding: Finding) -> str:
    """Return a finding's severity, code, place and message as one text."""
    place = f" at {finding.where}" if finding.where else ""
    warning = "warning: " if finding.severity == "warning" else ""
    return f"{warning}{finding.code}{place}: {finding.message}"
