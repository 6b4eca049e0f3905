"""The options that several commands share to start or drive a run.

The options of limits are made from the table `LIMITS`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from actors.config.model_spec import GRAMMAR
from actors.run.limits import LIMITS, LimitSpec, flag
from replan.cli.completing import complete_search, complete_workflow
from replan.cli.options import Duration, common, full_option, plugins_option, store_value
from runtime.core.errors import UsageProblem

F = TypeVar("F", bound=Callable[..., Any])

_OPTION_OF_KEYWORD = {
    name: flag(name)
    for name in (
        *("workflow", "search", "model", "strict", "approve", "level", "r_max", "docs", "goal", "holds", "tools"),
        *LIMITS,
    )
} | {"given": "--set"}
"""A mapping from a Python keyword to the option on the command line. An error in the preparation of a run may have the
keyword as its `place`."""


@contextmanager
def name_options(**others: str) -> Iterator[None]:
    """In each `UsageProblem` of the block, replace a `place` that is a Python keyword by the name of the option.

    `others` maps further keywords to options.
    """
    try:
        yield
    except UsageProblem as wrong:
        place = (_OPTION_OF_KEYWORD | others).get(wrong.place, wrong.place)
        raise UsageProblem(wrong.cause, place=place, hint=wrong.hint) from None


def is_given(name: str) -> bool:
    """Return whether the user has given this option of the current command."""
    return click.get_current_context().get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def driving_options(function: F) -> F:
    """Add the options of commands that drive a run in the foreground, and the options of all commands."""
    options: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
        (
            ("--grace",),
            "After Ctrl-C, wait at most S seconds for work in flight.",
            {"type": click.FloatRange(min=0), "metavar": "S"},
        ),
        (("--no-input",), "Ask nothing: a run that needs an answer waits (exit 6).", {"is_flag": True}),
        (("-q", "--quiet"), "Show only notices and errors, no progress.", {"is_flag": True}),
        (("--json",), "Print one JSON object.", {"is_flag": True}),
    )
    function = common(function)
    for names, text, more in reversed(options):
        store = store_value(names[-1].strip("-").replace("-", "_"))
        function = click.option(*names, expose_value=False, callback=store, help=text, **more)(function)
    return plugins_option(full_option(function))


def model_option(function: F) -> F:
    """Add `--model`."""
    return click.option("-m", "--model", help=f"{GRAMMAR}; default: REPLAN_MODEL, else the `model` of config.yaml.")(
        function
    )


def planning_options(function: F) -> F:
    """Add the options of commands that plan a problem: its files, the workflow and its search."""
    for option in (
        click.option(
            "--repo",
            "repository",
            metavar="DIR",
            help="Attach a list of this folder's files, and files that the text names.",
        ),
        click.option(
            "--attach",
            "files",
            multiple=True,
            metavar="FILE",
            help="Attach this text file; may be given several times.",
        ),
        click.option("--strict", is_flag=True, help="Reject a plan that does not cover every demand of the text."),
        click.option(
            "--search",
            shell_complete=complete_search,
            help="The search, which chooses the next attempt, such as depth_first or beam:4.",
        ),
        click.option(
            "-w",
            "--workflow",
            default="search",
            shell_complete=complete_workflow,
            show_default=True,
            help="The workflow: a shipped name or a file.",
        ),
    ):
        function = option(function)
    return function


def tools_options(function: F) -> F:
    """Add the options of commands that execute a plan: the tools file, the workspace and the approval."""
    for option in (
        click.option(
            "--approve",
            type=click.Choice(["each", "risky", "none"]),
            default="risky",
            show_default=True,
            help="Which tool calls wait for your approval.",
        ),
        workspace_option,
    ):
        function = option(function)
    return tools_file_option(function)


def workspace_option(function: F) -> F:
    """Add `--workspace`."""
    help_text = "The folder that the tools work in; default: the current one."
    return click.option("--workspace", metavar="DIR", help=help_text)(function)


def tools_file_option(function: F) -> F:
    """Add `--tools`."""
    help_text = "The tools file; default: tools.yaml in the home."
    return click.option("--tools", metavar="FILE", help=help_text)(function)


def goal_options(function: F) -> F:
    """Add `--goal` and `--holds`."""
    for option in (
        click.option(
            "--holds", multiple=True, metavar="TOKENS", help="With --goal: tokens that hold at the beginning."
        ),
        click.option(
            "--goal",
            multiple=True,
            metavar="TOKENS",
            help="Plan for comma-separated TOKENS, not a PROBLEM, from the steps that tools declare; call no model.",
        ),
    ):
        function = option(function)
    return function


def detach_option(function: F) -> F:
    """Add `--detach`."""
    return click.option("--detach", is_flag=True, help="Let a host drive the run, and return at once.")(function)


def placement_options(function: F) -> F:
    """Add `--tenant` and `--priority`."""
    priority = click.option(
        "--priority",
        type=click.IntRange(-100, 100),
        metavar="N",
        expose_value=False,
        callback=store_value("priority"),
        help="A busy host drives runs with a higher priority first; default: 0.",
    )
    tenant = click.option(
        "--tenant",
        metavar="NAME",
        expose_value=False,
        callback=store_value("tenant"),
        help="Charge the run to this team or customer; `tenants` in the config file sets its limits.",
    )
    return tenant(priority(function))


def limit_options(function: F) -> F:
    """Add an option for each limit to a command.

    `actors.run.limits.split_limits` separates the limits from other values.
    """
    for name, spec in reversed(list(LIMITS.items())):
        function = click.option(flag(name), help=spec.help, **_form(spec))(function)
    return function


def _form(spec: LimitSpec) -> dict[str, Any]:
    match spec.unit:
        case "switch":
            return {"is_flag": True}
        case "count":
            return {"type": int, "metavar": "N"}
        case "time":
            return {"type": Duration(plain=spec.plain)}
        case "dollars":
            return {"type": float, "metavar": "USD"}
        case "chance":
            return {"type": float, "metavar": "P"}
        case "choice":
            return {"type": click.Choice(spec.choices)}
        case "settings":
            return {"multiple": True, "metavar": "NAME=VALUE"}


def check_one_named(what: str, name: str | None, example: str | None, hint: str) -> None:
    """Raise `UsageProblem` unless exactly one of `name` and `example` is given. `what` is the noun for `name`."""
    if (name is None) == (example is None):
        cause = f"no {what} is named" if name is None else f"both a {what} and --example are given"
        raise UsageProblem(cause, place=what.upper(), hint=hint)


def set_option(function: F) -> F:
    """Add `--set`. Its values become the keyword `given`."""
    shown = "Set the field at PATH to VALUE; may be given several times."
    return click.option("--set", "given", multiple=True, metavar="PATH=VALUE", help=shown)(function)


def parse_assignments(assignments: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set PATH=VALUE`, by path.

    Raises `UsageProblem` for a missing value or a repeated path.
    """
    given: dict[str, str] = {}
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            raise UsageProblem(
                f"{assignment!r} sets no value", place="--set", hint="write PATH=VALUE, such as core.currency=EUR"
            )
        if path.strip() in given:
            raise UsageProblem(f"{path.strip()!r} is given twice", place="--set", hint="leave one out")
        given[path.strip()] = value.strip()
    return given
