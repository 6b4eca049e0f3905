"""The options that limit a run, made from the table of limits."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from actors.run.limits import LIMITS, LimitSpec, flag
from replan.cli.options import Duration

F = TypeVar("F", bound=Callable[..., Any])


def limit_options(function: F) -> F:
    """Add an option for each limit to a command; `actors.run.limits.split_limits` takes their values out."""
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
