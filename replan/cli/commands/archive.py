"""`archive`: moves finished runs out of the journal into compressed files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import trio

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, print_json
from replan.cli.terminal.plain import print_text
from replan.runs.archiving import Chosen, Retention, choose
from replan.setup.database import database_url, journal_url
from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home
from replan.setup.kinds import Kinds
from replan.setup.version import release
from runtime.journal.archive.steps import Archived, archive_runs
from runtime.journal.raw import RawStore
from runtime.open_offline import open_raw
from runtime.process.identity import is_dead


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say."""

    folder: str | None
    older_than: float | None
    """In seconds."""
    keep: int | None
    keep_size: int | None
    """In bytes."""
    ended: bool
    dry_run: bool


def archive_old(invocation: Invocation, wanted: Wanted, *, as_json: bool) -> int:
    """Archive runs, and print what became of each. Return the exit code."""
    chosen, done, into = Chosen(), list[Archived](), Path(wanted.folder or ".")
    if database_url() is not None or locate_home().journal.exists():
        with open_raw(journal_url(), use_another=USE_ANOTHER_HOME) as store:
            chosen = trio.run(_chosen, invocation, wanted, cache(partial(_size, store)))
            if chosen.families and not wanted.dry_run:
                done = _archived(store, chosen, into)
    left = chosen.left | {each.run: each.problem for each in done if each.problem}
    for run, problem in left.items():
        notice(f"run {run} stays in the journal: {problem}")
    written = [each for each in done if not each.problem]
    if as_json:
        rows = [{"run_id": each.run, "runs": each.runs, "file": str(each.path), "bytes": each.size} for each in written]
        listed = [{"run_id": next(iter(family)), "runs": len(family)} for family in chosen.families]
        print_json(
            {
                "runs": listed if wanted.dry_run else rows,
                "left": [{"run_id": run, "cause": cause} for run, cause in left.items()],
                "archived": not wanted.dry_run,
            }
        )
    else:
        names = [next(iter(family)) for family in chosen.families] if wanted.dry_run else [each.run for each in written]
        print_text("".join(f"{name}\n" for name in names))
    if wanted.dry_run:
        notice(f"{counted(len(chosen.families), 'run')} would be archived")
    else:
        notice(f"{counted(len(written), 'run')} archived{f' to {into}' if written else ''}")
    return Exit.NOT_FOUND if left else Exit.OK


def _size(store: RawStore, run: str) -> int:
    with store.look() as reader:
        return reader.size(run)


def _archived(store: RawStore, chosen: Chosen, into: Path) -> list[Archived]:
    codecs = Kinds().codecs
    return list(archive_runs(store, chosen.families, into, codecs, dead=is_dead, release=release()))


async def _chosen(invocation: Invocation, wanted: Wanted, size_of: Callable[[str], int]) -> Chosen:
    before = None if wanted.older_than is None else time.time() - wanted.older_than
    async with opened(invocation) as engine:
        return await choose(engine, Retention(before, wanted.keep, wanted.keep_size, ended=wanted.ended), size_of)
