"""`telemetry`: exports the spans that are left over, or those of some runs again."""

import os

import trio

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.reading import run_named
from replan.cli.terminal.console import notice, print_json
from replan.telemetry.running import export_once


def export_left(invocation: Invocation, runs: tuple[str, ...], *, as_json: bool) -> int:
    """Export, and say how many spans the collector has taken. Return the exit code."""
    return trio.run(_export, invocation, runs, as_json)


async def _export(invocation: Invocation, runs: tuple[str, ...], as_json: bool) -> int:
    async with opened(invocation) as engine:
        names = tuple([await run_named(engine, run) for run in runs])
        report = await export_once(engine, os.environ, again=names)
    if as_json:
        print_json({"spans": report.spans, "refused": report.refused, "problem": report.problem, "held": report.held})
    if not report.held and not names:
        notice("another process exports this home now; it sends what is left")
        return Exit.NOT_FOUND
    notice(f"{counted(report.spans, 'span')} sent")
    if report.refused:
        notice(f"{counted(report.refused, 'span')} refused by the collector, and left out")
    if report.problem:
        notice(f"the collector does not take the rest: {report.problem}; nothing is lost: send it later")
        return Exit.PROVIDER
    return Exit.OK
