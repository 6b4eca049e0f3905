"""A server behind an authenticating proxy: whom it believes, what each user may do, and what it refuses to start as."""

import re

import pytest
import trio
from click.testing import CliRunner
from pydantic import ValidationError

from packages.server.tests.web.world import served
from replan.cli.app import app
from replan_server.service.store import Starts
from replan_server.settings import ProxyEntry
from replan_server.web.guarding import BODY_MAX, RequestGuard
from replan_server.web.serving import check_listen
from runtime.core.errors import UsageProblem
from tests.cli.samples import PROBLEM

PUBLIC = "https://replan.example.org"
USERS = {"ann": "control", "bob": "answer", "eve": "read"}
PROXY = {"public": PUBLIC, "user_header": "X-Remote-User", "trusted": ["127.0.0.1"], "users": USERS}
OTHERS = "127.0.0.2"
"""An address of this machine that is not the proxy's."""


def proxy(**changes):
    return ProxyEntry.model_validate({**PROXY, **changes})


class Through:
    """What a user's browser sends, as the proxy hands it on."""

    def __init__(self, web, user, **headers):
        named = {} if user is None else {"x-remote-user": user}
        self.client, self.headers = web.client, {"host": "replan.example.org", **named, **headers}

    async def get(self, path):
        return await self.client.get(path, headers=self.headers)

    async def post(self, path, fields=None, *, csrf=None, origin=PUBLIC):
        """Send a form of a page that was read before."""
        token = csrf or re.search(r'name="csrf" value="([0-9a-f]+)"', (await self.get("/new")).text)[1]
        headers = {**self.headers, "origin": origin}
        return await self.client.post(
            path, data={"csrf": token, "idempotency_key": "k1", **(fields or {})}, headers=headers
        )


async def raw(web, data, local):
    """Send bytes from an address of this machine, and return what comes back."""
    received = b""
    async with await trio.open_tcp_stream("127.0.0.1", web.port, local_address=local) as stream:
        try:
            await stream.send_all(data)
            async for part in stream:
                received += part
        except trio.BrokenResourceError:
            pass
    return received


async def test_the_proxys_user_starts_and_reads_a_run_without_signing_in(tmp_path):
    async with served(tmp_path, proxy=proxy()) as web:
        ann = Through(web, "ann")
        page = await ann.get("/")
        assert page.status_code == 200
        assert ">ann<" in page.text
        assert "Sign out" not in page.text
        assert "set-cookie" not in page.headers
        started = await ann.post("/runs", {"problem": PROBLEM, "model": "plans"})
        assert started.status_code == 303
        run = started.headers["location"].split("/")[2].partition("?")[0]
        await web.settled(run, "finished")
        assert "every guard passed" in (await ann.get(f"/runs/{run}")).text
        assert len(Starts(web.store.folder).of_client("user:ann")) == 1
        assert "set-cookie" not in (await web.client.post("/sign-in", data={"token": "x" * 40})).headers
        assert (await ann.get("/sign-in")).status_code == 404


async def test_without_a_known_user_every_page_is_refused(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        for user in [None, "", "mallory", "*", "x" * 101, "ann,bob"]:
            stranger = Through(web, user)
            for path in ("/", "/runs", "/new", "/live", "/questions/abc/q1", "/runs/abc/export/json"):
                answer = await stranger.get(path)
                assert answer.status_code == 403, path
                assert "does not name a user of this server" in answer.text
            assert (await stranger.post("/runs", {"problem": PROBLEM}, csrf="x")).status_code == 403


async def test_a_second_header_with_a_user_is_refused_as_a_client_may_have_sent_it(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        lines = "GET / HTTP/1.1\r\nHost: replan.example.org\r\nConnection: close\r\n"
        for names in ("x-remote-user: ann\r\nX-Remote-User: eve\r\n", "X_Remote_User: ann\r\n", "Remote-User: ann\r\n"):
            answer = await raw(web, f"{lines}{names}\r\n".encode(), "127.0.0.1")
            assert answer.split(b" ")[1] == b"403", names


async def test_an_address_that_is_not_the_proxys_gets_no_byte_whatever_it_sends(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        lines = "GET / HTTP/1.1\r\nHost: replan.example.org\r\nX-Remote-User: ann\r\nConnection: close\r\n"
        token = web.token()["authorization"]
        spoofed = ("", "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\n")
        for more in (*spoofed, f"Authorization: {token}\r\n"):
            request = f"{lines}{more}\r\n".encode()
            assert await raw(web, request, OTHERS) == b""
            assert (await raw(web, request, "127.0.0.1")).split(b" ")[1] == b"200"


async def test_another_name_or_origin_than_the_public_one_is_refused(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        for host in (
            f"127.0.0.1:{web.port}",
            "localhost",
            "replan.example.org:8430",
            "evil.example",
            "replan.example.org.",
        ):
            assert (await Through(web, "ann", host=host).get("/")).status_code == 421, host
        ann = Through(web, "ann")
        for origin in ("http://replan.example.org", "https://evil.example", "null", f"http://127.0.0.1:{web.port}"):
            assert (await ann.post("/runs", {"problem": PROBLEM}, origin=origin)).status_code == 403, origin
        assert not await web.reader_rows()


async def test_a_users_form_carries_a_token_of_that_user_which_outlives_the_server(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        ann = Through(web, "ann")
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', (await ann.get("/new")).text)[1]
        run = await web.start()
        told = {"text": "Use 3.12", "as": "note"}
        assert (await Through(web, "bob").post(f"/runs/{run}/tell", told, csrf=csrf)).status_code == 403
        assert (await ann.post(f"/runs/{run}/tell", told, csrf="0" * 64)).status_code == 403
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        assert (await Through(web, "ann").post(f"/runs/{run}/tell", told, csrf=csrf)).status_code == 303


async def test_each_user_may_do_what_the_settings_say(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy(users={**USERS, "*": "read"})) as web:
        run = await web.start()
        await web.engine.resume(run)
        tokens = {}
        for user in ("ann", "bob", "eve", "somebody"):
            page = (await Through(web, user).get(f"/runs/{run}")).text
            tokens[user] = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
            assert ("form-limits" in page, "form-tell" in page) == (user == "ann", user in ("ann", "bob"))
        eve = Through(web, "eve")
        assert tokens["eve"] is None
        assert 'href="/new"' not in (await eve.get("/runs")).text.partition("<main")[0]
        wanted = {"tell": "answer", "limits": "control", "resume": "control", "cancel": "control"}
        for action, scope in wanted.items():
            for user, has in USERS.items():
                csrf = tokens["ann"][1] if tokens[user] is None else tokens[user][1]
                answer = await Through(web, user).post(f"/runs/{run}/{action}", {"text": "x"}, csrf=csrf)
                allowed = ("read", "answer", "control").index(has) >= ("read", "answer", "control").index(scope)
                assert (answer.status_code != 403) == allowed, (action, user)
        assert (await eve.post("/runs", {"problem": PROBLEM}, csrf=tokens["ann"][1])).status_code == 403


async def test_programs_use_their_tokens_through_the_proxy_and_its_user_is_no_token(tmp_path):
    async with served(tmp_path, hosts=False, proxy=proxy()) as web:
        program = Through(web, None, **web.token("read"))
        assert (await program.get("/api/runs")).status_code == 200
        assert (await Through(web, "ann").get("/api/runs")).status_code == 401


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"public": "http://replan.example.org"}, "public"),
        ({"public": "https://replan.example.org/sub"}, "public"),
        ({"public": "https://user@replan.example.org"}, "public"),
        ({"public": "replan.example.org"}, "public"),
        ({"user_header": "Cookie"}, "user_header"),
        ({"user_header": "X User"}, "user_header"),
        ({"user_header": ""}, "user_header"),
        ({"trusted": []}, "trusted"),
        ({"trusted": ["0.0.0.0/0"]}, "trusted"),
        ({"trusted": ["::/0"]}, "trusted"),
        ({"trusted": ["proxy.example.org"]}, "trusted"),
        ({"users": {}}, "users"),
        ({"users": {"ann": "root"}}, "users"),
    ],
)
def test_a_proxy_that_would_let_anybody_in_is_refused(changes, place):
    with pytest.raises(ValidationError) as caught:
        proxy(**changes)
    assert caught.value.errors()[0]["loc"][:1] in ((), (place,))


@pytest.mark.parametrize(
    ("address", "trusted", "known"),
    [
        ("10.0.0.5", "10.0.0.5", True),
        ("10.0.0.6", "10.0.0.5", False),
        ("10.0.0.77", "10.0.0.0/24", True),
        ("::ffff:10.0.0.5", "10.0.0.5", True),
        ("fd00::5", "fd00::/64", True),
        ("fd01::5", "fd00::/64", False),
        ("", "10.0.0.5", False),
        ("somewhere", "10.0.0.5", False),
    ],
)
def test_a_connection_is_the_proxys_by_its_address_alone(address, trusted, known):
    assert proxy(trusted=[trusted]).trusts(address) is known


@pytest.mark.parametrize("listen", ["0.0.0.0", "::", "10.0.0.7", "127.0.0.2", "::1", "example.org", ""])
def test_without_a_proxy_the_server_listens_on_the_loopback_address_only(listen):
    check_listen("127.0.0.1", None)
    check_listen("10.0.0.7", proxy())
    with pytest.raises(UsageProblem):
        check_listen(listen, None)


def test_the_command_refuses_to_start_for_other_machines_without_a_proxy():
    for arguments in (["--listen", "0.0.0.0"], ["--proxy", "office"], ["--proxy", "office", "--listen", "0.0.0.0"]):
        done = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
        assert isinstance(done.exception, SystemExit)
        assert done.exit_code == 2
        assert "proxy" in done.stderr
        assert not done.stdout


@pytest.mark.parametrize(
    ("length", "status"), [("five", 400), ("²", 400), (str(BODY_MAX + 1), 413), ("9" * 5000, 413), (str(BODY_MAX), 200)]
)
def test_a_length_that_is_no_number_is_refused_for_another_reason_than_one_that_is_too_large(length, status):
    async def respond(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200})

    statuses = []

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [(b"host", b"here:1"), (b"content-length", length.encode("latin-1"))]
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/x", "query_string": b""}
    guard = RequestGuard(respond, frozenset({"here:1"}), frozenset())
    trio.run(guard, {**scope, "headers": headers}, None, send)
    assert statuses == [status]
