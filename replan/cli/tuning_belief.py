"""`tune belief`: what the recorded runs of a home say about a belief policy, and the file with what they say."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trio
import yaml

from actors.config.policy_loader import load_policy, policy_document
from actors.policy.belief_table import BeliefTable
from actors.values.format import counted
from actors.values.lines import line
from replan.cli.exits import Exit
from replan.cli.home import opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, out, print_json, rich_text
from replan.setup.data_files import data_root
from replan.tuning.belief_cases import differing
from replan.tuning.belief_estimate import HELD_OUT_MIN, PSEUDO_RUNS, Estimate, estimate
from replan.tuning.belief_runs import Runs, runs_of
from replan.tuning.tuned_files import check_target, write_tuned
from runtime.core.errors import UsageProblem


def belief_for(invocation: Invocation, policy: str, target: Path, *, as_json: bool) -> int:
    """Estimate a belief from the home's runs, and write it if the held-out runs speak for it. Return the exit code."""
    check_target(target)
    root = data_root()
    named, document = load_policy(policy, root), policy_document(policy, root)
    if named.belief is None:
        raise UsageProblem(f"policy {policy!r} has no belief", place="--policy", hint="belief, or a copy of it")
    runs = trio.run(_read, invocation, named)
    for run, cause in runs.unreadable.items():
        notice(f"left out: {run}: {cause}")
    for cause, count in Counter(runs.unfit.values()).items():
        notice(f"no use for {counted(count, 'run')}: {cause}")
    found = estimate([each.case for each in runs.found], named.belief)
    moves = differing(runs.found, named.belief, found.table)
    shown = list(_lines(runs, found, moves, named.belief))
    if found.convincing:
        value = {**document.value, "name": "tuned_belief", "belief": {**document.value["belief"], **_keys(found.table)}}
        write_tuned(target, "belief", shown, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))
    if as_json:
        print_json(_object(runs, found, moves, target))
    else:
        for text in (*shown, f"Written: {target}" if found.convincing else "Nothing was written."):
            out().print(rich_text(line(text)))
    return Exit.OK if found.convincing else Exit.UNSOLVED


async def _read(invocation: Invocation, policy: Any) -> Runs:
    async with opened_to_read(invocation) as engine:
        return await runs_of(engine, policy)


def _keys(table: BeliefTable) -> dict[str, Any]:
    """Return the keys of a policy's belief that are estimated."""
    chances = {role: [list(row) for row in rows] for role, rows in table.chances.items()}
    return {"causes": dict(table.causes), "chances": chances}


def _lines(runs: Runs, found: Estimate, moves: tuple[int, int], shipped: BeliefTable) -> Iterator[str]:
    """Yield what the estimate rests on, and what it says, for people."""
    yield (
        f"{counted(found.used, 'run')} and {PSEUDO_RUNS} pseudo-runs estimate, "
        f"{counted(found.held_out, 'held-out run')} judge."
    )
    if runs.found:
        yield "Causes: " + ", ".join(
            f"{role} {share / sum(shipped.causes.values()):.1%} -> {found.table.causes[role]:.1%}"
            for role, share in shipped.causes.items()
        )
    judged = f"The log score of a held-out run changes by {found.gain:+.4f}, standard error {found.error:.4f}: "
    if found.held_out < HELD_OUT_MIN:
        yield f"Fewer than {HELD_OUT_MIN} held-out runs cannot judge an estimate."
    else:
        yield judged + ("more" if found.convincing else "not more") + " than two standard errors better."
    yield f"The first move would differ in {moves[0]} of {counted(moves[1], 'recorded failure')}."


def _object(runs: Runs, found: Estimate, moves: tuple[int, int], target: Path) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "file": str(target) if found.convincing else None,
        "runs_used": found.used,
        "runs_held_out": found.held_out,
        "log_score_gain": round(found.gain, 6),
        "log_score_error": round(found.error, 6) if found.held_out > 1 else None,
        "failures": moves[1],
        "first_move_differs": moves[0],
        **_keys(found.table),
        "left_out": [{"run_id": run, "cause": cause} for run, cause in (runs.unreadable | runs.unfit).items()],
    }
