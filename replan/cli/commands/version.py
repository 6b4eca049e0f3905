"""`version`: prints the version of the program."""

import platform

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option


@click.command(epilog=examples("replan version", "replan version --json | jq -r .python"))
@json_option
@common
def version(*, as_json: bool) -> int:
    """Print the version of this program; with --json also those of Python and of the journal's format."""
    from replan.cli.terminal.plain import print_json, print_text
    from replan.setup.version import release

    if as_json:
        from runtime.journal.versions import VERSION

        print_json({"version": release(), "python": platform.python_version(), "journal": VERSION})
    else:
        print_text(f"replan {release()}\n")
    return Exit.OK
