"""Answers a what-if query about the runs of a home or a database.

This module reads the runs, and replays them in worker processes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from replan.api.loops import blocking_form, run_in_any_loop
from replan.api.options import Home, environment_of
from replan.runs.reader import ALL, find_run
from replan.setup.home_folder import USE_ANOTHER_HOME, database_url, journal_url, locate_home
from replan.setup.settings import read_user_config
from replan_lab.whatif import LIMIT_SECONDS
from replan_lab.whatif.differences import FoldOutcome, RunComparison
from replan_lab.whatif.edits import EditRequest
from replan_lab.whatif.processes import Checkout, fold_all
from replan_lab.whatif.recorded_run import StoredRun
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import JournalError, RunNotFound, UsageProblem
from runtime.journal.port import RunRow
from runtime.open_offline import open_raw

if TYPE_CHECKING:
    from runtime.journal.raw import RawStore

READ_AT_ONCE = 64
"""The largest number of runs that are read from one snapshot of the journal."""
FEW = 100
"""The largest number of runs that a single process replays. For so few runs, starting more processes takes more time
than they save.
"""


@dataclass(frozen=True, slots=True)
class WhatIfQuery:
    """The runs to replay, and the edit."""

    runs: tuple[str, ...] = ()
    workflow: str | None = None
    guards: tuple[str, ...] = ()
    policy: str | None = None
    release: str | None = None
    plugins: tuple[str, ...] = ()
    seconds: float = LIMIT_SECONDS


def findings_of(asked: WhatIfQuery, environment: Mapping[str, str] = os.environ) -> list[RunComparison]:
    """Return the comparison of each run. Waiting runs come first; otherwise, the newest run comes first.

    `environment` contains the variables that choose the home. Raises `RunNotFound`, and `UsageProblem` for an edit that
    cannot be used.
    """
    home = locate_home(environment)
    config = read_user_config(home.config)
    plugins = (*(home.config.parent / name for name in config.plugins), *map(Path, asked.plugins))
    request = EditRequest(
        workflow=_absolute(asked.workflow),
        guards=asked.guards,
        policy=_absolute(asked.policy),
        named=bool(asked.runs),
        plugins=tuple(str(path.absolute()) for path in plugins),
    )
    there = database_url(environment) is not None or home.journal.exists()
    opening = open_raw(journal_url(environment), use_another=USE_ANOTHER_HOME) if there else nullcontext()
    budgeted = config.home_budget.budget != HomeBudget()
    with opening as store:
        checkout = Checkout.own() if asked.release is None else Checkout.at(asked.release)
        rows = list[RunRow]()
        if store is not None:
            with store.look() as reader:
                rows = reader.rows(ALL)
        elif asked.runs:
            raise RunNotFound(asked.runs[0])
        if asked.runs:
            named = {find_run(rows, run) for run in asked.runs}
            rows = [row for row in rows if row.run in named]
        rows = [row for row in rows if row.last_seq > 0]
        rows.sort(key=lambda row: row.status != "waiting")
        unread = dict[str, str]()
        stored = iter(()) if store is None else _read_stored(store, [row.run for row in rows], unread)
        processes = 1 if len(rows) <= FEW else min(8, os.cpu_count() or 1)
        found = fold_all(stored, request, checkout, seconds=asked.seconds, processes=processes, daily_budget=budgeted)
    statuses = {row.run: row.status for row in rows}
    found += [RunComparison(run, FoldOutcome.UNREADABLE, statuses[run], reason=cause) for run, cause in unread.items()]
    order = {row.run: place for place, row in enumerate(rows)}
    return sorted(found, key=lambda item: order[item.run])


def _absolute(name: str | None) -> str:
    """Return the absolute path of a file, because workers have another current folder.

    A shipped name is returned unchanged.
    """
    if not name:
        return ""
    return str(Path(name).absolute()) if os.path.lexists(name) or os.sep in name else name


def _read_stored(store: "RawStore", runs: Sequence[str], unread: dict[str, str]) -> Iterator[StoredRun]:
    """Yield the verified stored form of runs.

    For each run that cannot be read, add its id and the cause to `unread`.
    """
    for begin in range(0, len(runs), READ_AT_ONCE):
        with store.look() as reader:
            part = list(reader.copies(runs[begin : begin + READ_AT_ONCE]))
        for run, copy in part:
            if isinstance(copy, JournalError):
                unread[run] = str(copy)
            else:
                yield StoredRun.of(copy)


async def awhatif(
    *runs: str,
    workflow: Path | str | None = None,
    guards: Sequence[str] = (),
    policy: Path | str | None = None,
    release: Path | str | None = None,
    plugins: Sequence[Path | str] = (),
    time_limit: float = LIMIT_SECONDS,
    home: Home = None,
) -> tuple[RunComparison, ...]:
    """Replay recorded runs under an edited workflow, guard, policy or program, and compare the decisions.

    Returns a comparison for each run; waiting runs come first. `runs` are ids of runs; without ids, all runs are
    compared. `workflow` and `policy` are shipped names or files. `guards` have the form `NAME` or `STEP=NAME`.
    `release` is the folder of another checkout. `plugins` are plug-in files in addition to those in the home's
    settings. `time_limit` is in seconds for one run. If a guard raises or does not end, the outcome of its run is
    `failed`. Raises `RunNotFound`, and `UsageProblem` for an edit that cannot be used.
    """
    if isinstance(guards, str) or isinstance(plugins, str):
        raise UsageProblem("should be a list, not a string", place="guards" if isinstance(guards, str) else "plugins")
    if not 0.1 <= time_limit < float("inf"):
        raise UsageProblem("should be a finite number of at least 0.1 seconds", place="time_limit")
    files = tuple(map(str, plugins))
    query = WhatIfQuery(runs, _text(workflow), tuple(guards), _text(policy), _text(release), files, time_limit)
    work = partial(trio.to_thread.run_sync, partial(findings_of, query, environment_of(home)))
    return tuple(await run_in_any_loop(work))


whatif = blocking_form(awhatif)


def _text(value: Path | str | None) -> str | None:
    return None if value is None else str(value)
