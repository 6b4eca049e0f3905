"""The metrics of OpenTelemetry: counters and histograms from records, and gauges of the present state of runs."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View

from actors.run.calls import CallFailed, Replied, Settled
from actors.run.ending import RunFinished
from actors.run.kind import Kind
from actors.run.tools import ToolFinished
from actors.run.views import Marked
from replan_server.telemetry import conventions as names
from replan_server.telemetry.collector import metrics_session, quiet_sdk, resource
from replan_server.telemetry.spans import Span
from runtime.core.events import Record
from runtime.core.hooks import APPEND_SECONDS, LEASE_LOST, observe_measures
from runtime.core.ledger import MICRO
from runtime.journal.port import Tally
from runtime.models.servers import ServerLimits, Window


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured value."""

    instrument: str
    value: float
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The attributes of the value. Every attribute has only a small number of possible values."""


CALLS = "replan.calls"
COST = "replan.cost"
TOKENS = "replan.tokens"
DECISIONS = "replan.decisions"
ENDED = "replan.runs.ended"
TOOLS = "replan.tools"


def measures_of(
    kind: Kind[Any, Any], record: Record[Any], spans: Sequence[Span] = (), *, by_child: bool = False
) -> list[Measurement]:
    """Return the measurements of a record, and of the `spans` that the record completes.

    With `by_child`, the record is about a call that a child run answers. Such a call is counted only in the child run.
    """
    event, attributes = record.event, {names.KIND: kind.name}
    metrics: list[Measurement] = []
    match event:
        case Replied() | CallFailed() | Settled() if by_child:
            pass
        case Replied():
            metrics = [
                Measurement(CALLS, event.used.calls, {names.OUTCOME: "replied", **attributes}),
                Measurement(TOKENS, event.used.tokens, attributes),
                Measurement(COST, event.used.micro_usd / MICRO, attributes),
            ]
        case CallFailed():
            metrics = [Measurement(CALLS, 1, {names.OUTCOME: str(event.fault.kind), **attributes})]
        case Settled():
            late = {names.OUTCOME: "late", **attributes}
            metrics = [
                Measurement(CALLS, event.used.calls, late),
                Measurement(TOKENS, event.used.tokens, attributes),
                Measurement(COST, event.used.micro_usd / MICRO, attributes),
            ]
        case ToolFinished():
            metrics = [Measurement(TOOLS, 1, {names.OUTCOME: str(event.outcome), **attributes})]
        case RunFinished():
            metrics = [Measurement(ENDED, 1, {names.OUTCOME: str(event.outcome), **attributes})]
        case _:
            pass
    for fact in kind.views.tracing.facts(event):
        if isinstance(fact, Marked) and fact.rule:
            metrics.append(Measurement(DECISIONS, 1, {names.RULE: fact.rule, names.LEVEL: fact.level, **attributes}))
    return metrics + [item for span in spans for item in _span_measurements(span, attributes)]


_DURATIONS = {
    names.CHAT: names.INFERENCE_DURATION,
    names.EXECUTE_TOOL: names.TOOL_DURATION,
    names.INVOKE_AGENT: names.AGENT_DURATION,
}
_LABELS = (
    names.OPERATION,
    names.PROVIDER,
    names.REQUEST_MODEL,
    names.RESPONSE_MODEL,
    names.AGENT_NAME,
    names.TOOL_NAME,
    names.ERROR_TYPE,
)


def _span_measurements(span: Span, about: Mapping[str, str]) -> list[Measurement]:
    attributes = span.attributes
    duration = _DURATIONS.get(str(attributes.get(names.OPERATION, "")))
    if duration is None or any(link.relation == "child" for link in span.links):  # A child run counts itself.
        return []
    labels = {**{name: str(attributes[name]) for name in _LABELS if name in attributes}, **about}
    counts = {name: count for name, count in attributes.items() if isinstance(count, int)}
    used = {**labels, names.TOKEN_MODALITY: "text"}  # Every prompt and every reply is text.
    return [
        Measurement(duration, (span.end - span.start) / 1e9, labels),
        *[Measurement(name, counts[key], labels) for key, name in names.TOKENS_OF_CALL.items() if key in counts],
        *[Measurement(name, counts[key], used) for key, name in names.TOKENS_USED.items() if key in counts],
    ]


APPEND_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""The histogram bounds for the durations of appends to the journal, in seconds."""

APPEND = "replan.journal.append.duration"
LEASES = "replan.lease.losses"
QUESTION_AGE = "replan.questions.age"
QUEUE_AGE = "replan.queue.age"
RATE_HELD = "replan.rate_limit.held"
RATE_LEFT = "replan.rate_limit.left"
RATE_LIMIT = "replan.rate_limit.limit"
RUNS = "replan.runs"

_COUNTERS = {
    CALLS: ("{call}", "Model calls that are charged, and tries that failed."),
    TOKENS: ("{token}", "Tokens that are charged, input and output together."),
    COST: ("{USD}", "Charged US dollars."),
    DECISIONS: ("{decision}", "Decisions about failures, by the rule that was applied."),
    ENDED: ("{run}", "Ends of runs, by outcome."),
    TOOLS: ("{call}", "Calls of tools that ended, by outcome."),
    **dict.fromkeys(names.TOKENS_USED.values(), ("{token}", "Tokens, as the provider reports them.")),
}
_HISTOGRAMS = {
    names.INFERENCE_DURATION: ("s", "How long a call of a model took.", names.DURATION_BUCKETS),
    names.TOOL_DURATION: ("s", "How long a call of a tool took.", names.DURATION_BUCKETS),
    names.AGENT_DURATION: ("s", "How long a run took, including its waits.", names.AGENT_BUCKETS),
    **dict.fromkeys(names.TOKENS_OF_CALL.values(), ("{token}", "Tokens of a call.", names.TOKEN_BUCKETS)),
    APPEND: ("s", "How long an append to the journal took.", APPEND_BUCKETS),
}


class Metrics:
    """The metrics of this process. The SDK sends their values in its own thread."""

    def __init__(self, now: Callable[[], float], limits: Callable[[], Mapping[str, ServerLimits]] = dict) -> None:
        """Begin to measure. The SDK's exporter reads its settings from the environment.

        `now` is the journal's clock. `limits` returns the rate limits of servers. Its keys are a host and some digits
        of the hash of the API key.
        """
        quiet_sdk()
        self._now, self._tallies = now, tuple[Tally, ...]()
        self._read_limits, self._limits = limits, dict[str, ServerLimits]()
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(session=metrics_session()))
        views = [
            View(instrument_name=name, aggregation=ExplicitBucketHistogramAggregation(bounds))
            for name, (_, _, bounds) in _HISTOGRAMS.items()
        ]
        # Two processes count apart: a collector tells their streams apart by the instance.
        about = resource({"service.instance.id": str(uuid.uuid4())})
        self._provider = MeterProvider([reader], about, shutdown_on_exit=False, views=views)
        meter = self._provider.get_meter(names.SCOPE)
        self._counters = {name: meter.create_counter(name, *about) for name, about in _COUNTERS.items()}
        self._histograms = {
            name: meter.create_histogram(name, unit, text) for name, (unit, text, _) in _HISTOGRAMS.items()
        }
        self._leases = meter.create_counter(LEASES, "{lease}", "Runs that another driver took over from this process.")
        meter.create_observable_gauge(RUNS, [self._runs], "{run}", "Runs by kind and status.")
        meter.create_observable_gauge(QUEUE_AGE, [self._queue_age], "s", "How long a due run has waited for a driver.")
        meter.create_observable_gauge(RATE_LEFT, [self._rate_left], "1", "The unused part of a server's rate limit.")
        meter.create_observable_gauge(RATE_LIMIT, [self._rate_limit], "1", "A server's rate limit.")
        meter.create_observable_gauge(RATE_HELD, [self._rate_held], "s", "How long a server will refuse all calls.")
        meter.create_observable_gauge(
            QUESTION_AGE, [self._question_age], "s", "How long a run has waited for a person."
        )
        observe_measures(self._measure)

    def count(self, counted: Iterable[Measurement]) -> None:
        """Add measurements to the counters and histograms."""
        for item in counted:
            if item.instrument in self._counters:
                self._counters[item.instrument].add(item.value, {**item.attributes})
            else:
                self._histograms[item.instrument].record(item.value, {**item.attributes})

    def show(self, tallies: Sequence[Tally]) -> None:
        """Set the counts of runs that the gauges show. `tallies` is empty if another process shows them."""
        self._tallies = tuple(tallies)
        self._limits = {**self._read_limits()} if tallies else {}

    def close(self, seconds: float) -> None:
        """Send the remaining measurements within `seconds`, and stop measuring. Blocks the thread."""
        observe_measures(None)
        self._provider.shutdown(timeout_millis=seconds * 1000)

    def _measure(self, name: str, value: float) -> None:
        if name == APPEND_SECONDS:
            self._histograms[APPEND].record(value)
        elif name == LEASE_LOST:
            self._leases.add(value)

    def _runs(self, _: CallbackOptions) -> list[Observation]:
        return [
            Observation(tally.runs, {names.KIND: tally.kind, names.STATUS: tally.status}) for tally in self._tallies
        ]

    def _queue_age(self, _: CallbackOptions) -> list[Observation]:
        return self._age(tally.undriven_since for tally in self._tallies)

    def _question_age(self, _: CallbackOptions) -> list[Observation]:
        return self._age(tally.waiting_since for tally in self._tallies)

    def _rate_left(self, _: CallbackOptions) -> list[Observation]:
        return [Observation(max(0, window.remaining), about) for window, about in self._windows()]

    def _rate_limit(self, _: CallbackOptions) -> list[Observation]:
        return [Observation(window.limit, about) for window, about in self._windows()]

    def _rate_held(self, _: CallbackOptions) -> list[Observation]:
        return [
            Observation(max(0.0, limits.held_until - self._now()), _server_of(key))
            for key, limits in self._limits.items()
        ]

    def _windows(self) -> list[tuple[Window, dict[str, str]]]:
        return [
            (window, {**_server_of(key), names.LIMITED: what})
            for key, limits in self._limits.items()
            for what, window in limits.windows.items()
            if self._now() < window.resets_at
        ]

    def _age(self, times: Iterable[float | None]) -> list[Observation]:
        """Return the age of the earliest of `times` in seconds. Without any time, return 0, so that an alarm ends."""
        if not self._tallies:
            return []
        since = min((time for time in times if time is not None), default=None)
        return [Observation(0.0 if since is None else max(0.0, self._now() - since))]


def _server_of(key: str) -> dict[str, str]:
    host, _, digits = key.partition(" ")
    return {names.SERVER: host, names.KEY: digits}
