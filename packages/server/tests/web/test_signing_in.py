"""Signing in: the one-time address, sessions, and signing out."""

import hashlib
from pathlib import Path

import pytest

from packages.server.tests.web.world import served
from replan_server.service import access
from replan_server.service.access import SESSIONS_MAX, Sessions
from replan_server.service.store import Start, Starts, Store, Token, WebState
from replan_server.web import rendering
from runtime.core.errors import UsageProblem

HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""The SHA-256 hash of htmx 2.0.11, as npm's tarball has it under dist/htmx.min.js."""


async def test_the_one_time_token_begins_one_session_and_no_second(tmp_path):
    async with served(tmp_path, signed_in=False) as web:
        first = await web.client.post("/sign-in", data={"token": f"{web.address}/sign-in#{web.sign_in_token}"})
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"))
        assert web.sign_in_token not in cookie
        again = await web.browser.post("/sign-in", data={"token": web.sign_in_token})
        assert again.status_code == 403
        assert "used before" in again.text
        assert "set-cookie" not in again.headers


async def test_without_a_session_every_page_leads_to_the_form(tmp_path):
    async with served(tmp_path, signed_in=False) as web:
        for path in ("/", "/live", "/questions/abc/q1"):
            answer = await web.client.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert 'name="token"' in (await web.client.get("/sign-in")).text
        partly = await web.client.get("/", headers={"hx-request": "true"})
        assert (partly.status_code, partly.headers["hx-redirect"]) == (401, "/sign-in")


async def test_signing_out_ends_the_session_on_the_server(tmp_path):
    async with served(tmp_path) as web:
        name, value = next(iter(web.browser.cookies.items()))
        assert (await web.post("/sign-out")).headers["location"] == "/sign-in"
        kept = await web.client.get("/", headers={"cookie": f"{name}={value}"})
        assert kept.status_code == 303


async def test_signing_out_of_all_browsers_ends_every_session_and_leaves_tokens(tmp_path):
    async with served(tmp_path) as web:
        token = web.token("read")
        other = web.new_sign_in()
        assert (await web.client.post("/sign-in", data={"token": other})).status_code == 303
        assert (await web.client.get("/")).status_code == 200
        await web.post("/sign-out", {"everywhere": "yes"})
        assert (await web.client.get("/")).status_code == 303
        assert (await web.client.get("/api/runs", headers=token)).status_code == 200


async def test_sessions_names_and_one_time_tokens_end_with_their_server(tmp_path):
    """Whoever takes the port over is sent by an open page what opens nothing any more."""
    async with served(tmp_path) as web:
        cookies, host, port, unused = dict(web.browser.cookies), web.host, web.port, web.new_sign_in()
    async with served(tmp_path, signed_in=False, port=port) as web:
        assert web.host != host
        web.browser.cookies.update(cookies)
        answer = await web.browser.get("/")
        assert (answer.status_code, answer.headers.get("location")) == (303, "/sign-in")
        assert (await web.browser.get("/", headers={"host": host})).status_code == 421
        assert (await web.client.post("/sign-in", data={"token": unused})).status_code == 403


def test_a_one_time_token_ends_after_a_minute_and_a_session_after_twelve_hours():
    state, token = access.with_sign_in(WebState(), "here", 1000.0)
    assert not access.use_token(state, "here", token, 1060.0)[1]
    assert not access.use_token(state, "elsewhere", token, 1059.0)[1]
    state, right = access.use_token(state, "here", token, 1059.0)
    assert right
    assert not access.use_token(state, "here", token, 1059.0)[1]
    sessions = Sessions()
    session = sessions.begin(1059.0)
    assert sessions.whose(session, 1059.0 + 12 * 3600 - 1).client == "browser"
    assert sessions.whose(session, 1059.0 + 12 * 3600) is None


def test_of_too_many_sessions_the_one_that_ends_first_is_dropped():
    sessions = Sessions()
    begun = [sessions.begin(float(second)) for second in range(SESSIONS_MAX + 1)]
    assert len(sessions) == SESSIONS_MAX
    assert sessions.whose(begun[0], 200.0) is None
    assert sessions.whose(begun[1], 200.0) is not None


def test_no_secret_is_stored(tmp_path):
    store = Store(tmp_path)
    token = store.change(lambda state: access.with_sign_in(state, "here", 1.0))
    other = store.change(lambda state: access.with_token(state, "ci", "read", 3.0))
    text = (tmp_path / "web.json").read_text()
    assert not [secret for secret in (token, other) if secret in text]
    assert (tmp_path / "web.json").stat().st_mode & 0o777 == 0o600


def test_a_damaged_store_is_reported_with_what_to_do(tmp_path):
    (tmp_path / "web.json").write_text('{"version": 2}')
    with pytest.raises(UsageProblem, match=r"this release cannot read the file.*delete the file"):
        Store(tmp_path).read()


def test_what_is_written_can_be_read_and_more_is_refused(tmp_path, monkeypatch):
    store, token = Store(tmp_path), Token(digest="d", scope="read", created=0.0)
    store.change(lambda state: (state.model_copy(update={"tokens": {"a": token}}), None))
    monkeypatch.setattr("replan_server.service.store.BYTES_MAX", 300)
    many = {f"t{number}": token for number in range(100)}
    with pytest.raises(UsageProblem, match="token revoke"):
        store.change(lambda state: (state.model_copy(update={"tokens": many}), None))
    assert Store(tmp_path).read().tokens == {"a": token}


def test_starts_are_kept_for_each_client_up_to_a_bound(tmp_path, monkeypatch):
    """The oldest starts go, those of 30 days ago, and those of clients that started nothing lately."""
    monkeypatch.setattr("replan_server.service.store.STARTS_MAX", 3)
    monkeypatch.setattr("replan_server.service.store.CLIENTS_MAX", 2)
    starts = Starts(tmp_path)
    for number in range(5):
        starts.add("a", Start(f"a{number}", float(number)))
    assert [start.run for start in starts.of_client("a")] == ["a2", "a3", "a4"]
    starts.add("b", Start("b0", 31 * 86_400.0, "hash"))
    assert starts.of_client("a") == ()
    assert starts.of_client("b") == (Start("b0", 31 * 86_400.0, "hash"),)
    for client in "cd":
        starts.add(client, Start(f"{client}0", 31 * 86_400.0))
    assert [starts.of_client(client) != () for client in "bcd"] == [False, True, True]
    assert (tmp_path / "starts.sqlite3").stat().st_mode & 0o777 == 0o600


def test_a_damaged_database_of_starts_is_reported_with_what_to_do(tmp_path):
    (tmp_path / "starts.sqlite3").write_bytes(b"no database" * 100)
    with pytest.raises(UsageProblem, match=r"starts\.sqlite3.*delete this file"):
        Starts(tmp_path).of_client("a")


def test_a_token_allows_its_scope_and_the_ones_before_it():
    state, token = access.with_token(WebState(), "ci", "answer", 0.0)
    who = access.of_token(state, token)
    assert [who.may(scope) for scope in access.SCOPES] == [True, True, False]
    assert access.of_token(access.remove_token(state, "ci")[0], token) is None
    for name in ("", "A", "../x", "a" * 33):
        with pytest.raises(UsageProblem, match="not a valid name for a token"):
            access.with_token(state, name, "read", 0.0)


def test_the_vendored_library_is_the_published_one():
    data = (Path(rendering.__file__).parent / "static" / "htmx.min.js").read_bytes()
    assert hashlib.sha256(data).hexdigest() == HTMX
    assert 'version:"2.0.11"' in data.decode()
