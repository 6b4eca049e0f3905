"""The search tool: a folder or a service, typed faults, and what is recorded."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import trio

from actors.run.tools import ToolOutcome
from replan_acquire.documents import web_search
from replan_acquire.documents.index import READ
from replan_acquire.documents.passages import NOTICES_MAX, SearchFault, search_output
from replan_acquire.documents.tools import SearchPlaces, search_tool
from replan_acquire.documents.web_search import WebSearchFailed, is_public, read_results, search_web

RESULTS = {
    "results": [
        {"url": "https://a.example/1", "title": "Edifícios", "content": "Existem 1.234 edifícios e 3,5 % são novos."},
        {"url": "https://a.example/1", "title": "Edifícios", "content": "Existem 1.234 edifícios e 3,5 % são novos."},
        {"url": "https://b.example/2", "title": None, "content": "x" * 5000},
        {"url": 5, "content": "no address"},
        {"url": "https://c.example/3", "content": "  "},
        "not an object",
    ]
}


async def call(places, query="edifícios", **arguments):
    async with search_tool(places).prepare({"query": query, **arguments}) as prepared:
        return await prepared.run()


@contextmanager
def service(answer):
    """Serve one answer, a function of the handler, on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            answer(self)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.block_on_close = [], True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/search"
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def content(body, kind="application/json", status=200, **headers):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:
            return  # The client has left.

    return answer


async def test_the_passages_of_a_folder_are_recorded_with_their_place(tmp_path):
    (tmp_path / "a.md").write_text("# Title\n\nExistem 1.234 edifícios, e 3,5 % são novos.\n")
    (tmp_path / "b.bin").write_bytes(b"\0")
    done = await call(SearchPlaces(folder=str(tmp_path)))
    assert done.outcome is ToolOutcome.SUCCEEDED
    found = json.loads(done.output)
    assert found["searched"] == 1
    assert found["notices"] == [f"b.bin: left out, because only {READ} are read"]
    (passage,) = found["passages"]
    assert (passage["source"], passage["first_line"], passage["last_line"]) == ("a.md", 1, 3)
    assert passage["decimal_mark"] == "comma"
    assert passage["places"] == [[0, "line 1"], [9, "line 3"]]


async def test_without_a_place_every_search_finds_nothing():
    assert json.loads((await call(SearchPlaces())).output) == {"passages": [], "notices": [], "searched": 0}


@pytest.mark.parametrize("arguments", [{"query": 5}, {"query": "x", "limit": "many"}, {"query": "x", "limit": -1}])
async def test_odd_arguments_find_nothing_and_do_no_harm(tmp_path, arguments):
    async with search_tool(SearchPlaces(folder=str(tmp_path))).prepare(arguments) as prepared:
        assert (await prepared.run()).outcome is ToolOutcome.SUCCEEDED


async def test_a_folder_that_has_gone_fails_with_its_code(tmp_path):
    done = await call(SearchPlaces(folder=str(tmp_path / "none")))
    assert (done.outcome, done.reason.split(": ")[0]) == (ToolOutcome.FAILED, SearchFault.NO_FOLDER)


async def test_the_results_of_a_service_are_passages_without_repetition():
    with service(content(json.dumps(RESULTS).encode())) as server:
        done = await call(SearchPlaces(endpoint=server.url), "edifícios & mais")
    assert server.asked == ["/search?q=edif%C3%ADcios+%26+mais&format=json"]
    first, second = json.loads(done.output)["passages"]
    assert (first["source"], first["decimal_mark"]) == ("https://a.example/1", "comma")
    assert len(second["text"]) == 1500


FAULTS = {
    "an HTML page": (content(b"<html>Sign in", "text/html"), SearchFault.NOT_JSON, ToolOutcome.FAILED),
    "another JSON": (content(b'{"hits": []}'), SearchFault.NOT_JSON, ToolOutcome.FAILED),
    "deep JSON": (content(b"[" * 100_000), SearchFault.NOT_JSON, ToolOutcome.FAILED),
    "a huge answer": (content(b"x" * 2_000_000), SearchFault.TOO_LARGE, ToolOutcome.FAILED),
    "a redirect": (
        content(b"", status=302, Location="http://127.0.0.1:1/"),
        SearchFault.REDIRECTED,
        ToolOutcome.FAILED,
    ),
    "format json not allowed": (content(b"", status=403), SearchFault.REFUSED, ToolOutcome.FAILED),
    "a limit of requests": (content(b"", status=429), SearchFault.REFUSED, ToolOutcome.TRANSIENT),
    "an error of the service": (content(b"", status=502), SearchFault.REFUSED, ToolOutcome.TRANSIENT),
    "a compressed answer": (content(b"x", Content_Encoding="gzip"), SearchFault.NOT_JSON, ToolOutcome.FAILED),
    "a broken answer": (
        lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"),
        SearchFault.DOWN,
        ToolOutcome.TRANSIENT,
    ),
}


@pytest.mark.parametrize(("answer", "code", "outcome"), FAULTS.values(), ids=FAULTS)
async def test_a_service_that_does_not_answer_as_expected_is_a_typed_fault(answer, code, outcome):
    with service(answer) as server:
        done = await call(SearchPlaces(endpoint=server.url))
    assert (done.reason.split(": ")[0], done.outcome) == (code, outcome)
    assert "\n" not in done.reason
    assert len(server.asked) == 1


async def test_a_service_that_is_down_is_a_passing_fault():
    with service(content(b"")) as server:
        url = server.url
    done = await call(SearchPlaces(endpoint=url))
    assert (done.reason.split(": ")[0], done.outcome) == (SearchFault.DOWN, ToolOutcome.TRANSIENT)


async def test_a_service_that_drips_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(web_search, "SECONDS_MAX", 0.2)
    gone = threading.Event()

    def drip(handler):
        content(b" ")(handler)
        gone.wait(5)

    with service(drip) as server:
        with trio.fail_after(3):
            done = await call(SearchPlaces(endpoint=server.url))
        gone.set()
    assert (done.reason.split(": ")[0], done.outcome) == (SearchFault.SLOW, ToolOutcome.TRANSIENT)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"]
)
async def test_a_public_name_that_leads_into_a_private_network_is_not_connected_to(monkeypatch, address):
    async def resolve(*_, **__):
        await trio.lowlevel.checkpoint()
        return [(2, 1, 6, "", ("93.184.216.34", 80)), (2, 1, 6, "", (address, 80))]

    monkeypatch.setattr(trio.socket, "getaddrinfo", resolve)
    assert not is_public(address)
    with pytest.raises(WebSearchFailed) as failure:
        await search_web("https://search.example.org/search", "x", 5)
    assert failure.value.code is SearchFault.PRIVATE_ADDRESS
    assert not failure.value.passing


def test_public_addresses_are_told_from_others():
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")
    assert not is_public("224.0.0.1")


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'{"results": {}}', b"\xff\xfe", b"NaN"])
def test_any_answer_is_read_or_refused(body):
    with pytest.raises(WebSearchFailed):
        read_results(body, 5)


def test_the_notices_of_a_search_are_bounded():
    told = json.loads(search_output((), [f"{number}: left out" for number in range(100)], 0))["notices"]
    assert len(told) == NOTICES_MAX + 1
    assert told[-1].startswith("80 more files")
