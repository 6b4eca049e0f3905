"""An HTTP server on the loopback interface that speaks OpenAI's two interfaces and Anthropic's, with scripted answers.

In a test::

    with serve(lambda body, headers, n: Answer.value({"ok": True})) as server:
        ...                                   # point OPENAI_BASE_URL or ANTHROPIC_BASE_URL at server.base_url
    assert server.steps == ["g_analysis"]

Answers by step (the step is read from `X-Client-Request-Id: <run>/<step>/v<visit>.a<attempt>…`)::

    with serve(by_step({"g_analysis": [{"problem_type": "bug_fix"}],
                        "g_plan": [Answer.fault(429, headers={"Retry-After": "0"}), GOOD_PLAN]})) as server: ...

The answers in a step's list are used in order; a text or a JSON value is the content of the reply; an answer outside of
a list is given every time; the step `"*"` matches all other steps. A step without an answer left gets a 404, which is
final, so that a run with too many requests fails instead of hanging.

For crash tests, as a separate process, which outlives the killed program::

    python -m tests.support.openai_server --script FILE --port-file FILE --log FILE

The script is YAML or JSON of the same shape, where a mapping with one of the keys `reply`, `stream`, `status`, `hang`,
`cut`, `huge`, `html` or `no_choices` describes an answer (`{reply: {...}, delay_seconds: 0.5}`, `{cut: body}`,
`{stream: {...}, gap_seconds: 0.1}`, `{status: 429, headers: {...}}`). The port file appears, whole, once the server
listens. The log has one JSON line per request received (`"event": "request"`) and one per answer that ended
(`"event": "answer"`); its `outcome` is `finished` if the last byte was passed to the network, else `cut` or `gone`. A
client may have a reply just before the log has it.
"""

import argparse
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self

import yaml

from tests.support import messages_api, responses_api
from tests.support.answers import Answer, Handler, as_answer, by_step, request_parts

__all__ = ["Answer", "Handler", "OpenAIServer", "Seen", "as_answer", "by_step", "main", "request_parts", "serve"]

Outcome = Literal["open", "finished", "cut", "gone"]
_PIECE = 64 * 1024


@dataclass
class Seen:
    """One request. Times are `time.time()`; `ended` is None while it is open; `sent` counts bytes of the body sent."""

    n: int
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    started: float
    ended: float | None = None
    outcome: Outcome = "open"
    sent: int = 0

    @property
    def request_id(self) -> str:
        return self.headers.get("x-client-request-id", "")

    @property
    def step(self) -> str:
        return request_parts(self.request_id).get("step", "")

    @property
    def prompt(self) -> str:
        return "\n".join(str(message.get("content")) for message in self.body.get("messages", []))


class OpenAIServer:
    """The server. Every attribute may be read from any thread."""

    def __init__(
        self,
        handler: Handler,
        *,
        on_event: Callable[[str, Seen], None] | None = None,
        models: Callable[[Mapping[str, str]], Answer] | None = None,
        port: int = 0,
    ) -> None:
        """`models` answers each GET, from its headers and `:path`; without it there is none. A `port` of 0 is free."""
        self._handler, self._on_event = handler, on_event
        self.models = models or (lambda _: Answer.fault(404, "no such path"))
        self.probes = self.listed = 0
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._sockets: set[socket.socket] = set()
        self.stopping = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Exchange)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="openai-server")

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def seen(self) -> list[Seen]:
        with self._lock:
            return list(self._seen)

    @property
    def steps(self) -> list[str]:
        return [seen.step for seen in self.seen]

    @property
    def finished(self) -> int:
        """How many requests were answered to the last byte: what a provider would charge for."""
        return sum(seen.outcome == "finished" for seen in self.seen)

    @property
    def connections(self) -> int:
        with self._lock:
            return len(self._sockets)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Break open connections, and wait for the end of every thread."""
        self.stopping.set()
        self._http.shutdown()
        with self._lock:
            open_now = list(self._sockets)
        for connection in open_now:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()
        self._thread.join()

    def wait_for(self, condition: Callable[[Self], bool], seconds: float = 5.0) -> bool:
        """Wait in this thread until a condition of the server holds; return whether it did in time."""
        until = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)

    def received(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Seen:
        with self._lock:
            seen = Seen(len(self._seen) + 1, path, headers, body, time.time())
            self._seen.append(seen)
            self._notify("request", seen)
        return seen

    def ended(self, seen: Seen, outcome: Outcome) -> None:
        """Note how a request ended."""
        with self._lock:
            seen.ended, seen.outcome = time.time(), outcome
            self._notify("answer", seen)

    def answer(self, seen: Seen) -> Answer:
        """Call the handler. An exception becomes a 500, so that the test sees it."""
        try:
            return self._handler(seen.body, seen.headers, seen.n)
        except Exception as error:  # noqa: BLE001
            return Answer.fault(500, f"the test's handler raised {error!r}")

    def _notify(self, event: str, seen: Seen) -> None:
        if self._on_event is not None:
            self._on_event(event, seen)


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128
    owner: OpenAIServer

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.opened(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.owner.closed(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: tests break connections on purpose."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Otherwise a body, written after its head, waits for the client's delayed ACK.
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            plain = json.loads(body)
        except ValueError:
            plain = {}
        owner = self.server.owner
        seen = owner.received(self.path, {name.lower(): value for name, value in self.headers.items()}, plain)
        answer = self._answer(seen)
        outcome: Outcome = "gone"
        try:
            outcome = self._give(answer, seen)
        except OSError:
            self.close_connection = True
        finally:
            owner.ended(seen, outcome)

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.probes += 1
        owner.listed += self.path == "/v1/models"
        answer = owner.models({":path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
        with suppress(OSError):
            self._head(answer.status, {**answer.headers, "Content-Length": str(len(answer.body))})
            self.wfile.write(answer.body)

    def _answer(self, seen: Seen) -> Answer:
        match self.path.split("?")[0]:
            case path if path.endswith(("/v1/chat/completions", "/openai/chat/completions")):
                return self.server.owner.answer(seen)
            case messages_api.PATH:
                refusal = messages_api.refused(seen.body, seen.headers)
                return refusal or messages_api.as_message(self.server.owner.answer(seen), seen.body)
            case responses_api.PATH:
                refusal = responses_api.refused(seen.body)
                return refusal or responses_api.as_response(self.server.owner.answer(seen))
            case _:
                return Answer.fault(404, f"no such path: {self.path}")

    def _give(self, answer: Answer, seen: Seen) -> Outcome:
        if answer.delay_seconds and not self._client_stays(answer.delay_seconds):
            return self._break_off("gone")
        if answer.kind == "hang":
            while self._client_stays(3600):
                pass
            return self._break_off("gone")
        if answer.kind == "cut" and answer.cut == "request":
            return self._break_off("cut")
        if answer.kind == "huge":
            return self._give_much(answer.size, seen)
        if answer.kind == "stream":
            return self._stream(answer, seen)
        self._head(answer.status, {**answer.headers, "Content-Length": str(len(answer.body))})
        if answer.kind == "cut":
            self._write(answer.body[: len(answer.body) // 2 if answer.cut == "body" else 0], seen)
            return self._break_off("cut")
        self._write(answer.body, seen)
        return "finished"

    def _stream(self, answer: Answer, seen: Seen) -> Outcome:
        self._head(answer.status, {**answer.headers, "Transfer-Encoding": "chunked"})
        for number, piece in enumerate(answer.pieces):
            if number and answer.gap_seconds and not self._client_stays(answer.gap_seconds):
                return self._break_off("gone")
            self._write(b"%x\r\n%b\r\n" % (len(piece), piece), seen)
        if answer.then == "hang":
            while self._client_stays(3600):
                pass
            return self._break_off("gone")
        if answer.then == "cut":
            return self._break_off("cut")
        self._write(b"0\r\n\r\n", seen)
        return "finished"

    def _give_much(self, size: int, seen: Seen) -> Outcome:
        self._head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        start, end = b'{"choices":[{"message":{"content":"', b'"},"finish_reason":"stop"}]}'
        left = size - len(start) - len(end)
        self._write(b"%x\r\n%b\r\n" % (len(start), start), seen)
        while left > 0:
            piece = b"a" * min(left, _PIECE)
            self._write(b"%x\r\n%b\r\n" % (len(piece), piece), seen)
            left -= len(piece)
        self._write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end), seen)
        return "finished"

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, data: bytes, seen: Seen) -> None:
        self.wfile.write(data)
        seen.sent += len(data)

    def _break_off(self, outcome: Outcome) -> Outcome:
        self.close_connection = True
        # A reset, not an orderly end: unread data or not, the client sees the connection break.
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        return outcome

    def _client_stays(self, seconds: float) -> bool:
        """Wait; return False as soon as the client has left or the server stops."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.owner.stopping.is_set():
                return False
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if readable and not self._peek():
                return False
        return True

    def _peek(self) -> bytes:
        try:
            return bytes(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return b""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing on stderr."""


@contextmanager
def serve(handler: Handler, **more: Any) -> Iterator[OpenAIServer]:
    """Run a server for the length of a `with` block."""
    server = OpenAIServer(handler, **more)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.openai_server")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    options = parser.parse_args(arguments)
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with options.log.open("a", encoding="utf-8", buffering=1) as log:

        def write(event: str, seen: Seen) -> None:
            line = {"event": event, "n": seen.n, "id": seen.request_id, "step": seen.step, "at": time.time()}
            log.write(json.dumps(line if event == "request" else {**line, "outcome": seen.outcome}) + "\n")

        script = yaml.safe_load(options.script.read_text(encoding="utf-8"))
        with serve(by_step(script), on_event=write) as server:
            half = options.port_file.with_name(options.port_file.name + ".tmp")
            half.write_text(str(server.port), encoding="utf-8")
            os.replace(half, options.port_file)  # noqa: PTH105
            done.wait()


if __name__ == "__main__":
    main()
