"""`token`: makes, lists and revokes the tokens of programs that use the HTTP API."""

import time
from functools import partial
from typing import cast

from actors.values.format import ago, stamp
from actors.values.lines import line
from replan.cli.exits import Exit
from replan.cli.terminal.console import notice, print_json, print_row, print_text
from replan.service.access import with_token, without_token
from replan.service.store import Scope, Store
from replan.setup.home_folder import prepare_home


def add_token(name: str, scope: str, *, as_json: bool) -> int:
    """Make a token and print it. Return the exit code."""
    token = _store().change(partial(with_token, name=name, scope=cast("Scope", scope), now=time.time()))
    if as_json:
        print_json({"name": name, "scope": scope, "token": token})
    else:
        print_text(f"{token}\n")
    notice(f"token {name!r} with the scope {scope}; it is not shown again")
    return Exit.OK


def list_tokens(*, as_json: bool) -> int:
    """Print the names, scopes and ages of the tokens. Return the exit code."""
    tokens, now = _store().read().tokens, time.time()
    if as_json:
        shown = [{"name": name, "scope": each.scope, "created": stamp(each.created)} for name, each in tokens.items()]
        print_json({"tokens": shown})
        return Exit.OK
    for name, each in tokens.items():
        print_row(line(f"{name}  {each.scope}  {ago(now - each.created)}"))
    if not tokens:
        print_row(line("no tokens", "dim"))
    return Exit.OK


def revoke_token(name: str, *, as_json: bool) -> int:
    """Revoke a token. Return the exit code."""
    _store().change(partial(without_token, name=name))
    notice(f"token {name!r} is revoked")
    if as_json:
        print_json({"name": name, "revoked": True})
    return Exit.OK


def _store() -> Store:
    return Store(prepare_home().folder)
