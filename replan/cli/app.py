"""The command group: its help, hints for a wrong command line, and the place where errors become an exit code."""

import contextlib
import errno
import importlib
import io
import json
import os
import select
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import click

from replan.cli.exits import MEANING, Exit, exit_of_error
from replan.cli.help_format import HelpFormatter
from replan.cli.options import Invocation, common
from replan.setup.command_name import program
from replan.setup.version import release
from replan.views.errors import error_object, line_of_crash, line_of_error, shortened
from runtime.core.errors import ReplanError, UsageProblem, root_cause

_TEXT_SUFFIXES = (".md", ".txt", ".rst", ".markdown")
"""Names that end so are problems, also where the file is missing."""
_COMMAND_OPTIONS = frozenset({"--json", "--jsonl", "--no-input", "-m", "--model", "-w", "--workflow", "--last"})
"""Options of commands that are often written before the command."""
OTHER_WORDS = {
    "plan": "run",
    "solve": "run",
    "start": "run",
    "list": "runs",
    "ls": "runs",
    "ps": "runs",
    "status": "runs",
    "continue": "resume",
    "retry": "resume",
    "stop": "cancel",
    "kill": "cancel",
    "rm": "delete",
    "remove": "delete",
    "validate": "check",
    "verify": "journal verify",
    "web": "serve",
    "ui": "serve",
    "help": "--help",
}
"""The command for each word that other tools use, where the spelling does not lead to it."""
ELSEWHERE = {
    ("execute", "--last"): "name the run, as `{program} runs` lists them",
    ("do", "--last"): "it plans anew; `{program} execute RUN` executes the plan of a run",
    ("delete", "--last"): "name the run, as `{program} runs` lists them",
    ("serve", "--host"): "it serves this machine only, and a proxy in front of it serves others",
    ("run", "-o"): "`{program} export --last -o FILE` writes the plan afterwards",
    ("run", "--output"): "`{program} export --last -o FILE` writes the plan afterwards",
}
"""What to do instead, by a command and an option that it lacks and that users expect."""


def meant_as_problem(arguments: Sequence[str]) -> str:
    """Return the command line for a problem that the user wrote in the place of a command; empty for any other word."""
    first = arguments[0]
    if len(first.split()) > 1:
        return f"`echo {shlex.quote(first[:40])} | {program()} run -`"
    if first == "-" or first.lower().endswith(_TEXT_SUFFIXES) or os.path.isfile(first):  # noqa: PTH113 -- any text
        return f"`{program()} run {shlex.join(arguments)}`"
    return ""


def command_for(word: str) -> str:
    """Return the command for a word that other tools use; empty for any other word."""
    command = OTHER_WORDS.get(word.lower())
    return f"`{program()} {command}`" if command else ""


def misplaced_option(option: str, command: str) -> str:
    """Return what to do about an option that stands before the command; empty for one that no command has."""
    if option not in _COMMAND_OPTIONS:
        return ""
    value = {"-m": " rules", "--model": " rules", "-w": " search", "--workflow": " search"}.get(option, "")
    return f"{option} belongs to a command and stands after it, as in `{command} COMMAND {option}{value}`"


_GROUPS = {
    "Plan and execute": {
        "init": "Write settings, a tools file for this repository, and a first problem.",
        "run": "Plan a problem.",
        "execute": "Execute a plan with your tools.",
        "do": "Plan a problem, and execute the plan.",
        "acquire": "Fill a schema by searching, asking and calculating.",
        "check": "Check plans without a model.",
        "export": "Write the plan of a run to a file.",
    },
    "Watch and answer": {
        "runs": "List the runs.",
        "show": "Show the state and the result of a run.",
        "log": "Print the records of a run.",
        "questions": "List the open questions.",
        "answer": "Answer a question.",
        "tell": "Tell a run something, at any time.",
        "resume": "Go on with a run.",
        "fork": "Start a new run from the middle of another one.",
        "cancel": "Cancel a run.",
        "undo": "Undo what an execution did.",
    },
    "Operate": {
        "host": "Drive all runs of the home (the folder with runs and settings).",
        "worker": "Drive runs of a journal in Postgres, on any number of machines.",
        "serve": "Serve the runs to a browser on this machine, and drive them.",
        "mcp": "Serve the runs to a program that speaks MCP, and drive them.",
        "token": "Make and revoke tokens for the HTTP API and for MCP over HTTP.",
        "journal": "Check, copy and upgrade journals.",
        "telemetry": "Send traces that the OpenTelemetry collector has not taken yet.",
        "archive": "Move finished runs into compressed files.",
        "restore": "Bring archived runs back.",
        "delete": "Delete a run for good.",
        "prune": "Delete old runs that never go on.",
        "doctor": "Show what this installation uses, and what is wrong with it.",
    },
    "Develop": {
        "workflow": "Look at workflows and what they can cost.",
        "policy": "Look at policies: how far back a failure goes.",
        "whatif": "Fold recorded runs under edited rules.",
        "experiment": "Compare ways to plan, with their uncertainty.",
        "profile": "Measure a model, and find the settings that suit it.",
        "tune": "Find the settings that suit your problems and your model.",
        "explain": "Explain a term that this program prints.",
        "completion": "Print the script that makes your shell complete commands.",
        "version": "Print the version.",
    },
}
"""The commands in their groups, each with its line in `replan --help`.

The command NAME is the function `NAME` in `replan/cli/commands/NAME.py`. The module is imported when the command is
used, and imports what is heavy when the command is called: help loads nothing heavy.
"""
_COMMANDS = {name: text for commands in _GROUPS.values() for name, text in commands.items()}


click.Context.formatter_class = HelpFormatter  # For the commands of groups within this group, too.


class BrokenPipe(Exception):
    """Wraps a `BrokenPipeError`, on which click itself would exit with another code."""

    def __init__(self, error: BrokenPipeError) -> None:
        super().__init__(error)
        self.error = error


@contextlib.contextmanager
def _own_broken_pipes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise BrokenPipe(error) from error


class App(click.Group):
    """The group of commands. Each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Return the commands, group by group."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"replan.cli.commands.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first. Raises `UsageError`, which suggests what was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            meant = meant_as_problem(args) or command_for(args[0])
            if meant:
                raise click.UsageError(f"{args[0]!r} is no command; did you mean {meant}?", ctx=ctx) from None
            raise click.exceptions.NoSuchCommand(args[0], possibilities=_COMMANDS, ctx=ctx) from None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the command line; `--help` and `--version` print and exit here."""
        with _own_broken_pipes():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _own_broken_pipes():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the lists of commands."""
        width = max(map(len, _COMMANDS))
        for group, commands in _GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the exit codes, and examples."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), meaning) for code, meaning in MEANING.items()])
        with formatter.section("Examples"):
            formatter.write("  replan run problem.md\n  cat problem.md | replan run - --json | jq .plan\n")
            formatter.write("  replan resume --last\n  replan run --help\n")

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> NoReturn:
        """Run a command and exit with its code."""
        arguments = list(sys.argv[1:] if args is None else args)
        for name in ("stdin", "stdout", "stderr"):
            if getattr(sys, name) is None:  # The caller closed it; no other file may get its number.
                setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w"))  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # Characters that the encoding lacks are escaped.
                stream.reconfigure(errors="backslashreplace")
        invocation = Invocation(
            json="--json" in arguments or "--jsonl" in arguments,
            command=next((word for word in arguments if word in _COMMANDS), ""),
        )
        try:
            extra |= {"standalone_mode": False, "obj": invocation, "prog_name": "replan"}
            code = super().main(args=arguments, **extra)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 -- every error becomes one line and an exit code
            sys.exit(_failed(root_cause(error), invocation))
        if args is None and invocation.done_at_once:
            _leave_at_once(int(code or 0))
        sys.exit(int(code or 0))


def _leave_at_once(code: int) -> NoReturn:
    """End this process without freeing its objects one by one, which takes a sixteenth of a short command's time."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _failed(error: BaseException, invocation: Invocation) -> int:
    match error:
        case BrokenPipe():
            return _failed(error.error, invocation)
        case BrokenPipeError() if _reader_is_gone():
            _leave_stdout()
            return Exit.UNREAD
        case SystemExit():
            return int(error.code or 0)
        case OSError() if error.errno in _NO_ROOM or _stdout_fails():
            from replan.setup.command_name import program

            _leave_stdout()
            saved = f" (the run is kept: {program()} show {invocation.run})" if invocation.run else ""
            _say(f"stdout: {_NO_ROOM.get(error.errno or 0, os.strerror(error.errno or 0).lower())}{saved}")
            return Exit.INTERNAL
        case click.exceptions.Exit():
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            _say("interrupted")
            return Exit.INTERRUPTED
        case click.UsageError():
            return _misused(error, invocation)
        case ReplanError():
            if invocation.json:
                _print_error(error_object(error, exit_of_error(error)))
            _say(line_of_error(error))
            return exit_of_error(error)
        case PermissionError() if error.filename:
            hint = "make it yours to read and write, or set REPLAN_HOME to another folder"
            return _failed(UsageProblem("permission denied", place=str(error.filename), hint=hint), invocation)
        case UnicodeEncodeError() if error.reason == "surrogates not allowed":
            # Bytes of the command line or the environment that are no text; elsewhere they are refused where they are.
            problem = UsageProblem("a name or a value holds bytes that are not UTF-8", hint="check names and variables")
            return _failed(problem, invocation)
        case _:
            return _crashed(error, invocation)


# The journal and the log report a full disk themselves, so here it is stdout that is full.
_NO_ROOM = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "no space left")


def _reader_is_gone() -> bool:
    """Tell whether the process that read stdout has closed it."""
    with contextlib.suppress(OSError):
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    return False


def _stdout_fails() -> bool:
    """Tell whether it was stdout that failed: then writing what is still buffered fails again."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _leave_stdout() -> None:
    from replan.cli.terminal.console import silence

    silence(sys.stdout)


def _misused(error: click.UsageError, invocation: Invocation) -> int:
    """Print what is wrong with the command line, in one line that names the help."""
    from replan.cli.usage_errors import explanation as explained
    from replan.setup.command_name import NAME, program

    path = error.ctx.command_path.removeprefix(NAME) if error.ctx is not None else f" {invocation.command}".rstrip()
    command = program() + path
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    explanation = shortened(explained(error))
    if gone := _retired(error, path.strip()):
        explanation = gone
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


def _retired(error: click.UsageError, path: str) -> str:
    """Return what is said about a retired command or option after the names of a command; empty for other errors."""
    from actors.files.retired import retired

    match error:
        case click.exceptions.NoSuchCommand():
            gone = retired(f"{path} {error.command_name}".strip(), "command")
            return f"there is no command {error.command_name!r}: {gone}" if gone else ""
        case click.exceptions.NoSuchOption():
            gone = retired(f"{path} {error.option_name}".strip(), "option")
            return f"there is no option {error.option_name!r}: {gone}" if gone else ""
        case _:
            return ""


def _crashed(error: BaseException, invocation: Invocation) -> int:
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
    """Print an error's object on stdout; where stdout is closed, the line on stderr is all there is."""
    from replan.cli.terminal.console import Lossy

    click.echo(json.dumps(error), file=cast("IO[str]", Lossy(sys.stdout)))


def _say(text: str) -> None:
    from replan.cli.terminal.console import Lossy
    from replan.cli.terminal.width import folded
    from runtime.logs.terminal_text import clean

    line = folded(f"replan: {clean(text, one_line=True)}", sys.stderr)
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
