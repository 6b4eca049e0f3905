"""`tune belief`: what the recorded runs of a home say about a belief policy, and the file with what they say."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import trio
import yaml

from actors.config.loader import load_policy, policy_document
from actors.policy.table import OTHER, BeliefTable, Policy
from actors.values.format import counted
from actors.values.lines import line
from replan.cli.exits import Exit
from replan.cli.home import opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, out, print_json, rich_text
from replan.cli.terminal.ticker import Ticker
from replan.learning.belief_estimate import PSEUDO_RUNS, Estimate, estimate
from replan.learning.belief_runs import FirstMoves, Runs, count_moves, runs_of
from replan.learning.held_out import GROUPS_MIN
from replan.setup.data_files import data_root
from replan.tuning.tuned_files import check_target, write_tuned
from runtime.core.errors import UsageProblem


@dataclass(frozen=True, slots=True)
class _Result:
    """What `tune belief` has found."""

    runs: Runs
    """What the home's runs say."""
    found: Estimate
    """The estimate, and how well it does."""
    moves: FirstMoves
    """In how many recorded rejections the first move would differ."""


def belief_for(invocation: Invocation, policy: str, target: Path, *, as_json: bool) -> int:
    """Estimate a belief from the home's runs, and write it if the held-out runs speak for it. Return the exit code."""
    check_target(target)
    root = data_root()
    named, document = load_policy(policy, root), policy_document(policy, root)
    shipped = named.belief
    if shipped is None:
        raise UsageProblem(f"policy {policy!r} has no belief", place="--policy", hint="belief, or a copy of it")
    result = trio.run(_estimated, invocation, named, shipped)
    found = result.found
    lines = list(_lines(result, shipped))
    if found.improvement.convincing:
        value = {**document.value, "name": target.stem, "belief": {**document.value["belief"], **_keys(found.table)}}
        write_tuned(target, "tune belief", lines, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100))
    if as_json:
        print_json(_object(result, target))
    else:
        for text in (*lines, f"Written: {target}" if found.improvement.convincing else "Nothing was written."):
            out().print(rich_text(line(text)))
    for text in _notices(result.runs, found):
        notice(text)
    return Exit.OK if found.improvement.convincing else Exit.UNSOLVED


async def _estimated(invocation: Invocation, policy: Policy, shipped: BeliefTable) -> _Result:
    async with opened_to_read(invocation) as engine:
        with Ticker("runs read") as ticker:
            runs = await runs_of(engine, policy, ticker.tick)
        found = estimate(runs.cases, shipped)
        moves = FirstMoves(shipped, found.table)
        if runs.cases:
            with Ticker("runs compared") as ticker:
                await count_moves(engine, policy, moves, ticker.tick)
    return _Result(runs, found, moves)


def _notices(runs: Runs, found: Estimate) -> Iterator[str]:
    """Yield what is to be known besides, and the next step where there are too few runs."""
    if runs.unreadable:
        run, cause = next(iter(runs.unreadable.items()))
        first = "it is" if len(runs.unreadable) == 1 else "the first is"
        yield f"{counted(len(runs.unreadable), 'run')} left out that cannot be read; {first} {run}: {cause}"
    for cause, count in Counter(runs.unfit.values()).items():
        yield f"{counted(count, 'run')} left out of which a belief has no use: {cause}"
    if not runs.cases:
        yield "this home has no runs that a belief learns from; plan some first, as with `replan run problem.md`"
    elif found.improvement.groups < GROUPS_MIN:
        yield (
            f"{counted(found.improvement.groups, 'held-out problem')} cannot judge an estimate; "
            f"{GROUPS_MIN} are needed, so plan about {2 * (GROUPS_MIN - found.improvement.groups)} more problems first"
        )


def _keys(table: BeliefTable) -> dict[str, Any]:
    """Return the keys of a policy's belief that are estimated."""
    chances = {role: [list(row) for row in rows] for role, rows in table.chances.items()}
    agreement = {} if table.agreement is None else {"agreement": table.agreement.model_dump(mode="json")}
    return {"causes": dict(table.causes), "chances": chances, **agreement}


def _lines(result: _Result, shipped: BeliefTable) -> Iterator[str]:
    """Yield what the estimate rests on, and what it says, for people."""
    runs, found, moves = result.runs, result.found, result.moves
    yield (
        f"{counted(found.used, 'run')} and {PSEUDO_RUNS} pseudo-runs estimate, "
        f"{counted(found.held_out, 'held-out run')} of {counted(found.improvement.groups, 'problem')} "
        f"judge{'s' if found.held_out == 1 else ''}."
    )
    if left_out := len(runs.unreadable) + len(runs.unfit):
        yield f"Left out: {counted(left_out, 'run')}, of which {len(runs.unreadable)} cannot be read."
    if runs.cases:
        yield "Causes: " + ", ".join(
            f"{role} {share / sum(shipped.causes.values()):.1%} -> {found.table.causes[role]:.1%}"
            for role, share in shipped.causes.items()
        )
        yield from _chances(found.table, shipped)
        yield from _kinds(found.table, shipped)
    if found.improvement.groups >= GROUPS_MIN:
        yield found.improvement.described("run")
    if runs.cases:
        yield f"The first move would differ in {moves.different:,} of {counted(moves.total, 'recorded failure')}."


def _chances(table: BeliefTable, shipped: BeliefTable) -> Iterator[str]:
    """Yield the roles whose chances have changed, with the mean chance of a first attempt at the cause."""
    changed = []
    for role, rows in table.chances.items():
        before = shipped.chances.get(role, shipped.chances[OTHER])
        if rows != before:
            changed.append(f"{role} {fmean(row[0] for row in before):.1%} -> {fmean(row[0] for row in rows):.1%}")
    if changed:
        yield "First attempts accepted at the cause: " + ", ".join(changed)


def _kinds(table: BeliefTable, shipped: BeliefTable) -> Iterator[str]:
    """Yield the shares of the kinds of author, where there are several."""
    if table.agreement is not None and shipped.agreement is not None and len(table.agreement.kinds) > 1:
        yield "Kinds of author: " + ", ".join(
            f"right {kind.right:g} and wrong {kind.wrong:g} again {before.share:.1%} -> {kind.share:.1%}"
            for kind, before in zip(table.agreement.kinds, shipped.agreement.kinds, strict=True)
        )


def _object(result: _Result, target: Path) -> dict[str, Any]:
    """Return what `--json` prints."""
    runs, found, moves = result.runs, result.found, result.moves
    return {
        "file": str(target) if found.improvement.convincing else None,
        "runs_used": found.used,
        "runs_held_out": found.held_out,
        "problems_held_out": found.improvement.groups,
        "log_score_gain": round(found.improvement.mean, 6),
        "log_score_error": round(found.improvement.error, 6) if found.improvement.groups > 1 else None,
        "failures": moves.total,
        "first_move_differs": moves.different,
        **_keys(found.table),
        "left_out": [{"run_id": run, "cause": cause} for run, cause in (runs.unreadable | runs.unfit).items()],
    }
