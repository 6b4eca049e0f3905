"""`worker`: drives the runs that a queue in the journal's database places on this process, until a signal."""

import trio

from replan.cli.exits import Exit
from replan.cli.health import watched
from replan.cli.home import opened
from replan.cli.host_notices import reporter, watch_signals
from replan.cli.options import Invocation
from replan.runs.hosting import host
from replan.setup.database import database_dispatcher
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from runtime.drive.options import Stop
from runtime.host.notices import Stopped


def work(invocation: Invocation, concurrency: int | None, health_port: int | None, *, as_json: bool) -> int:
    """Drive runs until a signal asks to stop. Return the exit code."""
    tune()
    return trio.run(_work, invocation, concurrency, health_port, as_json)


async def _work(invocation: Invocation, concurrency: int | None, health_port: int | None, as_json: bool) -> int:
    stop, report = Stop(handover=True), reporter(as_json=as_json)
    opening = database_dispatcher()
    async with opened(invocation, make=True, drives=True) as engine, opening as dispatcher:
        runs_max = concurrency or read_user_config(locate_home().config).host.runs_max
        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            heard = watched(engine, stop, report, health_port, nursery)
            await host(engine, runs_max=runs_max, stop=stop, report=heard, dispatcher=dispatcher)
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK
