"""The options, arguments and help of `worker`."""

import click

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
    from replan.cli.commands.worker import work

    return work(invocation, concurrency, health_port, as_json=as_json)
