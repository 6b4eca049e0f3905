"""`journal copy` and `journal upgrade`: work on whole journals, named by their URLs."""

import os

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option
from runtime.core.errors import UsageProblem


@click.group(
    epilog=examples(
        "replan journal verify",
        "replan journal copy sqlite:home/journal.sqlite3 postgresql://replan@db/replan",
        "replan journal upgrade postgresql://owner@db/replan --app replan_app",
    )
)
@common
def journal() -> None:
    """Check, copy and upgrade journals. URL is sqlite:PATH or postgresql://…; without it, the one in use."""


@journal.command(epilog=examples("replan journal verify", "replan journal verify sqlite:copy/journal.sqlite3 --json"))
@click.argument("url", required=False)
@json_option
@common
def verify(url: str | None, *, as_json: bool) -> int:
    """Compute again what follows from the records of all runs, and compare; change nothing. Exit 0 or 9."""
    from replan.cli.verify import verify_journal

    return verify_journal(url, as_json=as_json)


@journal.command(epilog=examples("replan journal copy sqlite:home/journal.sqlite3 postgresql://replan@db/replan"))
@click.argument("source")
@click.argument("target")
@json_option
@common
def copy(source: str, target: str, *, as_json: bool) -> int:
    """Copy all runs that nobody drives from SOURCE to TARGET, with their messages and today's spending.

    Each run is marked as moved in SOURCE: it can be shown there, and nobody can drive it or post to it any more. The
    command can be repeated. Exit 0: all runs are in TARGET; 8: some are driven or cannot be copied.
    """
    from actors.values.format import counted
    from replan.cli.terminal.console import notice, print_json
    from replan.cli.terminal.plain import print_text
    from replan.cli.terminal.ticker import Ticker
    from replan.runs.verification import spent_by_day
    from replan.setup.home_folder import USE_ANOTHER_HOME
    from replan.setup.kinds import Kinds
    from runtime.journal.copying import Copied, copy_runs, copyable
    from runtime.open_offline import open_raw, shown_url
    from runtime.process.identity import is_dead

    place = shown_url(target)
    if place == shown_url(source):
        raise UsageProblem("the source and the target are the same journal", place=place)
    copied, kinds = list[Copied](), Kinds()
    with (
        open_raw(source, use_another=USE_ANOTHER_HOME) as runs,
        open_raw(target, make=True, use_another=USE_ANOTHER_HOME) as kept,
        Ticker("runs") as ticker,
    ):
        total = len(copyable(runs))
        for each in copy_runs(runs, kept, (shown_url(source), place), is_dead, lambda copy: spent_by_day(copy, kinds)):
            copied.append(each)
            ticker.tick(len(copied), total)
            if each.problem:
                notice(each.problem)
    failed = [each for each in copied if each.problem]
    if as_json:
        rows = [{"run_id": each.run, "new": each.new, "problem": each.problem or None} for each in copied]
        print_json({"target": place, "runs": rows})
    else:
        print_text("".join(f"{each.run}\n" for each in copied if each.new))
    new = sum(each.new for each in copied)
    there = len(copied) - new - len(failed)
    notice(f"{counted(new, 'run')} copied to {place}, {there} there already, {len(failed)} not copied")
    return Exit.NOT_FOUND if failed else Exit.OK


@journal.command(
    epilog=examples("replan journal upgrade", "replan journal upgrade postgresql://owner@db/replan --app replan_app")
)
@click.argument("url", required=False)
@click.option("--app", metavar="ROLE", help="A database role that drives runs: it may not change or delete records.")
@click.option("--archive", metavar="ROLE", help="A database role that may also delete runs.")
@click.option("--reader", metavar="ROLE", help="A database role that only reads.")
@json_option
@common
def upgrade(url: str | None, *, app: str | None, archive: str | None, reader: str | None, as_json: bool) -> int:
    """Make the journal's tables, or bring the journal to this release; give roles their rights.

    Stop the programs of the earlier release first: one that still runs can neither read nor write afterwards.
    """
    from replan.cli.terminal.console import notice, print_json
    from replan.setup.database import journal_url
    from replan.setup.home_folder import USE_ANOTHER_HOME
    from runtime.open_offline import shown_url, upgrade

    roles = {"app": app, "archive": archive, "reader": reader}
    wanted = journal_url(os.environ) if url is None else url
    named = {kind: role for kind, role in roles.items() if role}
    version = upgrade(wanted, named, USE_ANOTHER_HOME)
    if as_json:
        print_json({"journal": shown_url(wanted), "version": version})
    else:
        notice(f"{shown_url(wanted)}: version {version}")
    return Exit.OK
