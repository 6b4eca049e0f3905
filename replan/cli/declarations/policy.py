"""The options, arguments and help of the commands of `policy`."""

import click

from replan.cli.completing import complete_policy
from replan.cli.options import common, examples, json_option


@click.group(
    epilog=examples(
        "replan policy list",
        "replan policy show default",
        "replan policy check strict.yaml -w mine.yaml",
    )
)
@common
def policy() -> None:
    """Look at policies: how far back a failure sends the search. NAME is a shipped policy or a file."""


@policy.command("list", epilog=examples("replan policy list", "replan policy list --json"))
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the shipped policies."""
    from replan.cli.commands.policy import list_policies

    return list_policies(as_json=as_json)


@policy.command(epilog=examples("replan policy show default", "replan policy show strict.yaml --json"))
@click.argument("name", shell_complete=complete_policy)
@json_option
@common
def show(name: str, *, as_json: bool) -> int:
    """Show the rows of a policy: what each fires on, how far back it goes, and why."""
    from replan.cli.commands.policy import show_policy

    return show_policy(name, as_json=as_json)


@policy.command(epilog=examples("replan policy check strict.yaml", "replan policy check *.yaml -w mine.yaml --json"))
@click.argument("files", metavar="NAME...", shell_complete=complete_policy, nargs=-1, required=True)
@click.option("-w", "--workflow", metavar="NAME", help="The workflow whose roles the policy may name.")
@json_option
@common
def check(files: tuple[str, ...], *, workflow: str | None, as_json: bool) -> int:
    """Check policies: their form, and the codes, tags and roles that they name.

    A misspelt name is an error, with the nearest one. Another unknown name is a warning: a plug-in may have it.
    Exit 0: nothing is wrong; 2: something is.
    """
    from replan.cli.commands.policy import check_policies

    return check_policies(files, workflow, as_json=as_json)
