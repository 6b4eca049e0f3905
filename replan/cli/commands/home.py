"""The commands of the group `home`: they list, verify, copy, upgrade and shorten the journal of a home."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.command_table import HomeGroup
from replan.cli.completing import complete_run
from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, common, examples, json_option, keep_workspace_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from actors.tools.fork_workspace import LeftFolder


@click.group(
    cls=HomeGroup,
    epilog=examples(
        "replan home verify",
        "replan home copy postgresql://replan@db/replan",
        "replan home upgrade postgresql://owner@db/replan --app replan_app",
    ),
)
@common
def home() -> None:
    """Maintain the home and its journal. URL is sqlite:PATH or postgresql://…; default: the journal in use."""


@click.command(epilog=examples("replan home files", "replan home files --json"))
@json_option
@common
def files(*, as_json: bool) -> int:
    """List the files of the home with their sizes: settings, journal, tools, log, tokens."""
    from actors.values.lines import line
    from replan.cli.terminal.console import notice, print_json, print_row
    from replan.setup.home_folder import locate_home

    folder = locate_home().folder
    found = {path: path.lstat().st_size for path in sorted(folder.rglob("*")) if not path.is_dir()}
    if as_json:
        rows = [{"file": str(path.relative_to(folder)), "bytes": size} for path, size in found.items()]
        print_json({"home": str(folder), "files": rows})
        return Exit.OK
    for path, size in found.items():
        print_row(line(f"{size:>15,}  {path.relative_to(folder)}"))
    notice(
        f"{folder}: {len(found)} files" if found else f"{folder}: there are no files yet; the first run creates them"
    )
    return Exit.OK


@click.command(epilog=examples("replan home verify", "replan home verify sqlite:copy/journal.sqlite3 --json"))
@click.argument("url", required=False)
@json_option
@common
def verify(url: str | None, *, as_json: bool) -> int:
    """Compute the state of all runs from their records, and compare it with the stored state. Exit 9 if they differ."""
    from replan.cli.journals import verify_journal

    return verify_journal(url, as_json=as_json)


_COPY = examples(
    "replan home copy postgresql://replan@db/replan",
    "replan home copy sqlite:old/journal.sqlite3 --older-than 30d --delete",
    "replan home copy sqlite:old/journal.sqlite3 sqlite:home/journal.sqlite3 --run k7m2x9qa",
)


@click.command(epilog=_COPY, short_help="Copy runs to another journal; --delete deletes them here.")
@click.argument("urls", metavar="[SOURCE] TARGET", nargs=-1, required=True)
@click.option(
    "--older-than",
    type=Duration(),
    metavar="TIME",
    help="Copy only runs that were not changed for this time, such as 12h.",
)
@click.option("--ended", is_flag=True, help="Copy only runs that have ended, even if they could be reopened.")
@click.option(
    "--run",
    "names",
    multiple=True,
    metavar="RUN",
    shell_complete=complete_run,
    help="Copy only this run; may be given several times.",
)
@click.option("--delete", is_flag=True, help="Then delete from SOURCE the chosen runs that TARGET has.")
@json_option
@common
def copy(
    urls: tuple[str, ...], *, older_than: float | None, ended: bool, names: tuple[str, ...], delete: bool, as_json: bool
) -> int:
    """Copy runs that nobody drives from SOURCE to TARGET, with what they have spent today.

    SOURCE is by default the journal in use. Each run is marked as moved in SOURCE: it can be shown there, and nobody
    can drive it or post to it any more. Without an option, all runs are copied. With an option, only ended runs and
    their child runs are copied. With only --older-than, runs that could be reopened are not copied. The command can be
    repeated, even after it was killed. Exit 0: all runs are in TARGET; 8: some runs are driven or cannot be copied.
    """
    from replan.cli.journals import copy_between
    from replan.runs.retention import RunChoice
    from replan.setup.home_folder import journal_url

    if len(urls) > 2:
        raise UsageProblem("more than two journals are named", place="TARGET", hint="write [SOURCE] TARGET")
    if names and (ended or older_than is not None):
        raise UsageProblem(
            "this option cannot be used with --older-than or --ended", place="--run", hint="leave them out"
        )
    before = None if older_than is None else time.time() - older_than
    choice = RunChoice(names, before, ended=ended)
    if delete and choice == RunChoice():
        hint = "add --older-than 30d, --ended or --run RUN"
        raise UsageProblem("this option needs another option that chooses runs", place="--delete", hint=hint)
    source = urls[0] if len(urls) == 2 else journal_url()
    return copy_between(source, urls[-1], choice, delete=delete, as_json=as_json)


@click.command(
    epilog=examples("replan home upgrade", "replan home upgrade postgresql://owner@db/replan --app replan_app")
)
@click.argument("url", required=False)
@click.option("--app", metavar="ROLE", help="A database role that drives runs: it may not change or delete records.")
@click.option("--archive", metavar="ROLE", help="A database role that may also delete runs.")
@click.option("--reader", metavar="ROLE", help="A database role that only reads.")
@json_option
@common
def upgrade(url: str | None, *, app: str | None, archive: str | None, reader: str | None, as_json: bool) -> int:
    """Create the journal's tables, or upgrade the journal to this release; give roles their rights.

    First stop the programs of the earlier release: they can neither read nor write afterwards.
    """
    from replan.cli.terminal.console import notice, print_json
    from replan.setup.home_folder import USE_ANOTHER_HOME, journal_url
    from runtime.open_offline import shown_url, upgrade

    roles = {"app": app, "archive": archive, "reader": reader}
    wanted = journal_url(os.environ) if url is None else url
    named = {kind: role for kind, role in roles.items() if role}
    version = upgrade(wanted, named, USE_ANOTHER_HOME)
    if as_json:
        print_json({"journal": shown_url(wanted), "version": version})
    else:
        notice(f"{shown_url(wanted)}: the journal has version {version}")
    return Exit.OK


@click.command(epilog=examples("replan home delete k7m2x9qa", "replan home delete k7m2x9qa --force --json"))
@click.argument("run_id", metavar="RUN", shell_complete=complete_run)
@click.option("--force", is_flag=True, help="Delete the run even if it has not ended.")
@keep_workspace_option
@json_option
@common
@click.pass_obj
def delete(invocation: Invocation, run_id: str, *, force: bool, keep_workspace: bool, as_json: bool) -> int:
    """Delete a RUN for good: its records, its messages, and texts that no other run has.

    A deleted run cannot be restored.

    The folder that was made for a fork of an execution is removed too, unless it has changed since.
    """
    import trio

    return trio.run(_delete, invocation, run_id, force, keep_workspace, as_json)


async def _delete(invocation: Invocation, wanted: str, force: bool, keep_workspace: bool, as_json: bool) -> int:
    from actors.values.format import format_count
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_named
    from replan.cli.terminal.console import notice, print_json
    from replan.runs.retention import delete_run

    async with open_engine(invocation) as engine:
        run = await resolve_named(engine, wanted)
        done = await delete_run(engine, run, force=force, keep_workspace=keep_workspace)
    deleted = done.runs
    below = f", with {format_count(deleted.runs - 1, 'child run')}" if deleted.runs > 1 else ""
    notice(f"run {run} is deleted{below}")
    folders = _tell_of_folders(done.folders)
    if as_json:
        counts = {"runs": deleted.runs, "texts": deleted.texts, "text_bytes": deleted.text_bytes}
        print_json({"run_id": run, **counts, "folders": folders})
    return Exit.OK


_PRUNE = examples(
    "replan home prune --older-than 30d --dry-run",
    "replan home prune --older-than 30d",
    "replan home prune --older-than 90d --ended --json",
)


@click.command(epilog=_PRUNE, short_help="Delete old runs that can never continue.")
@click.option(
    "--older-than",
    type=Duration(),
    metavar="TIME",
    required=True,
    help="Delete only runs that were not changed for this time, such as 12h.",
)
@click.option("--ended", is_flag=True, help="Also delete runs that ended without a plan and could be reopened.")
@click.option("--dry-run", is_flag=True, help="List the runs, and delete nothing.")
@keep_workspace_option
@json_option
@common
@click.pass_obj
def prune(
    invocation: Invocation, *, older_than: float, ended: bool, dry_run: bool, keep_workspace: bool, as_json: bool
) -> int:
    """Delete old runs that can never continue, because they succeeded or were cancelled.

    Texts that no other run has are deleted too, and folders that were made for forks of executions, unless they have
    changed since. The journal's file does not shrink: its free space is reused.
    """
    import trio

    before = time.time() - older_than
    return trio.run(
        partial(_prune, invocation, before, as_json, ended=ended, dry_run=dry_run, keep_workspace=keep_workspace)
    )


async def _prune(
    invocation: Invocation, before: float, as_json: bool, *, ended: bool, dry_run: bool, keep_workspace: bool
) -> int:
    from actors.values.format import format_count
    from replan.cli.home import open_engine
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.runs.retention import prune

    async with open_engine(invocation) as engine:
        runs, left = await prune(engine, before, ended=ended, dry_run=dry_run, keep_workspace=keep_workspace)
    folders = _tell_of_folders(left)
    if as_json:
        print_json({"runs": list(runs), "deleted": not dry_run, "folders": folders})
    else:
        print_text("".join(f"{run}\n" for run in runs))
    notice(f"{format_count(len(runs), 'run')} {'would be deleted' if dry_run else 'deleted'}")
    return Exit.OK


def _tell_of_folders(folders: Iterable[LeftFolder]) -> Sequence[dict[str, Any]]:
    """Print for each folder of a fork whether it was removed, or why it is kept.

    Return one JSON object for each folder.
    """
    from replan.cli.terminal.console import notice

    rows = []
    for folder in folders:
        if folder.kept:
            notice(f"the folder {folder.folder} is kept: {folder.kept}")
        else:
            kept = f"; {folder.ref} keeps its last commit" if folder.ref else ""
            notice(f"the folder {folder.folder} is removed{kept}")
        rows.append({"folder": folder.folder, "kept": folder.kept or None, "ref": folder.ref or None})
    return rows
