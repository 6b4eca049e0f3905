"""`whatif`: folds recorded runs under an edited workflow, guard, policy or program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.completing import complete_policy, complete_run, complete_workflow
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, plugins_option

if TYPE_CHECKING:
    from replan.whatif.differences import RunComparison
    from replan.whatif.edits import EditRequest
    from replan.whatif.recorded_run import StoredRun
    from runtime.journal.port import RunRow
    from runtime.journal.raw import RawStore

LIMIT_SECONDS = 10.0
"""The time limit of one run where nobody sets another."""
READ_AT_ONCE = 64
"""Runs that are read in one snapshot of the journal."""
FEW = 100
"""Runs up to which one process is enough: starting another takes longer."""

_WHATIF = examples(
    "replan whatif",
    "replan whatif --workflow my_workflow.yaml",
    "replan whatif --policy strict.yaml --json",
    "replan whatif k7m2x9qa --guard g_plan=plan_expansive",
    "replan whatif --guard plan_medium --all",
    "replan whatif --release ../main",
)


@click.command(epilog=_WHATIF, short_help="Fold recorded runs under edited rules.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@click.option("-w", "--workflow", metavar="NAME|FILE", shell_complete=complete_workflow, help="The edited workflow.")
@click.option(
    "--guard", "guards", multiple=True, metavar="[STEP=]NAME", help="Ask this guard again, or in place of a step's own."
)
@click.option("--policy", metavar="NAME|FILE", shell_complete=complete_policy, help="The edited policy.")
@click.option("--release", metavar="CHECKOUT", help="The program of another checkout.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1),
    default=LIMIT_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds that one run may take.",
)
@click.option("--all", "everything", is_flag=True, help="Show every run that differs.")
@plugins_option
@json_option
@common
@click.pass_obj
def whatif(
    invocation: Invocation,
    *,
    runs: tuple[str, ...],
    workflow: str | None,
    guards: tuple[str, ...],
    policy: str | None,
    release: str | None,
    time_limit: float,
    everything: bool,
    as_json: bool,
) -> int:
    """Fold recorded runs under an edited workflow, guard, policy or program, and compare each decision.

    Nothing is called and nothing is written. Without an edit, this program is compared with the one that recorded.
    Without RUN, all runs of the home are folded, those that wait first; --workflow is then for the runs of the workflow
    of that name. Exit 0: no decision differs; 3: one does; 1: a guard or the program failed; 9: a run cannot be read.
    """
    from replan.cli.terminal.console import print_json, show
    from replan.setup.database import database_url, journal_url
    from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home
    from replan.setup.settings import read_user_config
    from replan.whatif.edits import EditRequest
    from replan.whatif.report import report_json, report_lines
    from runtime.core.daily_budget import HomeBudget
    from runtime.open_offline import open_raw

    home = locate_home()
    config = read_user_config(home.config)
    plugins = (*(str(home.config.parent / name) for name in config.plugins), *invocation.plugins)
    request = EditRequest(
        workflow=_absolute(workflow),
        guards=guards,
        policy=_absolute(policy),
        named=bool(runs),
        plugins=tuple(str(Path(name).absolute()) for name in plugins),
    )
    there = database_url() is not None or home.journal.exists()
    opening = open_raw(journal_url(), use_another=USE_ANOTHER_HOME) if there else nullcontext()
    with opening as store:
        budgeted = config.home_budget.budget != HomeBudget()
        findings = _folded(store, runs, request, release, time_limit, daily_budget=budgeted)
    if as_json:
        print_json(report_json(findings))
    else:
        show(report_lines(findings, everything=everything))
    return _exit(findings)


def _absolute(name: str | None) -> str:
    """Return a file's absolute path, since the process that reads it is elsewhere; the name of a shipped one as is."""
    if not name:
        return ""
    return str(Path(name).absolute()) if os.path.lexists(name) or os.sep in name else name


def _folded(
    store: RawStore | None,
    runs: Sequence[str],
    request: EditRequest,
    release: str | None,
    seconds: float,
    *,
    daily_budget: bool,
) -> list[RunComparison]:
    """Return what comes of each run, those that wait first, then the newest."""
    from replan.runs.run_ids import ALL, find_run
    from replan.whatif.differences import FoldOutcome, RunComparison
    from replan.whatif.processes import Checkout, fold_all
    from runtime.core.errors import RunNotFound

    checkout = Checkout.own() if release is None else Checkout.at(release)
    rows: list[RunRow] = []
    if store is not None:
        with store.look() as reader:
            rows = reader.rows(ALL)
    elif runs:
        raise RunNotFound(runs[0])
    if runs:
        named = {find_run(rows, run) for run in runs}
        rows = [row for row in rows if row.run in named]
    rows = [row for row in rows if row.last_seq > 0]
    rows.sort(key=lambda row: row.status != "waiting")
    unread = dict[str, str]()

    def stored() -> Iterator[StoredRun]:
        assert store is not None or not rows
        yield from () if store is None else _stored(store, [row.run for row in rows], unread)

    processes = 1 if len(rows) <= FEW else min(8, os.cpu_count() or 1)
    found = fold_all(stored(), request, checkout, seconds=seconds, processes=processes, daily_budget=daily_budget)
    statuses = {row.run: row.status for row in rows}
    found += [RunComparison(run, FoldOutcome.UNREADABLE, statuses[run], reason=cause) for run, cause in unread.items()]
    order = {row.run: place for place, row in enumerate(rows)}
    return sorted(found, key=lambda each: order[each.run])


def _stored(store: RawStore, runs: Sequence[str], unread: dict[str, str]) -> Iterator[StoredRun]:
    """Yield runs as they are stored, verified; `unread` gets those that cannot be read, with the cause."""
    from replan.whatif.recorded_run import StoredRun
    from runtime.core.errors import JournalError

    for begin in range(0, len(runs), READ_AT_ONCE):
        with store.look() as reader:
            part = list(reader.copies(runs[begin : begin + READ_AT_ONCE]))
        for run, copy in part:
            if isinstance(copy, JournalError):
                unread[run] = str(copy)
            else:
                yield StoredRun.of(copy)


def _exit(findings: Sequence[RunComparison]) -> Exit:
    from replan.whatif.differences import FoldOutcome
    from replan.whatif.report import DIFFERENT

    outcomes = {each.outcome for each in findings}
    if outcomes & {*DIFFERENT}:
        return Exit.UNSOLVED
    if FoldOutcome.FAILED in outcomes:
        return Exit.INTERNAL
    return Exit.JOURNAL if FoldOutcome.UNREADABLE in outcomes else Exit.OK
