"""Hostile requests: names, origins, forms, sizes, slow clients and too many of them. None succeeds."""

from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx2
import pytest
import trio

from packages.server.tests.web.world import served
from replan_server.service import limits
from replan_server.web import guarding, server

HEADERS = ("content-security-policy", "x-content-type-options", "referrer-policy", "x-frame-options", "cache-control")


async def raw(web, data, *, seconds=10.0, pause=0.0):
    """Send bytes, with a pause after each where they are a list, and return what comes back."""
    stream = await trio.open_tcp_stream("127.0.0.1", web.port)
    received = b""

    async def send():
        with suppress(trio.BrokenResourceError):
            for part in data if isinstance(data, list) else [data]:
                await stream.send_all(part)
                await trio.sleep(pause)

    async with stream, trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with trio.move_on_after(seconds), suppress(trio.BrokenResourceError):
            async for part in stream:
                received += part
        nursery.cancel_scope.cancel()
    return received


def head(web, line="GET / HTTP/1.1", *lines, host=None):
    text = "\r\n".join((line, f"Host: {host or web.host}", "Connection: close", *lines, "", ""))
    return text.encode("latin-1")


async def test_guessing_the_one_time_token_is_slowed_down_and_the_right_one_still_works(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0.01)
    async with served(tmp_path, signed_in=False) as web:
        codes = [
            (await web.client.post("/sign-in", data={"token": f"{number:043}"})).status_code
            for number in range(limits.FAILURES_MAX + 3)
        ]
        assert codes == [403] * limits.FAILURES_MAX + [429] * 3
        await web.sign_in()


async def test_a_made_up_session_is_no_session(tmp_path):
    async with served(tmp_path) as web:
        name = next(iter(web.browser.cookies))
        for value in ("", "x", "A" * 43, "../web.json", "%00", "'--"):
            answer = await web.client.get("/", headers={"cookie": f"{name}={value}"})
            assert answer.status_code == 303


async def test_no_path_leads_out_of_the_static_files(tmp_path):
    async with served(tmp_path) as web:
        for path in ["..%2f..%2fweb.json", "%2e%2e/web.json", "../../serving.py", "replan.css%00", "x.py"]:
            answer = await raw(web, head(web, f"GET /static/{path} HTTP/1.1"))
            assert answer.split(b" ")[1] in (b"404", b"400")
            assert b"sessions" not in answer


async def test_an_answer_before_the_body_was_read_says_that_the_connection_is_closed(tmp_path):
    async with served(tmp_path, signed_in=False) as web:
        request = head(web, "POST /runs HTTP/1.1", "Content-Length: 5").replace(b"Connection: close\r\n", b"")
        early = await raw(web, request)
        assert early.startswith(b"HTTP/1.1 303")
        assert b"\r\nconnection: close\r\n" in early.lower()
        whole = await web.client.post("/sign-in", data={"token": "x"})
        assert (whole.status_code, whole.headers.get("connection")) == (403, None)


async def test_a_body_that_trickles_in_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(guarding, "BODY_START_SECONDS", 0.2)
    async with served(tmp_path) as web:
        lines = ("Content-Length: 400", "Content-Type: application/x-www-form-urlencoded")
        begun = trio.current_time()
        answer = await raw(web, [head(web, "POST /sign-in HTTP/1.1", *lines), *[b"x"] * 30], pause=0.1)
        assert answer.split(b" ")[1] == b"408"
        assert trio.current_time() - begun < 30


async def test_a_head_that_trickles_in_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    async with served(tmp_path) as web:
        begun = trio.current_time()
        answer = await raw(web, [b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 40], pause=0.1, seconds=60)
        assert answer == b""
        assert trio.current_time() - begun < 50


async def test_connections_of_strangers_give_way_oldest_first(tmp_path, monkeypatch):
    """Whether they are silent, have sent half a head, or wait for a body: a client with a session is answered."""
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 5)
    async with served(tmp_path) as web:
        streams = [await trio.open_tcp_stream("127.0.0.1", web.port) for _ in range(8)]
        begun = [b"", b"GET / HTTP/1.1\r\nX: ", head(web, "POST /sign-in HTTP/1.1", "Content-Length: 9")]
        for stream, text in zip(streams[5:], begun, strict=True):
            await stream.send_all(text)
        with trio.fail_after(300):
            assert await streams[0].receive_some(10) == b""
            assert (await web.browser.get("/")).status_code == 200
        for stream in streams:
            await stream.aclose()


@asynccontextmanager
async def idle_connections(web, count, **headers):
    """Yield connections of a known client that have had an answer and are still open."""
    options = {"trust_env": False, "verify": False, "timeout": 60, "base_url": web.loopback}
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(httpx2.AsyncClient(**options)) for _ in range(count)]
        for client in clients:
            assert (await client.get("/api/runs", headers=headers)).status_code == 200
        yield clients


async def test_idle_connections_of_known_clients_give_way_and_streams_stay(tmp_path, monkeypatch):
    """New connections of known clients and of strangers are served, although known clients have all places."""
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 4)
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)
    async with served(tmp_path) as web, web.browser.stream("GET", "/live", timeout=60) as stream:
        lines = stream.aiter_lines()
        assert await anext(lines)
        headers = web.token()
        async with idle_connections(web, 3, **headers), idle_connections(web, 6, **headers):
            assert (await raw(web, head(web))).startswith(b"HTTP/1.1 303")
            assert (await raw(web, head(web, "GET /livez HTTP/1.1"))).startswith(b"HTTP/1.1 200")
            await web.start("plans")
            with trio.fail_after(300):
                async for line in lines:
                    if line == "event: changed":
                        break


async def test_a_connection_is_idle_again_after_a_stream_that_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 1)
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        body = {"threadId": run, "runId": "r", "messages": [], "state": {}, "tools": [], "context": []}
        options = {"trust_env": False, "verify": False, "timeout": 60, "base_url": web.loopback}
        async with httpx2.AsyncClient(**options) as client:
            answer = await client.post("/api/ag-ui", json=body, headers=web.token())
            assert (answer.status_code, "RUN_FINISHED" in answer.text) == (200, True), answer.text
            assert (await raw(web, head(web))).startswith(b"HTTP/1.1 303")


async def test_the_oldest_idle_connection_gives_way_after_those_of_strangers(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 3)
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)
    async with served(tmp_path, signed_in=False) as web:
        request = head(web, "GET /api/runs HTTP/1.1", f"Authorization: {web.token()['authorization']}")
        request = request.replace(b"Connection: close\r\n", b"")
        streams = [await trio.open_tcp_stream("127.0.0.1", web.port) for _ in range(3)]

        async def ask(stream):
            await stream.send_all(request)
            received = b""
            while not received.endswith(b"}\n") and not received.endswith(b"}"):
                part = await stream.receive_some()
                assert part, received
                received += part
            assert received.startswith(b"HTTP/1.1 200")

        for stream in streams[:2]:
            await ask(stream)
        with trio.fail_after(300):
            for gone in (streams[2], streams[0]):
                streams.append(await trio.open_tcp_stream("127.0.0.1", web.port))
                await ask(streams[-1])
                assert await gone.receive_some() == b""
            await ask(streams[1])
        for stream in streams:
            await stream.aclose()


async def test_connections_that_are_closed_are_free_at_once(tmp_path, monkeypatch):
    """No request is needed in between, and none waits for the time of a head."""
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 2)
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)
    async with served(tmp_path) as web:
        for _ in range(10):
            async with httpx2.AsyncClient(base_url=web.loopback, trust_env=False, verify=False) as client:
                assert (await client.get("/livez")).status_code == 200
    # The block ends within the server's grace, although no connection has timed out.


async def test_health_is_answered_where_known_clients_have_all_connections(tmp_path, monkeypatch):
    """Others are told so, and each of the further connections gives way to the next."""
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 1)
    monkeypatch.setattr(server, "SPARE_MAX", 2)
    async with served(tmp_path) as web, web.browser.stream("GET", "/live", timeout=60) as stream:
        assert stream.status_code == 200
        silent = [await trio.open_tcp_stream("127.0.0.1", web.port) for _ in range(3)]
        assert (await raw(web, head(web, "GET /livez HTTP/1.1"))).startswith(b"HTTP/1.1 200")
        refused = await raw(web, head(web, "GET / HTTP/1.1"))
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"too many connections" in refused
        for connection in silent:
            await connection.aclose()


async def end_by_cancelling(receive, send):
    """Answer, and cancel all work of the request once it has ended, as the event streams of libraries do."""
    async with trio.open_nursery() as nursery:

        async def wait_for_end():
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait_for_end)
        await answer_late(receive, send)


async def answer_late(receive, send):
    """Answer after a while, with or without an unread body."""
    del receive
    await trio.sleep(0.2)
    await send({"type": "http.response.start", "status": 429, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"no"})


async def go_on_after_the_end(receive, send):
    """Answer, read nothing, and go on for longer than the request."""
    await answer_late(receive, send)
    await trio.sleep(2 * server.TELL_SECONDS)


APPS = {app.__name__: app for app in (end_by_cancelling, answer_late, go_on_after_the_end)}
FEW, MANY = b"1\r\nx\r\n" * 3, b"1\r\nx\r\n" * 300
BODIES = {
    "few parts": FEW + b"0\r\n\r\n",
    "many parts": MANY + b"0\r\n\r\n",
    "a part of the body": MANY,
    "no body": b"",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("app", APPS)
async def test_a_request_ends_whatever_its_app_reads_or_cancels(monkeypatch, app, name):
    """The server closes the connection, or answers the next request over it, and stops without waiting for the app."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)

    async def run(scope, receive, send):
        await APPS[app](receive, send)

    listening = server.bind_socket(0)
    lines = b"Host: x\r\n" + (b"Transfer-Encoding: chunked\r\n" if BODIES[name] else b"")
    request = b"POST / HTTP/1.1\r\n" + lines + b"%s\r\n" + BODIES[name]
    with trio.fail_after(300):
        async with trio.open_nursery() as nursery:
            stop = trio.Event()
            nursery.start_soon(server.serve, run, listening, stop.wait)
            async with await trio.open_tcp_stream(*listening.getsockname()) as stream:
                received = b""
                if name != "a part of the body":
                    await stream.send_all(request % b"")
                    while not received.endswith(b"no"):
                        received += await stream.receive_some()
                await stream.send_all(request % b"Connection: close\r\n")
                while part := await stream.receive_some():
                    received += part
                assert received.count(b"HTTP/1.1 429") == 1 + (name != "a part of the body")
            stop.set()


async def test_too_many_or_too_long_headers_and_addresses_are_refused(tmp_path):
    async with served(tmp_path) as web:
        many = [f"x-{number}: y" for number in range(120)]
        assert (await raw(web, head(web, "GET / HTTP/1.1", *many))).split(b" ")[1] == b"431"
        assert (await raw(web, head(web, f"GET /?{'x' * 3000} HTTP/1.1"))).split(b" ")[1] == b"414"
        assert (await raw(web, head(web, "GET / HTTP/1.1", f"x: {'y' * 40_000}"))).split(b" ")[1] in (b"431", b"400")


async def test_only_plain_http_is_spoken(tmp_path):
    async with served(tmp_path) as web:
        upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        request = head(web, "GET / HTTP/1.1", *upgrade).replace(b"Connection: close", b"Connection: Upgrade")
        assert b" 101 " not in await raw(web, request, seconds=2)
        assert (await raw(web, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", seconds=60)).startswith(b"HTTP/1.1 505")
        later = head(web, "GET /livez HTTP/1.1", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        assert (await raw(web, later)).startswith(b"HTTP/1.1 200")
        smuggled = head(web, "POST /sign-in HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked")
        assert (await raw(web, smuggled + b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n", seconds=3)).count(b"HTTP/1.1 200") == 0
        assert (await web.browser.get("/")).status_code == 200


SMUGGLED = {
    "two lengths": "POST /sign-in HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "an unknown coding": "POST /sign-in HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": "POST /sign-in HTTP/1.1\r\n{host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a length and a coding": "POST /sign-in HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    "0\r\n\r\nGET /runs HTTP/1.1\r\n{host}{cookie}\r\n",
    "a whole address": "GET http://evil.example/ HTTP/1.1\r\n{host}\r\n",
    "a second host, folded": "GET / HTTP/1.1\r\n Host: evil.example\r\n{host}\r\n",
    "line feeds alone": "GET / HTTP/1.1\nHost: evil.example\n\n",
    "a folded header": "GET / HTTP/1.1\r\n{host}X: a\r\n\tb: c\r\n\r\n",
    "a NUL": "GET /\x00 HTTP/1.1\r\n{host}\r\n",
    "a tunnel": "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01",
}


async def test_no_request_carries_another_one_or_is_a_bug(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        for smuggled in SMUGGLED.values():
            cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
            text = smuggled.format(host=f"Host: {web.host}\r\n", cookie=f"Cookie: {cookie}\r\n")
            received = await raw(web, text.encode("latin-1"), seconds=2)
            answers = [each[:3] for each in received.split(b"HTTP/1.1 ")[1:]]
            assert not [each for each in answers[1:] if each == b"200"], received
            assert b"500" not in answers
            assert b"Traceback" not in received
            assert (await web.browser.get("/")).status_code == 200


async def test_no_header_changes_the_method(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        for name in ["X-HTTP-Method-Override", "X-Method-Override", "_method"]:
            assert (await web.browser.get("/sign-out", headers={name: "POST"})).status_code in (404, 405)
            assert (await web.browser.get("/")).status_code == 200


async def test_other_methods_do_nothing(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"]:
            for path in ("/runs", "/sign-out", "/api/runs"):
                answer = await web.browser.request(method, path)
                assert answer.status_code in (401, 403, 404, 405), path
                assert "access-control-allow-origin" not in answer.headers
            assert (await web.browser.get("/")).status_code == 200


async def test_every_response_has_the_headers_that_protect_it(tmp_path):
    async with served(tmp_path) as web:
        for path in ("/", "/sign-in", "/no-such-page", "/static/replan.css", "/questions/x/q1"):
            answer = await web.browser.get(path)
            assert not [name for name in HEADERS if name not in answer.headers], path
            assert "access-control-allow-origin" not in answer.headers
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert "server" not in answer.headers
        assert (await web.browser.get("/")).headers["cache-control"] == "no-store"


async def test_too_many_writes_of_one_client_are_refused(tmp_path, monkeypatch):
    async with served(tmp_path) as web:
        codes = [(await web.post("/questions/none/q1")).status_code for _ in range(limits.WRITES_MAX + 2)]
        assert codes[-1] == 429
        assert codes[0] == 404
