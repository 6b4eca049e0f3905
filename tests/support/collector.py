"""An OpenTelemetry collector on the loopback interface (OTLP over HTTP), which can be away, busy, slow or wrong.

It keeps every request, decoded. `behave` is called with the number of a request, from 1, and returns how it is
answered: a status, or a function of the handler that answers by itself.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

Behaviour = Callable[[int], "int | Callable[[BaseHTTPRequestHandler], None]"]


@dataclass
class Collector:
    port: int
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    """The requests with spans that were answered with success."""
    offered: list[ExportTraceServiceRequest] = field(default_factory=list)
    """All requests with spans, also those that were not taken."""
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    behave: Behaviour = lambda _: 200
    came: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Any]:
        return spans_in(self.traces)

    def values(self, name: str) -> list[Any]:
        """The data points of a metric in the latest request that has it."""
        for request in reversed(self.metrics):
            for group in request.resource_metrics:
                for scope in group.scope_metrics:
                    for metric in scope.metrics:
                        if metric.name == name:
                            return [*getattr(metric, metric.WhichOneof("data")).data_points]
        return []


def spans_in(requests: list[ExportTraceServiceRequest]) -> list[Any]:
    groups = [group for request in requests for group in request.resource_spans]
    return [span for group in groups for scope in group.scope_spans for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: plain(each.value) for each in span.attributes}


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [plain(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    """Run a collector; on a port that is given, or a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path == "/v1/metrics":
                collector.metrics.append(ExportMetricsServiceRequest.FromString(body))
                answer(self, ExportMetricsServiceResponse())
                return
            assert self.path == "/v1/traces", self.path
            request = ExportTraceServiceRequest.FromString(body)
            collector.offered.append(request)
            how = collector.behave(len(collector.offered))
            if how == 200:
                collector.traces.append(request)
                answer(self, ExportTraceServiceResponse())
            elif isinstance(how, int):
                self.send_response(how)
                self.send_header("content-length", "0")
                self.end_headers()
            else:
                how(self)
            collector.came.set()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    collector = Collector(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, message: Any, kind: str = "application/x-protobuf") -> None:
    """Answer with a message, or with bytes of another kind."""
    body = message if isinstance(message, bytes) else message.SerializeToString()
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
