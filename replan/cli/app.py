"""The program's top command group: its help, the messages for a wrong command line, and the exit codes of errors."""

import contextlib
import errno
import io
import json
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import click

from replan.cli.command_table import (
    COMMAND_PLUGINS,
    DAILY,
    ELSEWHERE,
    CommandGroup,
    command_for,
    hint_for_problem,
    misplaced_option,
    rows_below,
    write_sections,
)
from replan.cli.exits import Exit, exit_of_error
from replan.cli.options import Invocation, common
from replan.cli.terminal.width import width_of
from replan.setup.installation import NAME, program, release
from replan.views.errors import error_object, line_of_crash, line_of_error, shorten
from runtime.core.errors import ReplanError, UsageProblem, root_cause

HELP_WIDTH_MIN = 52
"""The smallest width of a terminal, in columns, at which help texts have click's own layout. On narrower terminals,
they have a narrow layout."""
TERM_WIDTH_MIN = 8
"""The smallest width, in characters, of the column of terms in a help text on a narrow terminal."""


class HelpFormatter(click.HelpFormatter):
    """Click's layout of help texts.

    On a narrow terminal, the first column of a list has at most a quarter of the width.
    """

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = width_of(sys.stdout)
        self._narrow = columns is not None and columns < HELP_WIDTH_MIN
        super().__init__(indent_increment, columns if self._narrow else width, max_width)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms with explanations. A term that is longer than the first column has its own line."""
        super().write_dl(list(rows), max(self.width // 4, TERM_WIDTH_MIN) if self._narrow else col_max, col_spacing)


WORDS = (
    (r"is not a valid integer(?: range)?", "is not a whole number"),
    (r"is not a valid float(?: range)?", "is not a number"),
    (r"(?<!\S)(\S+) is not in the range x>=(\S+)", r"should be at least \2, not \1"),
    (r"(?<!\S)(\S+) is not in the range (\S+?)<=x<=(\S+)", r"should be from \2 to \3, not \1"),
    (r"is not ('[^']*')$", r"is not one of \1"),
    (r"^Got unexpected extra arguments? \((.*)\)", r"there are too many arguments: \1"),
)
"""Pairs of a pattern for a part of click's messages and the words that replace this part. Matching a pattern takes
linear time."""


def _explain_misuse(error: click.UsageError) -> str:
    place = _place(error)
    text = error.message if place else error.format_message()
    if isinstance(error, click.MissingParameter):
        choices = error.param.type.choices if error.param and isinstance(error.param.type, click.Choice) else ()
        what = "argument is missing" if isinstance(error.param, click.Argument) else "option is required"
        text = f"this {what}" + (f"; one of {', '.join(choices)}" if choices else "")
    text = " ".join(text.split()).rstrip(".")
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return f"{place}: {text}" if place else text


def _place(error: click.UsageError) -> str:
    param = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(param, click.Argument):
        return (param.metavar or param.name or "").upper()
    return param.opts[-1] if param is not None else ""


click.Context.formatter_class = HelpFormatter  # This also holds for the commands of groups within this group.


class BrokenPipe(Exception):
    """Wraps a `BrokenPipeError`, because click would handle the error itself and exit with another code."""

    def __init__(self, error: BrokenPipeError) -> None:
        super().__init__(error)
        self.error = error


@contextlib.contextmanager
def _own_broken_pipes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise BrokenPipe(error) from error


def _how_to_install(command: str) -> str:
    from runtime.core.extras import how_to_install

    return how_to_install("commands", command)


class App(CommandGroup):
    """The top command group.

    It has the commands of the table that belong to no group, and the commands of installed distributions.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all usable commands. The commands of installed distributions come last."""
        others = [name for name, found in COMMAND_PLUGINS.installed.items() if not COMMAND_PLUGINS.problem(found)]
        return [*super().list_commands(ctx), *others]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command. Raises `UsageProblem` for a command of an installed distribution that cannot be used."""
        return super().get_command(ctx, cmd_name) or COMMAND_PLUGINS.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names. Raises `UsageError` with a suggestion if there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            meant = hint_for_problem(args, program()) or command_for(args[0], program())
            if meant:
                raise click.UsageError(f"{args[0]!r} is not a command; did you mean {meant}?", ctx=ctx) from None
            if install := _how_to_install(args[0]):
                cause = f"`replan {args[0]}` is not installed: {install}"
                raise click.UsageError(cause, ctx=ctx) from None
            names = [*rows_below(), *COMMAND_PLUGINS.names]
            raise click.exceptions.NoSuchCommand(args[0], possibilities=names, ctx=ctx) from None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the command line. `--help` and `--version` print and exit here."""
        with _own_broken_pipes():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _own_broken_pipes():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands of the sections in `DAILY`."""
        write_sections(formatter, [row for row in rows_below().values() if row.section in DAILY])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write a line that says how to list the other commands."""
        formatter.write_paragraph()
        formatter.write(f"more: `{program()} help more`\n")

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command, and exit with its exit code. An error becomes one line and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        for name in ("stdin", "stdout", "stderr"):
            if getattr(sys, name) is None:  # The caller closed it. No other file may get its number.
                setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # Characters that the encoding lacks are escaped.
                stream.reconfigure(errors="backslashreplace")
        invocation = Invocation(
            json="--json" in arguments or "--jsonl" in arguments,
            command=next((word for word in arguments if word in rows_below()), ""),
        )
        try:
            extra |= {"standalone_mode": False, "obj": invocation, "prog_name": "replan"}
            code = super().main(args=arguments, **extra)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 -- every error becomes one line and an exit code
            sys.exit(_report_failure(root_cause(error), invocation))
        if args is None and invocation.done_at_once:
            _leave_at_once(int(code or 0))
        sys.exit(int(code or 0))


def _leave_at_once(code: int) -> NoReturn:
    """End this process without freeing its objects.

    Freeing them would take a sixteenth of the time that a short command needs.
    """
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _report_failure(error: BaseException, invocation: Invocation) -> int:
    match error:
        case BrokenPipe():
            return _report_failure(error.error, invocation)
        case BrokenPipeError() if _reader_is_gone():
            _leave_stdout()
            return Exit.UNREAD
        case SystemExit():
            return int(error.code or 0)
        case OSError() if error.errno in _NO_ROOM or _stdout_fails():
            _leave_stdout()
            saved = f" (`{program()} show {invocation.run}` prints the result again)" if invocation.run else ""
            _say(f"stdout: {_NO_ROOM.get(error.errno or 0, os.strerror(error.errno or 0).lower())}{saved}")
            return Exit.INTERNAL
        case click.exceptions.Exit():
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            _say("interrupted")
            return Exit.INTERRUPTED
        case click.UsageError():
            return _report_misuse(error, invocation)
        case ReplanError():
            if invocation.json:
                _print_error(error_object(error, exit_of_error(error)))
            _say(line_of_error(error))
            return exit_of_error(error)
        case PermissionError() if error.filename:
            hint = "give your user read and write access to this file and its folder"
            return _report_failure(UsageProblem("permission denied", place=str(error.filename), hint=hint), invocation)
        case UnicodeEncodeError() if error.reason == "surrogates not allowed":
            # Bytes of the command line or the environment that are no text. Elsewhere they are refused at their place.
            problem = UsageProblem(
                "an argument or an environment variable is not UTF-8", hint="check the arguments and the environment"
            )
            return _report_failure(problem, invocation)
        case _:
            return _report_crash(error, invocation)


# The journal and the log report a full disk themselves, so here it is stdout that is full.
_NO_ROOM = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "no space left")


def _reader_is_gone() -> bool:
    with contextlib.suppress(OSError):
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    return False


def _stdout_fails() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _leave_stdout() -> None:
    from replan.cli.terminal.console import silence

    silence(sys.stdout)


def _report_misuse(error: click.UsageError, invocation: Invocation) -> int:
    path = error.ctx.command_path.removeprefix(NAME) if error.ctx is not None else f" {invocation.command}".rstrip()
    command = program() + path
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    explanation = shorten(_explain_misuse(error))
    if notice := _retired_notice(error, path.strip()):
        explanation = notice
    elif isinstance(error, click.exceptions.NoSuchOption) and error.ctx is not None and error.ctx.parent is None:
        explanation = misplaced_option(error.option_name, command) or explanation
    elif isinstance(error, click.exceptions.NoSuchOption) and error.ctx is not None:
        advice = ELSEWHERE.get((error.ctx.info_name or "", error.option_name))
        explanation = (
            f"{command} has no {error.option_name}: {advice.format(program=program())}" if advice else explanation
        )
    text = f"{explanation} (`{command} --help` explains)"
    if invocation.json:
        _print_error({"error": {"exit_code": int(Exit.USAGE), "kind": "UsageProblem", "message": text}})
    _say(text)
    return Exit.USAGE


def _retired_notice(error: click.UsageError, path: str) -> str:
    """Return the notice about a retired command or option of the command `path`; empty for any other error."""
    from actors.files.suggestions import describe_retired

    match error:
        case click.exceptions.NoSuchCommand():
            notice = describe_retired(f"{path} {error.command_name}".strip(), "command")
            return f"there is no command {error.command_name!r}: {notice}" if notice else ""
        case click.exceptions.NoSuchOption():
            notice = describe_retired(f"{path} {error.option_name}".strip(), "option")
            return f"there is no option {error.option_name!r}: {notice}" if notice else ""
        case _:
            return ""


def _report_crash(error: BaseException, invocation: Invocation) -> int:
    from replan.cli.logfile import write_traceback

    if invocation.json:
        _print_error(error_object(error, exit_of_error(error)))
    place = write_traceback(error)
    _say(f"internal error: {line_of_crash(error)}{f' (details in {place})' if place else ''}")
    if invocation.debug:
        import traceback

        traceback.print_exception(error)
    return Exit.INTERNAL


def _print_error(error: Mapping[str, object]) -> None:
    """Print the JSON object of an error on stdout. If stdout is closed, do nothing, because stderr has the message."""
    from replan.cli.terminal.console import Lossy

    click.echo(json.dumps(error), file=cast("IO[str]", Lossy(sys.stdout)))


def _say(text: str) -> None:
    from replan.cli.terminal.console import Lossy
    from replan.cli.terminal.width import fold_line
    from runtime.logs.terminal_text import clean

    line = fold_line(f"replan: {clean(text, one_line=True)}", sys.stderr)
    click.echo(line, file=cast("IO[str]", Lossy(sys.stderr)))


def _version(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        click.echo(f"replan {release()}")
        ctx.exit()


@click.group("replan", cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@common
def app() -> None:
    """Plans for problems that are stated in plain text, checked and proved.

    A language model writes each step towards a plan, and guards check it. After a rejection, Replan decides how far to
    go back. A run never spends more than its budget, survives `kill -9`, and waits for your answer as long as it takes.
    """
