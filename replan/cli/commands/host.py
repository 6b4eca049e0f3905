"""`host`: serves a home, prints a line for each notice, and stops on a signal."""

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, health_option, plugins_option


@click.command(epilog=examples("replan host", "replan host --json | jq -r 'select(.event == \"waiting\").question'"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@health_option
@plugins_option
@common
@click.pass_obj
def host(invocation: Invocation, *, health_port: int | None, as_json: bool) -> int:
    """Serve the home: drive all of its runs that nobody drives, and those that `replan run` hands over.

    Prints a line for each thing that happens. A run that waits for an answer costs nothing; `replan answer` wakes it.
    Ctrl-C or SIGTERM parks all runs, with at most 10 s for replies in flight, and the next host goes on with them; the
    second one waits for nothing.
    """
    import trio

    from replan.setup.gc_tuning import tune

    tune()
    return trio.run(_serve, invocation, health_port, as_json)


async def _serve(invocation: Invocation, health_port: int | None, as_json: bool) -> int:
    import trio

    from replan.cli.health import watched
    from replan.cli.home import opened
    from replan.cli.host_notices import reporter, watch_signals
    from replan.runs.hosting import host
    from replan.setup.home_folder import locate_home
    from replan.setup.settings import read_user_config
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped

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
