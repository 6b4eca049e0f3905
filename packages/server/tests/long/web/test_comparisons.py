"""How long a comparison takes tells nothing about a secret: it is looked up by hash, or compared in constant time."""

import ast
import hmac
import re

import pytest

from replan_server.service import access
from replan_server.service.access import Sessions
from replan_server.service.store import WebState
from tests.tidy.source import modules

SECRET = re.compile(r"token|secret|csrf|session|signature|digest|password|sign_in|form_key", re.IGNORECASE)
FOLDER = "packages/server/replan_server"
HASHED = {
    f"{FOLDER}/web/site.py": "a stream's token and session are compared by whether their hashes are still stored",
}
FACES = (
    f"{FOLDER}/service/**/*.py",
    f"{FOLDER}/web/**/*.py",
    f"{FOLDER}/webhooks/**/*.py",
    f"{FOLDER}/mcp/**/*.py",
)


def words_of(node):
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return [*names, *(each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute))]


def comparisons():
    """Yield the comparisons of values that are named as secrets are, with anything but a constant or None."""
    for module in modules(*FACES):
        for node in module.nodes:
            if not isinstance(node, ast.Compare):
                continue
            if not isinstance(node.ops[0], ast.Eq | ast.NotEq) or isinstance(node.comparators[0], ast.Constant):
                continue
            if any(SECRET.search(word) for side in (node.left, *node.comparators) for word in words_of(side)):
                yield module.name, node.lineno, ast.unparse(node)


def test_no_secret_is_compared_with_an_operator():
    found = [each for each in comparisons() if each[0] not in HASHED]
    assert found == []


def test_a_form_and_a_token_are_compared_in_constant_time(monkeypatch):
    compared = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append(1) or compare(one, other))
    state, token = access.with_token(WebState(), "a", "read", 0.0)
    state, _ = access.with_token(state, "b", "read", 0.0)
    state, _ = access.with_token(state, "c", "read", 0.0)
    for text in (token, "", token[:-1], f"{token}x"):
        compared.clear()
        assert (access.of_token(state, text) is None) == (text != token)
        assert len(compared) == 3, "a search that ends at the first match tells its place"
    assert access.equal_in_constant_time("abc", "abc")
    assert not access.equal_in_constant_time("abc", "abd")


def test_sessions_and_one_time_tokens_are_found_by_their_hashes():
    sessions = Sessions()
    session = sessions.begin(0.0)
    assert session not in str(vars(sessions))
    state, token = access.with_sign_in(WebState(), "here", 0.0)
    assert token not in state.model_dump_json()


@pytest.mark.parametrize("length", [0, 1, 31, 43, 10_000])
def test_a_wrong_secret_of_any_length_is_nobody(length):
    state, _ = access.with_token(WebState(), "a", "read", 0.0)
    assert access.of_token(state, "x" * length) is None
    assert Sessions().whose("x" * length, 0.0) is None
