"""`host`: serves a home, prints a line for each notice, and stops on a signal."""

import trio

from replan.cli.exits import Exit
from replan.cli.health import watched
from replan.cli.home import opened
from replan.cli.host_notices import reporter, watch_signals
from replan.cli.options import Invocation
from replan.runs.hosting import host
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from runtime.drive.options import Stop
from runtime.host.notices import Stopped


def serve(invocation: Invocation, health_port: int | None, *, as_json: bool) -> int:
    """Serve the home until a signal asks to stop. Return the exit code."""
    tune()
    return trio.run(_serve, invocation, health_port, as_json)


async def _serve(invocation: Invocation, health_port: int | None, as_json: bool) -> int:
    stop, report = Stop(handover=True), reporter(as_json=as_json)
    async with opened(invocation, make=True, drives=True) as engine:
        runs_max = read_user_config(locate_home().config).host.runs_max
        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            heard = watched(engine, stop, report, health_port, nursery)
            await host(engine, runs_max=runs_max, stop=stop, report=heard)
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK
