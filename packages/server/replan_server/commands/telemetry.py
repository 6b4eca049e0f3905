"""`telemetry`: sends the traces that the OpenTelemetry collector has not accepted yet."""

from __future__ import annotations

import click

from replan.cli.completing import complete_run
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option, under

_TELEMETRY = examples(
    "replan telemetry",
    "replan telemetry k7m2x9qa",
    "replan telemetry --json",
)


@click.command(epilog=_TELEMETRY, short_help="Send traces that the OpenTelemetry collector has not accepted yet.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@json_option
@common
@click.pass_obj
@under("Operate")
def telemetry(invocation: Invocation, *, runs: tuple[str, ...], as_json: bool) -> int:
    """Send the spans that the collector has not accepted yet, or send all spans of the named runs again.

    Commands that drive runs export spans while they work, so this command is needed only if the collector was not
    reachable. Environment variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, name the collector. A span
    that is sent again is identical.
    """
    import trio

    return trio.run(_export, invocation, runs, as_json)


async def _export(invocation: Invocation, runs: tuple[str, ...], as_json: bool) -> int:
    from actors.values.format import format_count
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_named
    from replan.cli.terminal.console import notice, print_json
    from replan_server.telemetry.running import export_once

    async with open_engine(invocation) as engine:
        names = tuple([await resolve_named(engine, run) for run in runs])
        report = await export_once(engine, again=names)
    if as_json:
        print_json({"spans": report.spans, "refused": report.refused, "problem": report.problem, "held": report.held})
    if not report.held and not names:
        notice("another process is exporting the spans of this home; it will send the rest")
        return Exit.NOT_FOUND
    notice(f"{format_count(report.spans, 'span')} sent")
    if report.refused:
        notice(f"the collector refused {format_count(report.refused, 'span')}; they will not be sent again")
    if report.problem:
        notice(f"the collector does not accept the other spans: {report.problem}; nothing is lost: try again later")
        return Exit.PROVIDER
    return Exit.OK
