"""The command `host`: drives all runs of a home in one process."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, fair_option, health_option, plugins_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from runtime.host.wakeup import Dispatcher


@click.command(epilog=examples("replan host", "replan host --json | jq -r 'select(.event == \"waiting\").question'"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@fair_option
@health_option
@plugins_option
@common
@click.pass_obj
def host(invocation: Invocation, *, fair: bool, health_port: int | None, as_json: bool) -> int:
    """Serve the home: drive all its runs that no other process drives, including new runs from `replan run`.

    Prints a line for each event. A run that waits for an answer costs nothing; `replan answer` wakes it. Ctrl-C or
    SIGTERM parks all runs, with at most 10 s for replies in flight. The next host resumes them. A second Ctrl-C exits
    at once.
    """
    import trio

    from replan.setup.installation import tune

    tune()
    return trio.run(partial(drive, invocation, health_port, as_json, fair=fair))


async def drive(
    invocation: Invocation,
    health_port: int | None,
    as_json: bool,
    concurrency: int | None = None,
    opening: AbstractAsyncContextManager[Dispatcher] | None = None,
    *,
    fair: bool = False,
) -> int:
    """Drive runs until a signal arrives, and return the exit code.

    `concurrency` is the largest number of runs to drive at once; None means `runs_max` of the config file. `opening`
    opens the dispatcher that assigns runs to this process. Without a dispatcher, all runs that no other process drives
    are driven. With `fair`, the runs take turns with their model calls.
    """
    import trio

    from replan.cli.home import open_engine
    from replan.cli.host_notices import reporter, watch_signals
    from replan.runs.hosting import host, let_take_turns
    from replan.runs.services import SERVICES
    from runtime.core.extras import how_to_install
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped
    from runtime.models.open_models import load_clients

    if health_port is not None and SERVICES.find("health") is None:
        hint = how_to_install("services", "health")
        raise UsageProblem("health checks need a package that is not installed", place="--health-port", hint=hint)
    stop, report = Stop(handover=True), reporter(as_json=as_json)
    async with open_engine(invocation, make=True, drives=True) as engine, opening or nullcontext() as dispatcher:
        driving = let_take_turns(engine) if fair else engine
        runs_max = concurrency or engine.config.host.runs_max
        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, stop, report)
            if dispatcher is not None:  # The runs that it takes over from a dead worker should not wait for imports.
                await trio.to_thread.run_sync(load_clients, engine.environment)
            await host(
                driving, runs_max=runs_max, stop=stop, report=report, dispatcher=dispatcher, health_port=health_port
            )
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK
