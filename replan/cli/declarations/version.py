"""The options, arguments and help of `version`."""

import click

from replan.cli.options import common, examples, json_option


@click.command(epilog=examples("replan version", "replan version --json | jq -r .python"))
@json_option
@common
def version(*, as_json: bool) -> int:
    """Print the version of this program; with --json also those of Python and of the journal's format."""
    from replan.cli.commands.version import print_version

    return print_version(as_json=as_json)
