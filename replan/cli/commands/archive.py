"""`archive`: moves finished runs out of the journal into compressed files."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, Size, common, examples, json_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.archiving import Chosen, Retention
    from runtime.journal.archive.steps import Archived
    from runtime.journal.raw import RawStore


_ARCHIVE = examples(
    "replan archive --older-than 30d --dry-run",
    "replan archive --older-than 30d --to archive/",
    "replan archive --keep 10000 --keep-size 2GiB --to archive/ --json",
    "replan show archive/k7m2x9qa.replan.gz --tree",
)


@click.command(epilog=_ARCHIVE, short_help="Move finished runs into compressed files.")
@click.option("--to", "folder", metavar="FOLDER", help="Where the files go; it is made if it is missing.")
@click.option("--older-than", type=Duration(), metavar="TIME", help="Runs that have not changed for 12h, 30d.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="The oldest runs, until N are left.")
@click.option("--keep-size", type=Size(), metavar="SIZE", help="The oldest runs, until 500MB, 2GiB are left.")
@click.option("--ended", is_flag=True, help="Also runs that ended without a plan and could be reopened.")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@json_option
@common
@click.pass_obj
def archive(
    invocation: Invocation,
    *,
    folder: str | None,
    older_than: float | None,
    keep: int | None,
    keep_size: int | None,
    ended: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move runs that never go on, because they succeeded or were cancelled, out of the journal into files.

    Each run goes into a file of its own, with the runs of its steps; `replan show FILE` shows it, `replan restore FILE`
    brings it back. With several limits, each of them is kept. A file is verified before its runs are deleted; after an
    interruption the same command goes on. Exit 0: all were archived; 8: some cannot be, and stay in the journal.
    """
    if older_than is None and keep is None and keep_size is None:
        hint = "--older-than 30d, --keep 10000 or --keep-size 2GiB"
        raise UsageProblem("nothing says which runs are to be archived", place="--older-than", hint=hint)
    if folder is None and not dry_run:
        raise UsageProblem("no folder is named", place="--to", hint="--to FOLDER, or --dry-run to list the runs")
    import trio

    from actors.values.format import counted
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.runs.archiving import Chosen, Retention
    from replan.setup.database import database_url, journal_url
    from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home
    from runtime.journal.archive.steps import Archived
    from runtime.open_offline import open_raw

    chosen, done, into = Chosen(), list[Archived](), Path(folder or ".")
    before = None if older_than is None else time.time() - older_than
    retention = Retention(before, keep, keep_size, ended=ended)
    if database_url() is not None or locate_home().journal.exists():
        with open_raw(journal_url(), use_another=USE_ANOTHER_HOME) as store:
            chosen = trio.run(_chosen, invocation, retention, cache(partial(_size, store)))
            if chosen.families and not dry_run:
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
                "runs": listed if dry_run else rows,
                "left": [{"run_id": run, "cause": cause} for run, cause in left.items()],
                "archived": not dry_run,
            }
        )
    else:
        names = [next(iter(family)) for family in chosen.families] if dry_run else [each.run for each in written]
        print_text("".join(f"{name}\n" for name in names))
    if dry_run:
        notice(f"{counted(len(chosen.families), 'run')} would be archived")
    else:
        notice(f"{counted(len(written), 'run')} archived{f' to {into}' if written else ''}")
    return Exit.NOT_FOUND if left else Exit.OK


def _size(store: RawStore, run: str) -> int:
    with store.look() as reader:
        return reader.size(run)


def _archived(store: RawStore, chosen: Chosen, into: Path) -> list[Archived]:
    from replan.setup.kinds import Kinds
    from replan.setup.version import release
    from runtime.journal.archive.steps import archive_runs
    from runtime.process.identity import is_dead

    codecs = Kinds().codecs
    return list(archive_runs(store, chosen.families, into, codecs, dead=is_dead, release=release()))


async def _chosen(invocation: Invocation, retention: Retention, size_of: Callable[[str], int]) -> Chosen:
    from replan.cli.home import opened
    from replan.runs.archiving import choose

    async with opened(invocation) as engine:
        return await choose(engine, retention, size_of)
