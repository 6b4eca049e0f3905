"""The options that limit a run which is started or executed: calls, tokens, money and time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from replan.cli.options import Duration

if TYPE_CHECKING:
    from actors.planning.prepare import RunOptions

F = TypeVar("F", bound=Callable[..., Any])

_NAMES = {
    "max_calls": "max_calls",
    "max_tokens": "max_tokens",
    "max_cost": "max_cost_usd",
    "deadline": "deadline_seconds",
    "active_time": "active_seconds",
    "patience": "patience_seconds",
    "keep_trying": "keep_trying",
    "output_tokens": "output_tokens",
    "timeout": "timeout_seconds",
}
"""The parameters of the options, by the field of `RunOptions` that each one sets."""


def limit_options(function: F) -> F:
    """Add `--max-calls`, `--max-tokens`, `--max-cost`, `--deadline` and the others to a command."""
    for option in reversed(
        (
            click.option("--max-calls", type=int, metavar="N", help="Model calls at most, those of replans included."),
            click.option("--max-tokens", type=int, metavar="N", help="Tokens at most, input and output together."),
            click.option(
                "--max-cost", type=float, metavar="USD", help="Dollars at most; the model's price must be known."
            ),
            click.option("--deadline", type=Duration(), help="End the run after 30s, 15m, 2h, 1d."),
            click.option(
                "--active-time", type=Duration(), help="Limit how long models, tools and guards work, without waiting."
            ),
            click.option(
                "--patience", type=Duration(), help="Wait at most this long for a provider that is down; default 10m."
            ),
            click.option("--output-tokens", type=int, metavar="N", help="Tokens of one reply at most."),
            click.option("--timeout", type=float, metavar="S", help="Seconds that one model call may take."),
        )
    ):
        function = option(function)
    return function


def keep_trying_option(function: F) -> F:
    """Add `--keep-trying` to a command whose runs plan."""
    option = click.option(
        "--keep-trying",
        is_flag=True,
        help="Plan on where no move is worth its calls, or the model repeats itself.",
    )
    return option(function)


def run_options(values: dict[str, Any], **others: Any) -> "RunOptions":
    """Take the values of these options out of a command's parameters, and return them, with other fields."""
    from actors.planning.prepare import RunOptions

    return RunOptions(**limits_of(values), **others)


def limits_of(values: dict[str, Any]) -> dict[str, Any]:
    """Take the values of these options out of a command's parameters, and return them by the names that fields have."""
    return {field: values.pop(name) for name, field in _NAMES.items() if name in values}
