"""The options, arguments and help of `telemetry`."""

import click

from replan.cli.completing import complete_run
from replan.cli.options import Invocation, common, examples, json_option

_TELEMETRY = examples(
    "replan telemetry",
    "replan telemetry k7m2x9qa",
    "replan telemetry --json",
)


@click.command(epilog=_TELEMETRY, short_help="Export traces to OpenTelemetry that are left over.")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@json_option
@common
@click.pass_obj
def telemetry(invocation: Invocation, *, runs: tuple[str, ...], as_json: bool) -> int:
    """Send the spans that the collector has not taken yet, such as after it was away; or all spans of some runs again.

    Commands that drive runs export by themselves while they work. The collector is named by OpenTelemetry's own
    variables, such as OTEL_EXPORTER_OTLP_ENDPOINT. A span that is sent again is the same one, byte for byte.
    """
    from replan.cli.commands.telemetry import export_left

    return export_left(invocation, runs, as_json=as_json)
