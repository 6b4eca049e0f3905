"""`tune blame`: what labelled traces say about the weights of blame, and the file with what they say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from actors.values.format import counted
from actors.values.lines import line
from replan.blame.trace_reader import read_weights, shipped_weights
from replan.cli.exits import Exit
from replan.cli.terminal.console import notice, out, print_json, rich_text
from replan.cli.trace_files import read_all
from replan.learning.blame_estimate import BlameEstimate, estimate_blame
from replan.learning.held_out import GROUPS_MIN
from replan.tuning.tuned_files import check_target, write_tuned
from runtime.core.errors import UsageProblem


def blame_for(names: tuple[str, ...], prior: str | None, target: Path, *, as_json: bool) -> int:
    """Fit weights to labelled traces, and write them if the held-out ones speak for it. Return the exit code."""
    check_target(target)
    weights = shipped_weights() if prior is None else read_weights(Path(prior))
    traces = [trace for _, trace in read_all(names)]
    if all(trace.mistake is None for trace in traces):
        hint = "a labelled one has `mistake_step`, the number of the step, beside its messages"
        raise UsageProblem("no trace is labelled", place="TRACE", hint=hint)
    try:
        found = estimate_blame(traces, weights, target.stem)
    except (ArithmeticError, ValueError) as error:
        hint = "begin with the shipped weights: leave out --weights" if prior else "check the marks of the traces"
        raise UsageProblem(str(error), place=prior or "TRACE", hint=hint) from None
    lines = list(_lines(found, len(traces)))
    if found.convincing and found.weights is not None:
        text = yaml.safe_dump(found.weights.model_dump(), sort_keys=False)
        write_tuned(target, "tune blame", lines, text)
    elif found.improvement.groups < GROUPS_MIN:
        missing, groups = GROUPS_MIN - found.improvement.groups, found.improvement.groups
        notice(
            f"{counted(groups, 'held-out question')} cannot judge an estimate; {GROUPS_MIN} are needed, "
            f"so label about {2 * missing} more traces first"
        )
    if as_json:
        print_json(_object(found, len(traces), target))
    else:
        for text in (*lines, f"Written: {target}" if found.convincing else "Nothing is written."):
            out().print(rich_text(line(text)))
    return Exit.OK if found.convincing else Exit.UNSOLVED


def _lines(found: BlameEstimate, traces: int) -> Iterator[str]:
    """Yield what the estimate rests on, and what it says, for people."""
    judging, unlabelled = found.after.traces, traces - found.used - found.after.traces
    yield (
        f"{counted(found.used, 'labelled trace')} and the weights that were there estimate, "
        f"{judging} of {counted(found.improvement.groups, 'other question')} judge{'s' if judging == 1 else ''}."
    )
    if unlabelled:
        yield f"Left out: {counted(unlabelled, 'trace')} without a mark."
    if judging:
        yield f"The marked step is the likeliest in {found.before.hits} -> {found.after.hits} of {judging}."
    if found.improvement.groups >= GROUPS_MIN:
        yield found.improvement.described("trace")


def _object(found: BlameEstimate, traces: int, target: Path) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "file": str(target) if found.convincing else None,
        "traces": traces,
        "traces_used": found.used,
        "traces_held_out": found.after.traces,
        "questions_held_out": found.improvement.groups,
        "hits_before": found.before.hits,
        "hits_after": found.after.hits,
        "log_score_gain": round(found.improvement.mean, 6),
        "log_score_error": round(found.improvement.error, 6) if found.improvement.groups > 1 else None,
    }
