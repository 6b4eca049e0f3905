"""`token`: makes, lists and revokes the tokens of programs that use the HTTP API."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, cast

import click

from replan.cli.exits import Exit
from replan.cli.options import common, examples, json_option, under

if TYPE_CHECKING:
    from replan_server.service.store import Scope, Store


SCOPES = ("read", "answer", "control")
"""The scopes that a token can have, the smallest first. Each scope includes the rights of the scopes before it."""


@click.group(
    short_help="Make and revoke tokens for the HTTP API and for MCP over HTTP.",
    epilog=examples("replan token add ci --scope control", "replan token list", "replan token revoke ci"),
)
@common
@under("Operate")
def token() -> None:
    """Make, list and revoke the tokens of programs, for the HTTP API of `replan serve` and for `replan mcp --http`."""


@token.command("add", epilog=examples("replan token add ci --scope control"))
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="read",
    show_default=True,
    help="The rights of the token; each scope includes the scopes before it.",
)
@json_option
@common
def add(name: str, *, scope: str, as_json: bool) -> int:
    """Make a token called NAME, and print it. The token is shown only once, because only its hash is stored.

    A program with the scope `read` can read everything. With `answer`, the program can also answer questions and send
    messages. With `control`, it can also start and cancel runs, and change their limits.
    """
    from replan.cli.terminal.console import notice, print_json, print_text
    from replan_server.service.access import with_token

    token = _store().change(partial(with_token, name=name, scope=cast("Scope", scope), now=time.time()))
    if as_json:
        print_json({"name": name, "scope": scope, "token": token})
    else:
        print_text(f"{token}\n")
    notice(f"made the token {name!r} with the scope {scope}; it is not shown again")
    return Exit.OK


@token.command("list", epilog=examples("replan token list"))
@json_option
@common
def list_command(*, as_json: bool) -> int:
    """List the tokens, without their secrets."""
    from actors.values.format import ago, stamp
    from actors.values.lines import line
    from replan.cli.terminal.console import print_json, print_row

    tokens, now = _store().read().tokens, time.time()
    if as_json:
        shown = [{"name": name, "scope": item.scope, "created": stamp(item.created)} for name, item in tokens.items()]
        print_json({"tokens": shown})
        return Exit.OK
    for name, item in tokens.items():
        print_row(line(f"{name}  {item.scope}  {ago(now - item.created)}"))
    if not tokens:
        print_row(line("no tokens", "dim"))
    return Exit.OK


@token.command("revoke", epilog=examples("replan token revoke ci --json"))
@click.argument("name")
@json_option
@common
def revoke(name: str, *, as_json: bool) -> int:
    """Revoke the token called NAME. Running servers refuse the token at once."""
    from replan.cli.terminal.console import notice, print_json
    from replan_server.service.access import remove_token

    _store().change(partial(remove_token, name=name))
    notice(f"token {name!r} is revoked")
    if as_json:
        print_json({"name": name, "revoked": True})
    return Exit.OK


def _store() -> Store:
    from replan.setup.home_folder import prepare_home
    from replan_server.service.store import Store

    return Store(prepare_home().folder)
