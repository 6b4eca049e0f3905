"""Attacks on every address of the server, read from its routes: forms of others, other names, long bodies, paths."""

import re
import socket
from urllib.parse import quote

import pytest
import trio
from starlette.routing import Route

from packages.server.tests.long.web.test_hostile_requests import head, raw
from packages.server.tests.web.world import served
from replan.runs.kind_interface import installed_interfaces
from replan_server.service import limits
from replan_server.service.access import digest
from replan_server.web.api_routes import addressed_operations
from replan_server.web.app import pages
from replan_server.web.run_page import LISTS
from tests.cli.samples import PROBLEM

PATHS = (
    "../../web.json",
    "..%2f..%2fweb.json",
    "%2e%2e%2f%2e%2e%2fconfig.yaml",
    "..%5c..%5cweb.json",
    "%00",
    "....//web.json",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "file:%2f%2f%2fetc%2fpasswd",
)
"""What leads out of a folder where a name is taken for a path."""
SPLITTING = "x%0d%0aset-cookie:%20evil=1%0d%0a%0d%0a%3Cscript%3E"
"""What ends a header where it is written into one."""


OTHER_SITES = (
    {"origin": "https://evil.example"},
    {"origin": "https://127.0.0.1:1"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)
"""What a browser says of a request that another site makes."""


class AnySite:
    """A site of which only the routes are asked."""

    proxy = None


def routes():
    """Return the address and the methods of every route: pages, files and the API."""
    found = [(route.path, sorted(route.methods - {"HEAD"})) for route in pages(AnySite()) if isinstance(route, Route)]
    return found + [(each.path, [each.method]) for _, each in addressed_operations()]


def filled(path, value="abcdefgh"):
    """Return an address with a value for each of its parts."""
    return re.sub(r"{[^}]+}", value.replace("\\", r"\\"), path)


GETS = sorted({path for path, methods in routes() if "GET" in methods})
POSTS = sorted({path for path, methods in routes() if "POST" in methods})
FORMS = [path for path in POSTS if not path.startswith("/api/")]


def test_there_are_routes_to_attack():
    assert len(GETS) >= 24
    assert len(FORMS) >= 10
    assert len(POSTS) - len(FORMS) >= 8


async def test_no_form_of_another_site_is_taken_at_any_address(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.WRITES_MAX", 10_000)
    async with served(tmp_path, hosts=False, allow_execute=True) as web:
        run = await web.start()
        await web.engine.resume(run)
        before = (await web.engine.journal.row(run), web.store.read())
        wanted = {"typed": "3.12", "do": "answer", "text": "x", "sure": "yes", "max_calls": "1", "problem": PROBLEM}
        for path in FORMS:
            place = filled(path, run).replace(f"/questions/{run}/{run}", f"/questions/{run}/q1")
            if path == "/sign-in":
                continue  # There is no session yet that a form could be sent in the name of.
            for csrf in (None, "", "0" * 64, web.csrf.upper(), web.csrf[:-1], web.csrf + "0", web.sign_in_token):
                fields = wanted if csrf is None else {**wanted, "csrf": csrf}
                assert (await web.browser.post(place, data=fields)).status_code == 403, path
            for header in OTHER_SITES:
                fields = {**wanted, "csrf": web.csrf}
                assert (await web.browser.post(place, data=fields, headers=header)).status_code == 403, path
            assert (await web.browser.get(f"{place}?csrf={web.csrf}&do=answer&typed=1")).status_code in (
                200,
                403,
                404,
                405,
                422,
            )
        for header in OTHER_SITES:
            for path in ("/", "/live"):
                assert (await web.browser.get(path, headers=header)).status_code == 403, (path, header)
        assert (await web.browser.get("/")).status_code == 200
        assert (await web.engine.journal.row(run), web.store.read()) == before
        assert not await web.engine.journal.inbox(run)
        assert len(await web.reader_rows()) == 1


async def test_a_session_of_one_browser_is_not_that_of_another(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        first = web.csrf
        web.browser.cookies.clear()
        web.sign_in_token = web.new_sign_in()
        await web.sign_in()
        assert web.csrf != first
        answer = await web.browser.post("/runs", data={"csrf": first, "problem": PROBLEM, "model": "plans"})
        assert answer.status_code == 403


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_no_address_answers_to_another_name(tmp_path, method):
    async with served(tmp_path, hosts=False) as web:
        token = web.token()["authorization"]
        cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
        for path in GETS if method == "GET" else POSTS:
            for host in ("evil.example", f"{web.name}.evil.example:{web.port}", f"{web.host}.", "localhost.", "[::1]"):
                lines = (f"Cookie: {cookie}", f"Authorization: {token}", "Content-Length: 0")
                answer = await raw(web, head(web, f"{method} {filled(path)} HTTP/1.1", *lines, host=host))
                assert answer.split(b" ")[1] == b"421", (path, host)
        for host, *more in ((web.name,), (" ",), (web.host, f"Host: {web.host}")):
            answer = await raw(web, head(web, f"{method} / HTTP/1.1", f"Cookie: {cookie}", *more, host=host))
            assert answer.split(b" ")[1] in (b"421", b"400"), host


@pytest.mark.parametrize("chunked", [False, True])
async def test_ten_megabytes_are_refused_at_every_address_before_they_are_read(tmp_path, chunked, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.WRITES_MAX", 10_000)
    async with served(tmp_path, hosts=False, allow_execute=True) as web:
        token = web.token()["authorization"]
        cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
        for path in POSTS:
            kind = "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
            length = "Transfer-Encoding: chunked" if chunked else "Content-Length: 10000000"
            lines = [length, f"Content-Type: {kind}", f"Cookie: {cookie}", f"Authorization: {token}"]
            start = head(web, f"POST {filled(path)} HTTP/1.1", *lines, "Idempotency-Key: k")
            part = b"10000\r\n" + b"x" * 65_536 + b"\r\n" if chunked else b"x" * 65_536
            answer = await raw(web, [start, *[part] * 153])
            assert answer[:9] == b"HTTP/1.1 ", path
            refused = (b"413",) if path == "/sign-out" else (b"413", b"404", b"422", b"400")
            assert answer.split(b" ")[1] in refused, (path, answer[:200])
        assert (await web.browser.get("/")).status_code == 200


async def test_no_name_in_any_address_leads_to_a_file(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        token = web.token()
        secret = (tmp_path / "home" / "web.json").read_bytes()
        (tmp_path / "home" / "config.yaml").write_text("model: template:bug # do-not-show\n")
        for value in PATHS:
            for path in (path for path in GETS if "{" in path):
                headers = token if path.startswith("/api/") else {}
                lines = [f"Cookie: {name}={text}" for name, text in web.browser.cookies.items()]
                lines += [f"{name}: {text}" for name, text in headers.items()]
                answer = await raw(web, head(web, f"GET {filled(path, value)} HTTP/1.1", *lines))
                assert answer.split(b" ")[1] in (b"404", b"400", b"303", b"307", b"403", b"422"), (path, answer[:300])
                for text in (b"sessions", b"do-not-show", b"root:x:", secret[:40]):
                    assert text not in answer, (path, value)


async def test_no_part_of_a_request_becomes_a_header_of_the_response(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        token = web.token()["authorization"]
        cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
        for evil in ("x\r\nset-cookie: evil=1", "/\r\n\r\n<script>"):
            answer = await web.post("/questions/abc/q1", {"back": evil, "typed": evil, "version": evil})
            assert "evil" not in str(answer.headers)
        for path in GETS:
            target = f"{filled(path, SPLITTING)}?q={SPLITTING}&done={SPLITTING}&after={SPLITTING}&status={SPLITTING}"
            lines = (f"Cookie: {cookie}", f"Authorization: {token}", f"Last-Event-ID: {quote(SPLITTING)}")
            answer = await raw(
                web, head(web, f"GET {target} HTTP/1.1", *lines), seconds=1.0 if "live" in path else 10.0
            )
            top = answer.partition(b"\r\n\r\n")[0].lower()
            assert answer[:9] == b"HTTP/1.1 ", path
            assert b"\r\nset-cookie: evil" not in top, path
            if b"content-type: application/json" not in top:
                assert b"<script>" not in answer.replace(b'<script defer src="', b""), path


async def test_a_bearer_token_is_not_guessed_and_the_right_one_works_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0.01)
    async with served(tmp_path, hosts=False) as web:
        right = web.token("read")
        text = right["authorization"].removeprefix("Bearer ")
        wrong = ["rp_", text[:-1], text + "x", text.upper(), text[::-1], f"{text} {text}", web.sign_in_token]
        wrong += [f"rp_{number:043}" for number in range(limits.FAILURES_MAX)]
        codes = []
        for guess in wrong:
            codes.append((await web.client.get("/api/runs", headers={"authorization": f"Bearer {guess}"})).status_code)
            assert (await web.client.get("/api/runs", headers=right)).status_code == 200
        assert codes == [401] * limits.FAILURES_MAX + [429] * (len(wrong) - limits.FAILURES_MAX)
        for other in ({"authorization": f"Basic {text}"}, {"cookie": f"token={text}"}, {"x-api-key": text}):
            assert (await web.client.get(f"/api/runs?token={text}", headers=other)).status_code in (401, 429)


async def test_a_one_time_address_begins_one_session_however_it_is_replayed(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0.01)
    async with served(tmp_path, hosts=False, signed_in=False) as web:
        answers = []

        async def enter():
            answers.append(await web.client.post("/sign-in", data={"token": web.sign_in_token}))

        async with trio.open_nursery() as nursery:  # At the same time.
            for _ in range(6):
                nursery.start_soon(enter)
        assert sorted(each.status_code for each in answers) == [303] + [403] * 5
        web.client.cookies.clear()
        for text in (web.sign_in_token, f"{web.address}/sign-in#{web.sign_in_token}", f" {web.sign_in_token}\n"):
            again = await web.client.post("/sign-in", data={"token": text})
            assert again.status_code in (403, 429)
            assert "set-cookie" not in again.headers
        for method in ("GET", "HEAD"):  # As programs do that look at links.
            looked = await web.client.request(method, f"/sign-in?token={web.sign_in_token}")
            assert "set-cookie" not in looked.headers


async def test_a_client_that_does_not_read_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.web.server.SEND_SECONDS", 0.3)
    async with served(tmp_path, hosts=False) as web:
        cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
        stream = await trio.open_tcp_stream("127.0.0.1", web.port)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        request = head(web, "GET /static/htmx.min.js HTTP/1.1", f"Cookie: {cookie}").replace(
            b"Connection: close\r\n", b""
        )
        with trio.move_on_after(10) as waiting:
            try:
                while True:
                    await stream.send_all(request)
            except trio.BrokenResourceError:
                pass
        assert not waiting.cancelled_caught, "the server went on reading requests of a client that reads nothing"
        await stream.aclose()
        assert (await web.browser.get("/")).status_code == 200


async def test_no_page_shows_a_secret_of_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-0123456789abcdef")
    async with served(tmp_path, allow_execute=True) as web:
        run = await web.start("asks", "# Login fails\n\nThe key is sk-very-secret-key-0123456789abcdef.\n")
        await web.settled(run, "waiting")
        token = web.token()["authorization"].removeprefix("Bearer ")
        session = next(iter(web.browser.cookies.values()))
        digests = [digest(session), web.name, *(each.digest for each in web.store.read().tokens.values())]
        for path in (
            "/",
            "/runs",
            "/new",
            *(f"/new/{interface.kind}" for interface in installed_interfaces()),
            "/new/execution",
            "/sign-in",
            "/nonesuch",
            *(f"/runs/{run}?tab={tab}" for tab in LISTS),
        ):
            text = (await web.browser.get(path)).text
            for secret in (token, session, web.sign_in_token, *digests, str(tmp_path)):
                assert secret not in text, path
        for path in ("/", "/runs", "/new"):
            assert "sk-very-secret" not in (await web.browser.get(path)).text
