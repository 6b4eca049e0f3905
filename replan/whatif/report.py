"""What came of many runs: the headline about waiting runs, the table by reason, and one line for each run. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from actors.values.format import format_count
from actors.values.lines import BLANK, Line, columns, indent_line, line
from replan.whatif.differences import FoldOutcome, RunComparison

DIFFERENT = (FoldOutcome.DIFFERS, FoldOutcome.NEEDS_REPLY)
"""The outcomes in which a decision is another one."""
SHOWN_MAX = 20
"""Runs that are shown one by one, unless all are asked for."""
_WORDS = {
    FoldOutcome.SAME: "same to the end",
    FoldOutcome.DIFFERS: "differs",
    FoldOutcome.NEEDS_REPLY: "needs a reply that nobody recorded",
    FoldOutcome.FAILED: "could not be folded",
    FoldOutcome.UNREADABLE: "cannot be read",
    FoldOutcome.NOT_AFFECTED: "not affected",
}


def report_json(findings: Sequence[RunComparison]) -> dict[str, Any]:
    """Return the report as plain data. Runs that are the same, or not affected, are only counted."""
    counts = Counter(finding.outcome for finding in findings)
    waiting = [
        finding
        for finding in findings
        if finding.status == "waiting" and finding.outcome is not FoldOutcome.NOT_AFFECTED
    ]
    told = [finding for finding in findings if finding.outcome not in (FoldOutcome.SAME, FoldOutcome.NOT_AFFECTED)]
    return {
        "compared": len(findings) - counts[FoldOutcome.NOT_AFFECTED],
        "counts": {outcome.value: counts[outcome] for outcome in FoldOutcome},
        "waiting": {"compared": len(waiting), "differ": sum(item.outcome in DIFFERENT for item in waiting)},
        "reasons": [
            {"outcome": outcome.value, "reason": reason, "runs": number, "example": example.run, "seq": example.seq}
            for (outcome, reason), number, example in _reasons(findings)
        ],
        "runs": [item.to_json() for item in told],
    }


def report_lines(findings: Sequence[RunComparison], *, everything: bool = False) -> list[Line]:
    """Return the report for people; `everything` shows each run that is not the same."""
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
    told = [item for item in affected if item.outcome is not FoldOutcome.SAME]
    for item in told if everything else told[:SHOWN_MAX]:
        lines += [BLANK, *_run_lines(item)]
    if len(told) > SHOWN_MAX and not everything:
        lines += [BLANK, line(f"{format_count(len(told) - SHOWN_MAX, 'more run')}: --all or --json shows them", "dim")]
    return lines


def _headline(affected: Sequence[RunComparison]) -> list[Line]:
    waiting = [item for item in affected if item.status == "waiting"]
    differing = sum(item.outcome in DIFFERENT for item in waiting)
    lines = []
    if waiting:
        runs = format_count(len(waiting), "waiting run")
        lines.append(line(f"{differing:,} of {runs} would be asked something else", "bold"))
    changed = sum(item.outcome in DIFFERENT for item in affected)
    failed = sum(item.outcome in (FoldOutcome.FAILED, FoldOutcome.UNREADABLE) for item in affected)
    same = len(affected) - changed - failed
    text = f"{format_count(len(affected), 'run')}: {same:,} same to the end, {changed:,} with another decision"
    return [*lines, line(f"{text}, {failed:,} not compared" if failed else text, "" if waiting else "bold")]


def _reasons(findings: Sequence[RunComparison]) -> list[tuple[tuple[FoldOutcome, str], int, RunComparison]]:
    """Return the reasons with the number of their runs and the first of these, the most frequent first."""
    told = [finding for finding in findings if finding.outcome not in (FoldOutcome.SAME, FoldOutcome.NOT_AFFECTED)]
    counts = Counter((item.outcome, item.reason) for item in told)
    examples = {(item.outcome, item.reason): item for item in reversed(told)}
    return [(key, number, examples[key]) for key, number in counts.most_common()]


def _run_lines(finding: RunComparison) -> list[Line]:
    place = f" at record {finding.seq}" if finding.seq is not None else ""
    status = f" ({finding.status})" if finding.status else ""
    shown = [line(f"{finding.run}{status}: {_WORDS[finding.outcome]}{place}, because: {finding.reason}")]
    if finding.then or finding.now:
        shown += [indent_line(f"then: {finding.then}"), indent_line(f"now:  {finding.now}")]
    if finding.request:
        odds = "" if finding.odds is None else f"; estimate: the next attempt is accepted at {finding.odds:.0%}"
        shown.append(indent_line(f"needs a reply to {finding.request}{odds}", "dim"))
    return shown


def _place(finding: RunComparison) -> str:
    return finding.run if finding.seq is None else f"{finding.run} record {finding.seq}"
