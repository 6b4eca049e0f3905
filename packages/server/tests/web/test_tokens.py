"""`token`: the tokens of programs that use the HTTP API, or MCP over HTTP."""

import json

from replan_server.service.access import of_token
from replan_server.service.store import Store
from tests.cli.conftest import home, replan

__all__ = ["home", "replan"]


def test_a_token_is_printed_once_and_ends_when_it_is_revoked(replan, home):
    token = replan("token", "add", "ci", "--scope", "answer").stdout.strip()
    found = of_token(Store(home).read(), token)
    assert (found.client, found.scope) == ("token:ci", "answer")
    listed = replan("token", "list", "--json").stdout
    assert [(each["name"], each["scope"]) for each in json.loads(listed)["tokens"]] == [("ci", "answer")]
    assert token not in listed
    assert json.loads(replan("token", "revoke", "ci", "--json").stdout) == {"name": "ci", "revoked": True}
    assert of_token(Store(home).read(), token) is None
    assert json.loads(replan("token", "list", "--json").stdout) == {"tokens": []}
