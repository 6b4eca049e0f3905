"""`worker`: drives the runs that a queue in the journal's database places on this process, until a signal."""

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, health_option, plugins_option


@click.command(epilog=examples("replan worker --concurrency 50", "replan worker --json | jq -r .event"))
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="The most runs that this worker drives at once; by default `runs_max` of the config file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@health_option
@plugins_option
@common
@click.pass_obj
def worker(invocation: Invocation, *, concurrency: int | None, health_port: int | None, as_json: bool) -> int:
    """Drive runs of a journal in Postgres (REPLAN_JOURNAL), beside other workers on any number of machines.

    A queue in the same database places runs on the workers that have room. It holds only hints: what is to be done is
    in the journal, and a run of a worker that has died goes on with another one within seconds.

    Prints a line for each thing that happens. Ctrl-C or SIGTERM hands all runs over, with at most 30 s for replies in
    flight; the second one waits for nothing.
    """
    import trio

    from replan.setup.gc_tuning import tune

    tune()
    return trio.run(_work, invocation, concurrency, health_port, as_json)


async def _work(invocation: Invocation, concurrency: int | None, health_port: int | None, as_json: bool) -> int:
    import trio

    from replan.cli.health import watched
    from replan.cli.home import opened
    from replan.cli.host_notices import reporter, watch_signals
    from replan.runs.hosting import host
    from replan.setup.database import database_dispatcher
    from replan.setup.home_folder import locate_home
    from replan.setup.settings import read_user_config
    from runtime.drive.options import Stop
    from runtime.host.notices import Stopped

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
