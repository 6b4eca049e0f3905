"""A cookie goes to every port of its host, so pages have a name that no other server of this machine knows."""

import http.server
import json
import stat
import threading
from contextlib import contextmanager

import pytest

from packages.server.tests.long.web.test_hostile_requests import head, raw
from packages.server.tests.long.web.test_hostile_routes import GETS, POSTS, filled
from packages.server.tests.web.world import served
from replan.setup.home_folder import locate_home
from replan_server.web.site import new_name

PROGRAMS = ("/api/", "/livez", "/readyz", "/open", "/answer/", "/static/")
"""How the addresses begin that take no cookie."""


@contextmanager
def other_server(port=0):
    """Run another server on this machine; yield its port, and the cookies and host names that it receives."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.headers.get("host", ""), self.headers.get("cookie", "")))
            body = b"<title>other</title><script>if (!location.search) location = '/again?1'</script><p>another program"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def visits(go, sees, web, port):
    """Sign in at the page, then visit the other server by each name that it may have."""
    await go(f"{web.address}/sign-in#{web.sign_in_token}")
    await sees("Nothing waits for you.")
    for name in ("127.0.0.1", "localhost", f"{new_name()}"):
        await go(f"http://{name}:{port}/")
        await sees("another program")
    await go(f"{web.address}/")
    await sees("Nothing waits for you.")


async def test_chromium_sends_the_session_to_no_other_port(tmp_path, browser):
    with other_server() as (port, seen):
        async with served(tmp_path, signed_in=False) as web:
            page = await browser.page()
            await visits(page.go, page.sees, web, port)
    assert len(seen) >= 3
    assert not [each for each in seen if web.name in each[0] or "replan_" in each[1]]


async def test_firefox_sends_the_session_to_no_other_port(tmp_path, second_browser):
    with other_server() as (port, seen):
        async with served(tmp_path, signed_in=False) as web:
            await visits(second_browser.go, second_browser.sees, web, port)
    assert len(seen) >= 3
    assert not [each for each in seen if web.name in each[0] or "replan_" in each[1]]


async def test_what_a_port_is_sent_that_was_taken_over_opens_nothing_at_the_next_server(tmp_path, browser):
    page = await browser.page()
    async with served(tmp_path, signed_in=False) as web:
        await page.go(f"{web.address}/sign-in#{web.sign_in_token}")
        await page.sees("Nothing waits for you.")
    with other_server(web.port) as (port, seen):
        await page.go(f"{web.address}/")
        await page.sees("another program")
    [host] = {each[0] for each in seen}
    [cookie] = {each[1] for each in seen}
    assert (host, cookie[:7]) == (web.host, "replan_"), "else the test shows nothing"
    async with served(tmp_path, signed_in=False, port=port) as after:
        for name in (host, after.host):
            answer = await after.client.get("/", headers={"host": name, "cookie": cookie})
            assert answer.status_code in (421, 303), answer.status_code


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
async def test_the_names_that_everybody_knows_serve_no_page_and_tell_no_other_name(tmp_path, method):
    async with served(tmp_path, hosts=False) as web:
        cookie = "; ".join(f"{name}={value}" for name, value in web.browser.cookies.items())
        token = web.token()["authorization"]
        paths = {*map(filled, GETS), *map(filled, POSTS), "/nothing", "//", "/sign-in?next=/", "/API/runs", "/x/api/"}
        for name in ("127.0.0.1", "localhost"):
            for path in sorted(paths):
                lines = (f"Cookie: {cookie}", f"Authorization: {token}", "Content-Length: 0")
                answer = await raw(web, head(web, f"{method} {path} HTTP/1.1", *lines, host=f"{name}:{web.port}"))
                refused = answer.split(b" ")[1] == b"421"
                assert refused != path.startswith(PROGRAMS), (name, path)
                lower = answer.lower()
                assert web.name.encode() not in lower, (name, path)
                assert b"set-cookie" not in lower, (name, path)


async def test_programs_with_a_token_use_the_address_in_digits_and_a_session_means_nothing_there(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        there = {"host": f"127.0.0.1:{web.port}"}
        assert (await web.browser.get("/api/runs", headers=there)).status_code == 401
        assert (await web.client.get("/api/runs", headers={**there, **web.token("read")})).status_code == 200
        assert (await web.client.get("/livez", headers=there)).status_code == 200


async def test_the_page_of_links_has_no_button_under_a_name_that_everybody_knows(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        shown = (await web.browser.get("/open", headers={"host": f"127.0.0.1:{web.port}"})).text
        assert "serve --sign-in" in shown
        assert "<form" not in shown
        assert web.name not in shown


async def test_the_name_is_in_the_private_file_alone_while_the_server_runs(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        folder = locate_home().folder
        for file in filter(lambda each: each.is_file(), folder.rglob("*")):
            assert (web.name.encode() in file.read_bytes()) == (file.name == "web.json"), file
        assert stat.S_IMODE((folder / "web.json").stat().st_mode) == 0o600
        assert len({new_name() for _ in range(100)}) == 100
    assert json.loads((folder / "web.json").read_text())["servers"] == {}
