"""The options, arguments and help of the commands of `journal`."""

import click

from replan.cli.options import common, examples, json_option


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
    """Copy all runs that nobody drives from SOURCE to TARGET, with their messages and their share of the day.

    Each run is marked as moved in SOURCE: it can be shown there, and nobody can drive it or post to it any more. The
    command can be repeated. Exit 0: all runs are in TARGET; 8: some are driven or cannot be copied.
    """
    from replan.cli.commands.journal import copy_journal

    return copy_journal(source, target, as_json=as_json)


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
    from replan.cli.commands.journal import upgrade_journal

    roles = {"app": app, "archive": archive, "reader": reader}
    return upgrade_journal(url, roles, as_json=as_json)
