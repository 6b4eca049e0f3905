"""The options, arguments and help of `archive`."""

import click

from replan.cli.options import Duration, Invocation, Size, common, examples, json_option
from runtime.core.errors import UsageProblem

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
    from replan.cli.commands.archive import Wanted, archive_old

    wanted = Wanted(folder, older_than, keep, keep_size, ended=ended, dry_run=dry_run)
    return archive_old(invocation, wanted, as_json=as_json)
