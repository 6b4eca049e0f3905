"""The argument that names a run, and `--last`, which names the newest one."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from replan.cli.completing import complete_run
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

F = TypeVar("F", bound=Callable[..., Any])


def run_argument(metavar: str = "RUN|--last", *, last: str = "The newest run.") -> Callable[[F], F]:
    """Return a decorator that adds the argument and `--last`, whose help is `last`."""

    def add(function: F) -> F:
        run = click.argument("run_id", metavar=metavar, shell_complete=complete_run, required=False)
        return run(click.option("--last", is_flag=True, help=last)(function))

    return add


def require_one_run(command: str, run: str | None, *, last: bool) -> None:
    """Check that a command names a run or has `--last`, and not both. Raises `UsageProblem`."""
    if last == (run is not None):
        cause = "both a run and --last are given" if last else "no run is named"
        raise UsageProblem(cause, place="RUN", hint=f"`{program()} {command} RUN` or `{program()} {command} --last`")
