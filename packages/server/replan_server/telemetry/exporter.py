"""Exports a journal to OpenTelemetry: sends the spans of new records, and then moves a cursor behind these records.

The exporter never changes a run. It reads the journal in its own task, and sends spans in a thread. So a collector that
is unreachable, slow or broken delays only the export. If the process dies before it moves the cursor, the next exporter
sends the same spans again. Only one process exports a journal at a time.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from replan.setup.kinds import Kinds
from replan_server.held_cursor import UNREADABLE, HeldCursor
from replan_server.telemetry.collector import Collector, SendOutcome
from replan_server.telemetry.metrics import Measurement, Metrics, measures_of
from replan_server.telemetry.settings import TelemetrySettings
from replan_server.telemetry.spans import Span, Trace, spans_of
from runtime.core.errors import JournalError
from runtime.journal.port import Behind, Journal
from runtime.logs import log
from runtime.logs.redact import Redactor, secrets_in

CURSOR = "telemetry"
BATCH_SPANS = 512
"""How many spans are sent in one batch. The specification of OpenTelemetry recommends this number."""
TRACES_KEPT = 256
"""The largest number of runs whose traces are kept in memory. To export new records of another run, the exporter reads
all records of that run again."""
YIELD_RECORDS = 50
"""How many records the exporter processes before other tasks get a turn."""
SEND_SECONDS_MAX = 30.0
"""The time limit in seconds for sending a batch of spans. A batch that was not sent in this time is sent again
later."""
PAUSE_SECONDS_MAX = 60.0
"""The longest pause in seconds before the next try, after the collector did not accept a batch."""
TALLY_SECONDS = 15.0
"""How many seconds pass between two counts of the runs with each status."""


@dataclass
class ExportBatch:
    """Spans that are sent together, and what follows when they are accepted: cursor positions and measurements."""

    spans: list[Span] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    measures: list[Measurement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an exporter has sent so far."""

    spans: int = 0
    """The number of spans that were accepted."""
    refused: int = 0
    """The number of spans that the collector refused. They are not sent again."""
    problem: str = ""
    """Why some spans could not be sent yet; empty if all spans were sent."""
    held: bool = True
    """Whether this process exports; False if another process exports."""


class Exporter:
    """Exports the traces and metrics of a journal."""

    def __init__(
        self,
        journal: Journal[Any],
        kinds: Kinds,
        settings: TelemetrySettings,
        environment: Mapping[str, str],
        *,
        metrics: Metrics | None = None,
    ) -> None:
        """Create an exporter. The SDK finds the collector's address in the environment variables of the process."""
        self._journal, self._kinds, self._settings, self._metrics = journal, kinds, settings, metrics
        self._redactor = Redactor(secrets_in(environment))
        self._collector = Collector(self._redactor) if settings.traces else None
        self._limiter = trio.CapacityLimiter(1)
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._pending: ExportBatch | None = None
        self._cursor = HeldCursor(journal, CURSOR, passed=frozenset({"finished"}), topic="telemetry")
        self._version, self._tallied = -1, -TALLY_SECONDS
        self._spans, self._refused, self._failures = 0, 0, 0

    @property
    def report(self) -> ExportReport:
        """What this exporter has sent so far."""
        problem = "" if self._pending is None or self._collector is None else self._collector.problem
        return ExportReport(self._spans, self._refused, problem, self._cursor.is_held)

    async def run(self, stop: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Export until `stop` is set, and once more after that. Failures are logged, not raised."""
        started = False
        while True:
            last = stop.is_set()
            self._tallied = -TALLY_SECONDS if last else self._tallied  # What is sent at the end is not old.
            try:
                if await self._cursor.hold() and not started:
                    started = True
                    task_status.started()
                await self.export()
            except Exception as error:  # noqa: BLE001 -- whatever fails here, no run may fail or wait for it
                self._fail(str(error) if isinstance(error, JournalError) else f"{type(error).__name__}", error)
            if not started:
                started = True
                task_status.started()
            if last:
                return
            with trio.move_on_after(self._pause()):
                await stop.wait()

    async def export(self) -> None:
        """Send all complete spans of new records. Stop when sending fails. Raises `JournalError`."""
        if not await self._cursor.hold():
            self._forget()
            return
        await self._count_runs()
        if self._pending is not None and not await self._send(self._pending):
            return
        version = await self._journal.version()
        if version == self._version:
            return
        batch = ExportBatch()
        async with aclosing(self._cursor.behind()) as rows:
            async for row in rows:
                if not await self._take(row, batch):
                    return
        if (batch.positions or batch.spans) and not await self._send(batch):
            return
        self._version = version

    async def send_again(self, runs: Sequence[str]) -> None:
        """Send all complete spans of the given `runs`, even if they were sent before. The cursor does not move.

        Raises `RunNotFound`, `KindUnknown`, `JournalDamaged`.
        """
        for run in runs:
            row = await self._journal.row(run)
            kind, records = self._kinds.get(run, row.kind, row.format), await self._journal.read(run)
            spans = spans_of(kind, records, content=self._settings.content)
            for start in range(0, len(spans), BATCH_SPANS):
                self._pending = ExportBatch(spans[start : start + BATCH_SPANS])
                if not await self._send_spans(self._pending):
                    return
                self._note(self._pending)

    async def leave(self) -> None:
        """Release the cursor, so that another process can export."""
        await self._cursor.leave()
        if self._collector is not None:
            self._collector.close()

    async def _take(self, row: Behind, batch: ExportBatch) -> bool:
        """Add the spans of a run's new records to the batch. If the batch is full, send it.

        Return False if sending fails.
        """
        try:
            trace, records = await self._read(row)
        except UNREADABLE as error:
            self._cursor.leave_out(row.run, error)
            return True
        kind = self._kinds.get(row.run, row.kind, row.format)
        for count, record in enumerate(records, 1):
            completed = trace.take(record)
            if record.seq > row.position:
                batch.spans += completed if self._collector is not None else []
                batch.measures += measures_of(kind, record, completed, by_child=trace.by_child(record.event))
                batch.positions[row.run] = record.seq
            if count % YIELD_RECORDS == 0:
                await trio.lowlevel.checkpoint()
            if len(batch.spans) >= BATCH_SPANS:
                full = ExportBatch(batch.spans, batch.positions, batch.measures)
                batch.spans, batch.positions, batch.measures = [], {}, []
                if not await self._send(full):
                    self._traces.pop(row.run, None)  # The rest of its records is read again.
                    return False
        return True

    async def _read(self, row: Behind) -> tuple[Trace, list[Any]]:
        """Return a run's trace, and the records that the trace does not contain yet.

        Raises the errors of `Journal.read`, and `UsageProblem`.
        """
        kind = self._kinds.get(row.run, row.kind, row.format)
        trace = self._traces.pop(row.run, None)
        if trace is None or trace.seq != row.position:  # Another process has exported in between.
            trace = Trace(kind, row.run, content=self._settings.content)
        records = await self._journal.read(row.run, trace.seq)
        self._traces[row.run] = trace
        while len(self._traces) > TRACES_KEPT:
            self._traces.popitem(last=False)
        return trace, records

    async def _send(self, batch: ExportBatch) -> bool:
        """Send a batch and move the cursor. Return False if the batch was not sent, or the cursor not moved.

        An unsent batch is kept for the next try.
        """
        self._pending = batch
        if not await self._send_spans(batch):
            return False
        if not await self._cursor.move(batch.positions):
            self._forget()
            return False
        self._note(batch)
        return True

    async def _send_spans(self, batch: ExportBatch) -> bool:
        """Send the spans of a batch in a thread. If the spans are not accepted, record the reason and return False."""
        sent = SendOutcome.TAKEN
        if batch.spans and self._collector is not None:
            sent = SendOutcome.FAILED
            with trio.move_on_after(SEND_SECONDS_MAX) as limit:
                send = partial(self._collector.send, batch.spans)
                sent = await trio.to_thread.run_sync(send, abandon_on_cancel=True, limiter=self._limiter)
            if limit.cancelled_caught:
                self._renew_collector()
        if sent is SendOutcome.FAILED:
            self._fail("" if self._collector is None else self._collector.problem)
        return sent is not SendOutcome.FAILED

    def _note(self, batch: ExportBatch) -> None:
        self._pending = None
        self._spans += len(batch.spans)
        if self._metrics is not None:
            self._metrics.count(batch.measures)
        if self._collector is not None and self._collector.rejected > self._refused:
            refused, self._refused = self._collector.rejected - self._refused, self._collector.rejected
            log.get_logger("telemetry").warning("spans.refused", count=refused)
        if self._failures:
            self._failures = 0
            log.get_logger("telemetry").info("export.goes_on")

    def _fail(self, problem: str, error: Exception | None = None) -> None:
        """Count a failure. Only the first of several failures in a row is logged."""
        self._failures += 1
        if self._failures == 1:
            unexpected = error if error is not None and not isinstance(error, JournalError) else None
            log.get_logger("telemetry").warning("export.failed", problem=problem, exc_info=unexpected)

    def _forget(self) -> None:
        """Discard the unsent batch, the traces and the counts of runs, because another process exports now."""
        self._version, self._pending = -1, None
        self._traces.clear()
        if self._metrics is not None:
            self._metrics.show(())

    def _renew_collector(self) -> None:
        """Open new connections to the collector, because a thread may still be waiting on the old connections."""
        counted = 0 if self._collector is None else self._collector.rejected
        self._collector, self._limiter = Collector(self._redactor), trio.CapacityLimiter(1)
        self._collector.problem, self._collector.refused = "the collector did not answer in time", counted

    def _pause(self) -> float:
        """Return the seconds until the next export. The pause is longer after several failures in a row."""
        delay = self._settings.delay_seconds
        return delay if not self._failures else min(PAUSE_SECONDS_MAX, delay * 2 ** min(self._failures - 1, 10))

    async def _count_runs(self) -> None:
        """Read the states of runs for the gauges, if `TALLY_SECONDS` have passed since the last time."""
        now = trio.current_time()
        if self._metrics is not None and now - self._tallied >= TALLY_SECONDS:
            self._tallied = now
            self._metrics.show(await self._journal.tally())
