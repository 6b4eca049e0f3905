"""A receiver of webhooks on the loopback interface, which can be down, busy, slow or hostile.

`behave` is called with the number of a request, from 1, and returns how it is answered: a status, or a function of the
handler that answers by itself.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

Behaviour = Callable[[int], "int | Callable[[BaseHTTPRequestHandler], None]"]


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@dataclass
class Delivery:
    headers: dict[str, str]
    body: bytes
    taken: bool

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def type(self) -> str:
        return json.loads(self.body)["type"]

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.body)["data"]

    def verify(self, secret: str) -> None:
        """Check the signature as receivers do. Raises `WebhookVerificationError`."""
        Webhook(secret).verify(self.body, self.headers)


@dataclass
class Receiver:
    port: int
    deliveries: list[Delivery] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    behave: Behaviour = lambda _: 204

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def taken(self) -> list[Delivery]:
        return [each for each in self.deliveries if each.taken]


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            how = receiver.behave(len(receiver.deliveries) + 1)
            receiver.paths.append(self.path)
            receiver.deliveries.append(Delivery(headers, body, isinstance(how, int) and how // 100 == 2))
            if isinstance(how, int):
                self.send_response(how)
                self.send_header("content-length", "0")
                self.end_headers()
            else:
                how(self)

        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # The sender may have left.
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    receiver = Receiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
