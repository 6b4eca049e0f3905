"""The results of replaying recorded runs: the first different decision, its reason, and reports on many runs. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from actors.planning.events import Decided, JudgementRequested, PlanningCall
from actors.run.calls import CallReissued, CallRequested
from actors.run.ending import RunFinished
from actors.run.questions import ClarificationRequested
from actors.values.format import format_count
from actors.values.lines import BLANK, Line, columns, indent_line, line

NOTHING = "nothing more"
"""The text that is shown in place of a decision if the machine makes no decision, because it waits for a message."""
_EXPLAINS: Mapping[type, frozenset[str]] = {
    Decided: frozenset({"rule", "code", "wanted", "classified", "weighing"}),
    CallRequested: frozenset({"calls", "tokens_max", "micro_usd_max", "timeout_seconds"}),
    JudgementRequested: frozenset({"guard"}),
    RunFinished: frozenset({"why", "cause", "at", "mono"}),
    ClarificationRequested: frozenset({"why"}),
}
"""The fields of a decision that only explain the decision, or state its largest cost, by the decision's class. Two
decisions that differ only in these fields count as equal.
"""


class FoldOutcome(StrEnum):
    """The possible results of replaying one run."""

    SAME = "same"  # every decision is as recorded
    DIFFERS = "differs"  # a decision differs
    NEEDS_REPLY = "needs_reply"  # a model would be asked something that nobody has recorded a reply to
    FAILED = "failed"  # a guard or the program has raised, or did not end in time
    UNREADABLE = "unreadable"  # damaged, unknown, or of a kind or format that the program does not know
    NOT_AFFECTED = "not_affected"  # the edit is of something that the run does not use


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The result of replaying one run."""

    run: str
    outcome: FoldOutcome
    status: str = ""
    seq: int | None = None
    """The number of the first record that would differ from the recorded one; None if no record would differ."""
    reason: str = ""
    """The cause of the difference in a few words. Runs with the same cause have the same text."""
    then: str = ""
    now: str = ""
    odds: float | None = None
    """The probability that the next attempt at the plan is accepted, as the belief of the policy estimates it; None
    without a belief.
    """
    request: str = ""
    """The id of the first call without a recorded reply; empty if there is no such call."""
    without_edit: bool = False
    """Whether this program decides differently from the recorded decisions even without the edit."""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain data, without empty values."""
        fields: dict[str, Any] = {"run_id": self.run, "outcome": self.outcome.value, "status": self.status}
        fields |= {"seq": self.seq, "reason": self.reason, "then": self.then, "now": self.now, "request": self.request}
        shown = {name: value for name, value in fields.items() if value not in ("", None)}
        if self.odds is not None:
            shown["odds_estimate"] = self.odds
        return {**shown, "without_edit": True} if self.without_edit else shown

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "RunComparison":
        """Return the comparison from the plain data that `to_json` has returned."""
        own = {name: value for name, value in fields.items() if name not in ("run_id", "outcome", "odds_estimate")}
        outcome = FoldOutcome(fields["outcome"])
        return cls(run=fields["run_id"], outcome=outcome, odds=fields.get("odds_estimate"), **own)


def agrees(then: Any, now: Any, *, in_every_field: bool) -> bool:
    """Return whether two decisions are the same.

    Fields that only explain a decision are compared only with `in_every_field`.
    """
    if type(then) is not type(now):
        return False
    if then == now:
        return True
    if in_every_field:
        return False
    if isinstance(then, CallReissued):
        return then.replaces == now.replaces and agrees(then.again, now.again, in_every_field=False)
    ignored = next((fields for base, fields in _EXPLAINS.items() if isinstance(then, base)), frozenset())
    names = type(then).model_fields.keys() - ignored
    return bool(ignored) and all(getattr(then, name) == getattr(now, name) for name in names)


def reason_of(then: Any, now: Any) -> str:
    """Return the cause of a difference in a few words, which are often the same for many runs.

    `then` is the recorded decision, and `now` is the new one. None means no decision.
    """
    match then, now:
        case None, _:
            return f"makes an additional decision: {_sort(now)}"
        case _, None:
            return f"does not make a recorded decision: {_sort(then)}"
        case Decided(), Decided() if then.level != now.level:
            return f"the policy decides differently: {now.level} instead of {then.level}"
        case Decided(), Decided() if then.targets != now.targets:
            return f"the policy goes back to {_steps(now.targets)} instead of {_steps(then.targets)}"
        case Decided(), Decided() if then.afresh != now.afresh:
            return f"the policy begins {'afresh' if now.afresh else 'again with the earlier rejections'}"
        case CallRequested(), CallRequested() if then.request_id == now.request_id:
            if then.prompt_hash != now.prompt_hash:
                return f"the prompt of {_call_text(now)} differs"
            return f"the limits of {_call_text(now)} differ"
        case CallRequested(), CallRequested():
            return f"requests {_call_text(now)} instead of {_call_text(then)}"
        case RunFinished(), RunFinished() if then.outcome != now.outcome:
            return f"ends with {now.outcome} instead of {then.outcome}"
        case ClarificationRequested(), ClarificationRequested():
            return "asks another question"
        case _:
            pass
    if type(then) is type(now):
        names = [name for name in type(then).model_fields if getattr(then, name) != getattr(now, name)]
        return f"another {_sort(then)}: {', '.join(names)}"
    return f"{_sort(now)} instead of {_sort(then)}"


def call_in(event: Any) -> CallRequested | None:
    """Return the call that an event requests; None for any other event."""
    if isinstance(event, CallReissued):
        return event.again
    return event if isinstance(event, CallRequested) else None


def _sort(event: Any) -> str:
    match event:
        case RunFinished():
            return f"end with {event.outcome}"
        case ClarificationRequested():
            return "question"
        case CallRequested():
            return f"call of {_call_text(event)}"
        case _:
            return str(event.kind).replace("_", " ")


def _call_text(call: PlanningCall | CallRequested) -> str:
    return f"{call.step} ({str(call.kind).replace('_requested', '').replace('_', ' ')})"


def _steps(targets: tuple[str, ...]) -> str:
    return " and ".join(targets) or "nothing"


@dataclass(frozen=True)
class EditedRules:
    """The user's edit, as functions that a replay calls.

    The defaults edit nothing: the replay then compares only the program.
    """

    first: Callable[[Any], Any] = lambda event: event
    """A function that returns a run's first event with the edit applied."""
    verdict: Callable[[Any, Any, Any, Any], Any] = lambda _, __, ___, ____: None
    """A function that returns the message with the new verdict of an edited guard, or None for any other guard.

    Its arguments are the machine, the state, the recorded event and the run's first event. It raises the errors of the
    guard.
    """
    affects: Callable[[Any], str] = lambda _: ""
    """A function that takes a run's first event. It returns the reason why the edit cannot affect the run, or an empty
    text.
    """
    in_every_field: bool = True
    """Whether all fields of decisions are compared. If False, fields that only explain a decision are ignored."""
    is_none: bool = True
    daily_budget: bool = False


def mark_program(finding: RunComparison, *, without_edit: bool) -> RunComparison:
    """Return the comparison.

    With `without_edit`, it says that this program decides differently even without the edit.
    """
    reason = "even without the edit, this program decides differently from the program that made the run"
    return replace(finding, without_edit=True, reason=reason) if without_edit else finding


DIFFERENT = (FoldOutcome.DIFFERS, FoldOutcome.NEEDS_REPLY)
SHOWN_MAX = 20
"""The largest number of runs that the text report shows one by one, unless the user asks for all of them with
`--all`."""
_WORDS = {
    FoldOutcome.SAME: "all decisions are the same",
    FoldOutcome.DIFFERS: "differs",
    FoldOutcome.NEEDS_REPLY: "needs a reply that was not recorded",
    FoldOutcome.FAILED: "could not be replayed",
    FoldOutcome.UNREADABLE: "cannot be read",
    FoldOutcome.NOT_AFFECTED: "not affected",
}


def report_json(findings: Sequence[RunComparison]) -> dict[str, Any]:
    """Return the report as plain data. The report only counts the runs without a difference and the unaffected runs."""
    counts = Counter(finding.outcome for finding in findings)
    waiting = [
        finding
        for finding in findings
        if finding.status == "waiting" and finding.outcome is not FoldOutcome.NOT_AFFECTED
    ]
    shown = [finding for finding in findings if finding.outcome not in (FoldOutcome.SAME, FoldOutcome.NOT_AFFECTED)]
    return {
        "compared": len(findings) - counts[FoldOutcome.NOT_AFFECTED],
        "counts": {outcome.value: counts[outcome] for outcome in FoldOutcome},
        "waiting": {"compared": len(waiting), "differ": sum(item.outcome in DIFFERENT for item in waiting)},
        "reasons": [
            {"outcome": outcome.value, "reason": reason, "runs": number, "example": example.run, "seq": example.seq}
            for (outcome, reason), number, example in _reasons(findings)
        ],
        "runs": [item.to_json() for item in shown],
    }


def report_lines(findings: Sequence[RunComparison], *, everything: bool = False) -> list[Line]:
    """Return the lines of the report for people. With `everything`, the report shows every run with a difference."""
    affected = [finding for finding in findings if finding.outcome is not FoldOutcome.NOT_AFFECTED]
    lines = _headline(affected)
    left = len(findings) - len(affected)
    if left:
        causes = Counter(finding.reason for finding in findings if finding.outcome is FoldOutcome.NOT_AFFECTED)
        named = ", ".join(f"{reason} {number:,}" for reason, number in causes.most_common())
        lines.append(line(f"{format_count(left, 'run')} not affected: {named}", "dim"))
    reasons = _reasons(findings)
    if reasons:
        lines.append(BLANK)
        lines += [
            columns(f"{number:>6,}", line(f"{_WORDS[outcome]}: {reason}"), line(_place(example), "dim"))
            for (outcome, reason), number, example in reasons
        ]
    shown = [item for item in affected if item.outcome is not FoldOutcome.SAME]
    for item in shown if everything else shown[:SHOWN_MAX]:
        lines += [BLANK, *_run_lines(item)]
    if len(shown) > SHOWN_MAX and not everything:
        lines += [BLANK, line(f"{format_count(len(shown) - SHOWN_MAX, 'more run')}: --all or --json shows them", "dim")]
    return lines


def _headline(affected: Sequence[RunComparison]) -> list[Line]:
    waiting = [item for item in affected if item.status == "waiting"]
    differing = sum(item.outcome in DIFFERENT for item in waiting)
    lines = []
    if waiting:
        runs = format_count(len(waiting), "waiting run")
        lines.append(line(f"{differing:,} of {runs} would decide differently", "bold"))
    changed = sum(item.outcome in DIFFERENT for item in affected)
    failed = sum(item.outcome in (FoldOutcome.FAILED, FoldOutcome.UNREADABLE) for item in affected)
    same = len(affected) - changed - failed
    text = f"{format_count(len(affected), 'run')}: {same:,} unchanged, {changed:,} with another decision"
    return [
        *lines,
        line(f"{text}, {failed:,} that could not be compared" if failed else text, "" if waiting else "bold"),
    ]


def _reasons(findings: Sequence[RunComparison]) -> list[tuple[tuple[FoldOutcome, str], int, RunComparison]]:
    shown = [finding for finding in findings if finding.outcome not in (FoldOutcome.SAME, FoldOutcome.NOT_AFFECTED)]
    counts = Counter((item.outcome, item.reason) for item in shown)
    examples = {(item.outcome, item.reason): item for item in reversed(shown)}
    return [(key, number, examples[key]) for key, number in counts.most_common()]


def _run_lines(finding: RunComparison) -> list[Line]:
    place = f" at record {finding.seq}" if finding.seq is not None else ""
    status = f" ({finding.status})" if finding.status else ""
    shown = [line(f"{finding.run}{status}: {_WORDS[finding.outcome]}{place}, because: {finding.reason}")]
    if finding.then or finding.now:
        shown += [indent_line(f"then: {finding.then}"), indent_line(f"now:  {finding.now}")]
    if finding.request:
        odds = (
            ""
            if finding.odds is None
            else f"; the next attempt is accepted with an estimated probability of {finding.odds:.0%}"
        )
        shown.append(indent_line(f"needs a reply to {finding.request}{odds}", "dim"))
    return shown


def _place(finding: RunComparison) -> str:
    return finding.run if finding.seq is None else f"{finding.run} record {finding.seq}"
