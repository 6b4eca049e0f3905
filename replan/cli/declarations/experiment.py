"""The options, arguments and help of `experiment`."""

from pathlib import Path

import click

from replan.cli.options import Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem

_EXPERIMENT = examples(
    "replan experiment configs/experiments/quick.yaml",
    "replan experiment mine.yaml --out results/mine --json | jq '.arms[] | {arm, success}'",
    "replan experiment --calibrate curves/",
)


@click.command(epilog=_EXPERIMENT)
@click.argument("file", metavar="FILE", required=False)
@click.option("--out", metavar="FOLDER", help="Where results and report go; default: experiments/NAME.")
@click.option("--jobs", type=click.IntRange(min=1, max=256), help="Processes for simulated trials; default: the cores.")
@click.option("--skip-broken", is_flag=True, help="Leave out problems that cannot be read, and say which.")
@click.option("--calibrate", metavar="FOLDER", help="Compare the simulated author with recorded curves.")
@json_option
@common
@click.pass_obj
def experiment(
    invocation: Invocation,  # noqa: ARG001 -- every command has it
    file: str | None,
    *,
    out: str | None,
    jobs: int | None,
    skip_broken: bool,
    calibrate: str | None,
    as_json: bool,
) -> int:
    """Run the experiment in a FILE, and write tables, plots and an HTML report.

    What the folder holds already is not run again: after an interruption the same command goes on, and ends with the
    same bytes. Exit 5: the experiment's own budget was spent first.
    """
    from replan.cli.commands.experiment import print_calibration, run_experiment

    if (file is None) == (calibrate is None):
        cause = "no experiment is named" if file is None else "both an experiment and --calibrate are given"
        raise UsageProblem(cause, place="FILE", hint="`replan experiment FILE`, or --calibrate FOLDER alone")
    if calibrate is not None:
        return print_calibration(Path(calibrate), as_json=as_json)
    assert file is not None
    folder = None if out is None else Path(out)
    return run_experiment(Path(file), folder, jobs, skip_broken=skip_broken, as_json=as_json)
