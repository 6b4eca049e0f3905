"""Reads the home for commands that only read it, if possible without an event loop.

Without the event loop and the journal's threads, a command starts twice as fast. With `-v`, or if the journal is
missing or must be upgraded or repaired, the home is opened in the usual way.
"""

import os
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from actors.run.ids import is_child
from replan.cli.options import Invocation
from replan.setup.home_folder import Home, database_url, locate_home, prepare_home
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.port import RunFilter, RunRow

if TYPE_CHECKING:
    from replan.runs.reader import RunReader

T = TypeVar("T")

READ_MAX = 20
"""The largest number of finished runs that `resume --last` reads, because a message may have reopened one of them."""

FIRST_ROWS = 100
"""How many status rows a command reads at first to find the newest run that matches. If none of these rows matches, the
command reads ten times as many.
"""

Work = Callable[["RunReader"], Coroutine[Any, Any, T]]
"""The part of a command that reads runs: a function that gets a reader of the home's runs."""


def read_home(invocation: Invocation, work: Work[T]) -> T:
    """Call a function that only reads the home, and return its result. Wrong settings cause only a warning.

    Raises the errors of `open_home`.
    """
    home = locate_home()
    at_once = not (invocation.verbose or invocation.log_json) and database_url() is None
    if at_once and home.journal.exists() and os.access(home.folder, os.W_OK):
        done = read_at_once(home, work, warn=True)
        if done is not None:
            invocation.done_at_once = True
            return done[0]
    import trio

    return trio.run(_read, invocation, work)


def read_at_once(home: Home, work: Work[T], *, warn: bool) -> tuple[T] | None:
    """Call `work` without an event loop, and return its result in a tuple. Return None if `work` needs an event loop.

    With `warn`, wrong settings cause a warning on stderr.
    """
    from replan.runs.reader import LightRunReader
    from replan.setup.kinds import Kinds
    from runtime.journal.folder import prepare_file
    from runtime.journal.sqlite.reading import open_to_read, run_without_loop

    prepare_home()
    prepare_file(home.journal)
    kinds = Kinds()
    with open_to_read(home.journal, kinds.codecs, time.time) as journal:
        if journal is None:
            return None
        if warn:
            _warn_of_settings(home)
        return (run_without_loop(work(LightRunReader(journal, kinds))),)


def _warn_of_settings(home: Home) -> None:
    if not os.path.lexists(home.config):
        return
    from replan.cli.terminal.console import notice
    from replan.setup.settings import read_user_config

    try:
        read_user_config(home.config)
    except UsageProblem as problem:
        notice(f"warning: {problem}")


async def _read(invocation: Invocation, work: Work[T]) -> T:
    from replan.cli.home import open_for_reading

    async with open_for_reading(invocation) as engine:
        return await work(engine)


async def resolve_named(reader: "RunReader", name: str) -> str:
    """Return the id of the run that an id or a prefix names. Raises the errors of `resolve_run`."""
    from replan.runs.reader import resolve_run

    return await resolve_run(reader.journal, name)


async def resolve_or_newest(reader: "RunReader", name: str | None) -> str:
    """Return the id of the run that `name` names. If `name` is None, return the id of the newest run."""
    return await newest_run(reader) if name is None else await resolve_named(reader, name)


async def newest_run(reader: "RunReader") -> str:
    """Return the id of the newest run that has a record."""
    return await _newest(reader, _any_run) or _none(f"no runs yet (`{program()} run PROBLEM` starts one)")


async def newest_to_resume(reader: "RunReader", *, raised: bool) -> str:
    """Return the id of the run that `resume --last` resumes. `raised` says whether the user gave new limits.

    A message may reopen a finished run, so the `READ_MAX` newest finished runs are read.

    Raises: RunNotFound: there is no run. UsageProblem: the newest run has finished, and an older run can continue. The
    hint names the older run. Driving it may cost money, so the user must name it.
    """
    from actors.run.ending import FINAL, Outcome

    reopened = {Outcome.FAILED, Outcome.BUDGET_EXHAUSTED} if raised else {Outcome.FAILED}
    left = READ_MAX

    async def goes_on(row: RunRow) -> bool:
        nonlocal left
        if row.status != "finished" or row.detail in reopened:
            return True
        if row.detail in FINAL or left == 0:
            return False
        left -= 1
        return await _is_reopened(reader, row.run)

    newest = await _newest(reader, _any_run) or _none(f"no run to resume (`{program()} run PROBLEM` starts one)")
    can_go_on = await _newest(reader, goes_on)
    if can_go_on is None or can_go_on == newest:
        return newest
    title = (await reader.journal.row(can_go_on)).title
    hint = f"`{program()} resume {can_go_on}` continues the newest run that can continue: {title}"
    raise UsageProblem(f"the newest run, {newest}, has finished", place="--last", hint=hint)


async def _newest(reader: "RunReader", matches: Callable[[RunRow], Coroutine[Any, Any, bool]]) -> str | None:
    """Return the id of the newest run for which `matches` returns True; None if there is none.

    Child runs and runs without a record do not count.

    More rows are read only if none of the newest rows matches. Reading all rows of a large journal takes seconds.
    """
    seen, limit = 0, FIRST_ROWS
    while True:
        rows = await reader.journal.runs(RunFilter(limit=limit))
        for row in rows[seen:]:
            if row.last_seq > 0 and not is_child(row.run) and await matches(row):
                return row.run
        if len(rows) < limit:
            return None
        seen, limit = limit, limit * 10


async def _any_run(_: RunRow) -> bool:
    return True


def _none(cause: str) -> NoReturn:
    raise RunNotFound("", cause=cause)


async def _is_reopened(reader: "RunReader", run: str) -> bool:
    from replan.runs.reader import goes_on

    try:
        return goes_on(await reader.common_with_inbox(run))
    except (JournalDamaged, KindUnknown, UsageProblem):
        return False
