"""Exports the journal to OpenTelemetry while a process works, or sends the remaining spans once."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import trio

from replan.runs.engine import Engine
from replan_server.telemetry.settings import TelemetrySettings, telemetry_settings
from runtime.core.errors import UsageProblem, root_cause
from runtime.core.extras import install_command
from runtime.logs import log

if TYPE_CHECKING:
    from replan_server.telemetry.exporter import Exporter, ExportReport
    from replan_server.telemetry.metrics import Metrics

FLUSH_SECONDS = 2.0
"""How many seconds a process that ends waits for the collector. The next process sends the spans that remain."""
AWAY_SECONDS = 0.5
"""How many seconds a process that ends waits for the collector, if the collector did not accept the last spans."""


def how_to_install() -> str:
    """Return the hint that says how to install the packages of the extra `otel`."""
    return f"install them: {install_command('server', 'otel')}"


@asynccontextmanager
async def run_exporter(engine: Engine, notice: Callable[[str], None]) -> AsyncIterator[None]:
    """Export the journal during a `with` block if environment variables turn the export on.

    `notice` is called with a line about each setting that cannot be used. Failures of the export do not affect the
    block. Only the end of the block waits for the collector, at most `FLUSH_SECONDS`.
    """
    settings = telemetry_settings(engine.environment)
    for problem in settings.problems:
        notice(f"telemetry: {problem}")
    if settings.wanted and not is_installed():
        notice(f"telemetry: OpenTelemetry is turned on, but its packages are not installed; {how_to_install()}")
        settings = TelemetrySettings()
    parts = None
    if settings.wanted:
        try:
            parts = _make(engine, settings)
        except Exception as error:  # noqa: BLE001 -- the SDK reads variables of its own, and no run may fail for one
            notice(f"telemetry: OpenTelemetry cannot be set up ({type(error).__name__}); nothing is exported")
            log.get_logger("telemetry").warning("setup.failed", exc_info=error)
    if parts is None:
        yield
        return
    exporter, metrics = parts
    stop = trio.Event()
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(exporter.run, stop)
            try:
                with log.trace_lines() if settings.traces else nullcontext():
                    yield
            finally:
                stop.set()
                nursery.cancel_scope.deadline = trio.current_time() + _flush_seconds(exporter)
    except BaseExceptionGroup as group:
        raise root_cause(group) from group
    finally:
        await _close(exporter, metrics)


async def export_once(engine: Engine, *, again: tuple[str, ...] = ()) -> "ExportReport":
    """Send the remaining spans, or all spans of the runs in `again`. Return the report.

    Raises `UsageProblem` if no environment variable turns traces on. Raises the errors of `Exporter.send_again`.
    """
    settings = telemetry_settings(engine.environment)
    problem = settings.problems[0] if settings.problems else "the export of traces is off"
    if not settings.traces:
        raise UsageProblem(problem, place="OTEL_EXPORTER_OTLP_ENDPOINT", hint="set it to your collector's address")
    if not is_installed():
        raise UsageProblem(
            "the packages of OpenTelemetry are not installed", place="replan telemetry", hint=how_to_install()
        )
    exporter, _ = _make(engine, TelemetrySettings(traces=True, content=settings.content))
    try:
        if again:
            await exporter.send_again(again)
        else:
            await exporter.export()
        return exporter.report
    finally:
        await _close(exporter, None)


def is_installed() -> bool:
    """Return whether the packages of the extra `otel` are installed."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.exporter") is not None


def _make(engine: Engine, settings: TelemetrySettings) -> "tuple[Exporter, Metrics | None]":
    from replan_server.telemetry.exporter import Exporter  # noqa: PLC0415 -- the SDK takes 0.3 s to import
    from replan_server.telemetry.metrics import Metrics  # noqa: PLC0415 -- as above

    metrics = Metrics(engine.journal.now, engine.servers.limits) if settings.metrics else None
    return Exporter(engine.journal, engine.kinds, settings, engine.environment, metrics=metrics), metrics


async def _close(exporter: "Exporter", metrics: "Metrics | None") -> None:
    with trio.CancelScope(shield=True):
        await exporter.leave()
        if metrics is not None:
            seconds = _flush_seconds(exporter)
            with trio.move_on_after(seconds * 2):
                await trio.to_thread.run_sync(partial(metrics.close, seconds), abandon_on_cancel=True)


def _flush_seconds(exporter: "Exporter") -> float:
    return AWAY_SECONDS if exporter.report.problem else FLUSH_SECONDS
