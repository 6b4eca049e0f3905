"""The options, arguments and help of `token`."""

import click

from replan.cli.options import common, examples, json_option

SCOPES = ("read", "answer", "control")
"""What a token may do; each includes the ones before it."""


@click.group(epilog=examples("replan token add ci --scope control", "replan token list", "replan token revoke ci"))
@common
def token() -> None:
    """Make, list and revoke the tokens of programs, for the HTTP API of `replan serve` and for `replan mcp --http`."""


@token.command("add")
@click.argument("name")
@click.option(
    "--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="Each includes those before it."
)
@json_option
@common
def add(name: str, *, scope: str, as_json: bool) -> int:
    """Make a token called NAME, and print it. It is shown once: only its hash is kept.

    `read` shows everything, `answer` also answers questions and sends messages, `control` also starts and cancels runs
    and changes their limits.
    """
    from replan.cli.commands.token import add_token

    return add_token(name, scope, as_json=as_json)


@token.command("list")
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the tokens, without their secrets."""
    from replan.cli.commands.token import list_tokens

    return list_tokens(as_json=as_json)


@token.command("revoke")
@click.argument("name")
@json_option
@common
def revoke(name: str, *, as_json: bool) -> int:
    """Revoke the token called NAME, at once, also in servers that run."""
    from replan.cli.commands.token import revoke_token

    return revoke_token(name, as_json=as_json)
