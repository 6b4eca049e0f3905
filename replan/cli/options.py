"""Options that several commands share, and their parsed values."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Invocation:
    """The options with which the program was called. Every command gets this object."""

    verbose: int = 0
    log_json: bool = False
    debug: bool = False
    command: str = ""
    """The name of the command, guessed before the command line is parsed; empty if unknown."""
    json: bool = False
    """Whether `--json` or `--jsonl` was given. If so, errors are also printed on stdout as JSON."""
    run: str = ""
    """The run whose result the command prints; empty if there is none. If writing to stdout fails, the message names
    this run.
    """
    full: bool = False
    """Whether `--full` was given. If so, a result shows what each step of its plan needs, makes and does on failure."""
    quiet: bool = False
    """Whether `--quiet` was given. If so, the progress of a run is not shown."""
    done_at_once: bool = False
    """Whether the command has read the home without an event loop. If so, the process exits without freeing its
    objects.
    """
    plugins: tuple[str, ...] = ()
    no_input: bool = False
    grace: float | None = None
    """How long parking waits for replies in flight, in seconds; None waits until the time limits of the calls."""
    tenant: str = ""
    priority: int = 0


def store_value(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return a callback for an option. It stores the option's value in the `Invocation` if the user gave the option."""

    def store(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        invocation = ctx.find_object(Invocation)
        if invocation is not None and (value or isinstance(value, float)):  # `--grace 0` is a value.
            setattr(invocation, name, value)

    return store


def common(function: F) -> F:
    """Add the options that every command has. They may be written before or after the name of the command."""
    for option in (
        click.option(
            "--debug", is_flag=True, expose_value=False, callback=store_value("debug"), help="Show tracebacks."
        ),
        click.option(
            "--log-json",
            is_flag=True,
            expose_value=False,
            callback=store_value("log_json"),
            help="Log to stderr, as JSON lines.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            expose_value=False,
            callback=store_value("verbose"),
            help="Log to stderr; -vv logs more.",
        ),
    ):
        function = option(function)
    return function


class LongCommand(click.Command):
    """A command with many options. `--help` shows the common options, and `--help-all` all options."""

    def __init__(self, *args: Any, brief: str, **extra: Any) -> None:
        """Store the parameters that `--help` shows. `brief` has their names, separated by spaces."""
        super().__init__(*args, **extra)
        self._brief = {*brief.split(), "help_all"}
        self._shows_all = False
        everything = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=self._show_all,
            help="Show all options.",
        )
        self.params.append(everything)

    def _show_all(self, ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            self._shows_all = True
            click.echo(ctx.get_help(), color=ctx.color)
            self._shows_all = False
            ctx.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: all of them for `--help-all`, otherwise the common ones."""
        shown = [
            param
            for param in self.get_params(ctx)
            if self._shows_all or param.name in self._brief or param not in self.params  # `--help` is the last one.
        ]
        with formatter.section("Options"):
            formatter.write_dl([record for param in shown if (record := param.get_help_record(ctx))])


def under(heading: str) -> Callable[[F], F]:
    """Return a decorator for a command of an installed distribution.

    `replan help more` lists the command under `heading`.
    """

    def name_heading(function: F) -> F:
        vars(function)["heading"] = heading
        return function

    return name_heading


def json_option(function: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def keep_workspace_option(function: F) -> F:
    """Add `--keep-workspace`."""
    shown = "Keep the folders that were made for forks."
    return click.option("--keep-workspace", is_flag=True, help=shown)(function)


LEVELS = click.Choice(["minimal", "medium", "expansive"])


def assurance_option(function: F) -> F:
    """Add `--assurance`."""
    return click.option(
        "--assurance",
        type=click.Choice(["strong", "strong_cyclic", "weak"]),
        help="The assurance that --level expansive requires; default: strong_cyclic.",
    )(function)


def report_format_option(function: F) -> F:
    """Add `--format`, which chooses the format of reports on plans."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json", "jsonl", "github", "sarif", "junit"]),
        default="text",
        show_default=True,
        help="The report's format; github prints annotations for GitHub Actions, junit prints JUnit XML.",
    )(function)


def full_option(function: F) -> F:
    """Add `--full`."""
    return click.option(
        "--full",
        is_flag=True,
        expose_value=False,
        callback=store_value("full"),
        help="Show what each step needs and makes, and what follows its failure. The progress shows ids and rules.",
    )(function)


def plugins_option(function: F) -> F:
    """Add `--plugins`."""
    return click.option(
        "--plugins",
        multiple=True,
        metavar="FILE.py",
        expose_value=False,
        callback=store_value("plugins"),
        help="Load your guards and generators from this file; may be given several times.",
    )(function)


def health_option(function: F) -> F:
    """Add `--health-port`."""
    return click.option(
        "--health-port",
        type=click.IntRange(1, 65535),
        metavar="N",
        help="Answer health checks (/livez and /readyz) on this port, only for this machine.",
    )(function)


def fair_option(function: F) -> F:
    """Add `--fair`."""
    return click.option(
        "--fair", is_flag=True, help="Let runs that share a budget take turns: the run with the fewest calls is next."
    )(function)


class Duration(click.ParamType[float]):
    """The type of options for a length of time, such as `90s`, `15m`, `2h` or `1d`. Values are seconds."""

    name = "duration"

    def __init__(self, *, plain: bool = False) -> None:
        """Set whether a number without a unit is accepted as seconds (`plain`)."""
        self._plain = plain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of seconds. Any other text ends the command with a usage error."""
        if isinstance(value, float):
            return value
        with suppress(ValueError):
            if self._plain:
                return float(value)
        from actors.run.limits import seconds_of

        try:
            return float(str(seconds_of(str(value))))
        except ValueError as wrong:
            self.fail(str(wrong), param, ctx)


def examples(*lines: str) -> str:
    """Return an epilog with examples. Click does not wrap its lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
