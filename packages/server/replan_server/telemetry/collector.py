"""Sends spans and metrics to a collector with the exporters of OpenTelemetry's SDK, and checks the answers strictly.

The SDK treats every answer with a status below 400 as success. In this module, an answer is a success only if it can be
decoded as a response of the protocol OTLP. So no spans are lost if a wrong server, a proxy or a sign-in page answers.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any

import requests
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link as OtelLink
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from replan_server.telemetry import conventions as names
from replan_server.telemetry.spans import Span, SpanLink
from runtime.core.names import span_id, trace_id
from runtime.logs.redact import Redactor

ANSWER_BYTES_MAX = 1024 * 1024
"""The largest number of bytes in the body of a collector's response. A longer body counts as an error."""
ANSWER_SECONDS_MAX = 10.0
"""The time limit for receiving the body of a collector's response, in seconds."""
TEXT_MAX = 4096
"""The largest number of characters in an attribute. Prompts, replies, and the arguments and outputs of tools may be
longer."""

_BAD_DATA = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY})
_CONTENT = frozenset(
    {
        names.INPUT_MESSAGES,
        names.OUTPUT_MESSAGES,
        names.SYSTEM_INSTRUCTIONS,
        names.TOOL_ARGUMENTS,
        names.TOOL_RESULT,
    }
)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_SCOPE = InstrumentationScope(names.SCOPE)


class NotACollectorError(Exception):
    """The answer is not from a collector."""


class SendOutcome(Enum):
    """The result of sending a batch."""

    TAKEN = "taken"
    REFUSED = "refused"  # the collector does not want these data, now or later
    FAILED = "failed"  # it is away, busy, or no collector


class CheckedSession(requests.Session):
    """An HTTP session that limits the size of answers, and accepts only a collector's answer as success."""

    def __init__(self, response: type[Message]) -> None:
        super().__init__()
        self._type = response
        self.problem = ""
        """Why the last request failed; empty if it succeeded. The text contains nothing from the server."""
        self.status = 0
        """The status of the last answer; 0 if there was no answer."""
        self.rejected = 0
        """The number of spans or data points that the collector has rejected in batches that it otherwise accepted."""

    def request(self, method: str, url: str, *args: Any, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send a request, check its answer, and return it. Raises `NotACollectorError`, `requests.RequestException`."""
        self.problem, self.status = "", 0
        try:
            response = super().request(method, url, *args, **{**options, "stream": True})
            with response:
                self.status = response.status_code
                self._check(response, _body(response))
        except NotACollectorError as error:
            self.problem = str(error)
            raise
        except (requests.RequestException, OSError) as error:
            self.problem = type(error).__name__
            raise
        return response

    def _check(self, response: requests.Response, body: bytes) -> None:
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            self.problem = f"status {response.status_code}"
            return
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != HTTPStatus.OK or kind != "application/x-protobuf":
            raise NotACollectorError(f"the answer with status {response.status_code} is not from a collector")
        try:
            answer: Any = self._type.FromString(body)
        except DecodeError:
            raise NotACollectorError("the answer cannot be decoded") from None
        for field in ("rejected_spans", "rejected_data_points"):
            self.rejected += max(0, getattr(answer.partial_success, field, 0))


def _body(response: requests.Response) -> bytes:
    """Return the body of an answer. Raises `NotACollectorError` if the body is too long or arrives too slowly."""
    body, until = bytearray(), time.monotonic() + ANSWER_SECONDS_MAX
    for part in response.iter_content(8192):
        body += part
        if len(body) > ANSWER_BYTES_MAX or time.monotonic() > until:
            raise NotACollectorError("the answer is too long or comes too slowly")
    return bytes(body)


class Collector:
    """Sends spans. The methods block, so callers run them in a thread, one call at a time."""

    def __init__(self, redactor: Redactor) -> None:
        quiet_sdk()
        self._redactor, self._session = redactor, CheckedSession(ExportTraceServiceResponse)
        self._exporter, self._resource = OTLPSpanExporter(session=self._session), resource()
        self.problem = ""
        """Why the last batch was not accepted; empty if it was accepted."""
        self.refused = 0
        """The number of spans that the collector has refused one by one. They are not sent again."""

    def send(self, spans: Sequence[Span]) -> SendOutcome:
        """Send a batch of spans.

        If the collector refuses the batch as bad data, send each half of it. So only the bad spans are lost.
        """
        accepted = self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS
        self.problem = "" if accepted else self._session.problem or "the batch cannot be sent"
        if accepted:
            return SendOutcome.TAKEN
        if self._session.status not in _BAD_DATA:
            return SendOutcome.FAILED
        if len(spans) == 1:
            self.refused += 1
            return SendOutcome.REFUSED
        middle = len(spans) // 2
        halves = [self.send(spans[:middle]), self.send(spans[middle:])]
        return SendOutcome.FAILED if SendOutcome.FAILED in halves else SendOutcome.TAKEN

    @property
    def rejected(self) -> int:
        """The number of spans that the collector has refused, one by one or as parts of batches that it accepted."""
        return self._session.rejected + self.refused

    def close(self) -> None:
        """Cancel the wait before another try of a request, and close the connections."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: Span) -> ReadableSpan:
        parent = None if span.parent is None else _context(span.trace, span.parent)
        return ReadableSpan(
            self._redactor.text(span.name)[:TEXT_MAX],
            _context(span.trace, span.id),
            parent,
            self._resource,
            {name: self._value(name, value) for name, value in sorted(span.attributes.items())},
            links=[_link(link) for link in span.links],
            kind=SpanKind.CLIENT if span.remote else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=_SCOPE,
        )

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return [self._value(name, item) for item in value]
        if not isinstance(value, str):
            return value
        text = self._redactor.text(value)
        return text if name in _CONTENT else text[:TEXT_MAX]


def resource(more: Mapping[str, str] | None = None) -> Resource:
    """Return the resource of this service: its name, `more`, and the attributes in OpenTelemetry's variables."""
    return Resource({SERVICE_NAME: names.SCOPE}).merge(OTELResourceDetector().detect()).merge(Resource(more or {}))


def quiet_sdk() -> None:
    """Turn the SDK's log off. This package logs failures itself, without texts from servers."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)


def metrics_session() -> CheckedSession:
    """Return a session for the exporter of metrics."""
    return CheckedSession(ExportMetricsServiceResponse)


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED)


def _link(link: SpanLink) -> OtelLink:
    context = _context(trace_id(link.run), span_id(link.run, 1))
    return OtelLink(context, {names.RUN: link.run, "replan.relation": link.relation})
