"""Options that several commands share, and the values that they are parsed into."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from actors.run.limits import LIMITS, flag, seconds_of
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Invocation:
    """The settings of one call of the program, whatever the command."""

    verbose: int = 0
    """How often `-v` was given."""
    log_json: bool = False
    """Whether logs go to stderr as JSON lines."""
    debug: bool = False
    """Whether tracebacks are shown."""
    json: bool = False
    """Whether a program reads stdout, so that an error is printed there too, as JSON."""
    run: str = ""
    """The run whose result the command is about to print; empty for none. Named in the error if stdout fails."""
    full: bool = False
    """Whether `--full` was given: a result shows what each step of its plan needs, makes and does when it fails."""
    quiet: bool = False
    """Whether `--quiet` was given: the progress of a run is not shown."""
    done_at_once: bool = False
    """Whether the command has only read the home, without an event loop: nothing is left to be ended."""
    plugins: tuple[str, ...] = ()
    """The files of plug-ins that `--plugins` names."""
    tenant: str = ""
    """Whom a new run is accounted to, as `--tenant` names it; empty for nobody."""
    priority: int = 0
    """The priority of a new run."""


_OF_KEYWORDS = {
    name: flag(name) for name in ("workflow", "search", "model", "strict", "approve", "level", "r_max", "docs", *LIMITS)
} | {"given": "--set"}
"""The options of the command line by their names in Python, which the errors of preparing a run use."""


@contextmanager
def naming_options(**others: str) -> Iterator[None]:
    """Name the option, in place of the keyword, in a `UsageProblem` of a block; `others` are more names."""
    try:
        yield
    except UsageProblem as wrong:
        place = (_OF_KEYWORDS | others).get(wrong.place, wrong.place)
        raise UsageProblem(wrong.cause, place=place, hint=wrong.hint) from None


def _store(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def store(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        invocation = ctx.find_object(Invocation)
        if value and invocation is not None:
            setattr(invocation, name, value)

    return store


def common(function: F) -> F:
    """Add the options that every command has, before and after its name."""
    for option in (
        click.option("--debug", is_flag=True, expose_value=False, callback=_store("debug"), help="Show tracebacks."),
        click.option(
            "--log-json",
            is_flag=True,
            expose_value=False,
            callback=_store("log_json"),
            help="Log to stderr, as JSON lines.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            expose_value=False,
            callback=_store("verbose"),
            help="Log to stderr; twice for more.",
        ),
    ):
        function = option(function)
    return function


def json_option(function: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def full_option(function: F) -> F:
    """Add `--full`."""
    return click.option(
        "--full",
        is_flag=True,
        expose_value=False,
        callback=_store("full"),
        help="Show what each step of the plan needs, makes and does when it fails.",
    )(function)


def quiet_option(function: F) -> F:
    """Add `--quiet`."""
    return click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_store("quiet"),
        help="Show no progress; notices and errors stay.",
    )(function)


def plugins_option(function: F) -> F:
    """Add `--plugins`."""
    return click.option(
        "--plugins",
        multiple=True,
        metavar="FILE.py",
        expose_value=False,
        callback=_store("plugins"),
        help="Guards and generators of your own; may be given several times.",
    )(function)


def placement_options(function: F) -> F:
    """Add `--tenant` and `--priority`."""
    priority = click.option(
        "--priority",
        type=click.IntRange(-100, 100),
        metavar="N",
        expose_value=False,
        callback=_store("priority"),
        help="Where hosts have too much to do, higher ones come first; default 0.",
    )
    tenant = click.option(
        "--tenant",
        metavar="NAME",
        expose_value=False,
        callback=_store("tenant"),
        help="The team or customer that the run is accounted to; `tenants` of the config file limits each.",
    )
    return tenant(priority(function))


def health_option(function: F) -> F:
    """Add `--health-port`."""
    return click.option(
        "--health-port",
        type=click.IntRange(1, 65535),
        metavar="N",
        help="Answer /livez and /readyz on this port, for this machine only.",
    )(function)


def no_input_option(function: F) -> F:
    """Add `--no-input`."""
    return click.option("--no-input", is_flag=True, help="Never ask: a run that needs an answer waits (exit 6).")(
        function
    )


def require_one_run(command: str, run: str | None, *, last: bool) -> None:
    """Check that a command names a run or has `--last`, and not both. Raises `UsageProblem`."""
    if last == (run is not None):
        cause = "both a run and --last are given" if last else "no run is named"
        raise UsageProblem(cause, place="RUN", hint=f"`{program()} {command} RUN` or `{program()} {command} --last`")


class Duration(click.ParamType[float]):
    """A length of time such as `90s`, `15m`, `2h` or `1d`, read into seconds."""

    name = "duration"

    def __init__(self, *, plain: bool = False) -> None:
        """Take whether a plain number of seconds is a length of time, too."""
        self._plain = plain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        with suppress(ValueError):
            if self._plain:
                return float(value)
        try:
            return float(str(seconds_of(str(value))))
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


class Size(click.ParamType[int]):
    """A number of bytes such as `500MB`, `2GB` or `1.5GiB`."""

    name = "size"
    _UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes."""
        if isinstance(value, int):
            return value
        matched = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([KMGT]B|[KMG]iB)", str(value).strip())
        if matched is None:
            self.fail(f"{value!r} is not a size such as 500MB or 2GiB", param, ctx)
        return int(float(matched[1]) * self._UNITS[matched[2]])


def examples(*lines: str) -> str:
    """Return an epilog of examples that click leaves as it is."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
