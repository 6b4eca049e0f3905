"""Calls of command tools, and the checks before a call of any tool begins.

A command runs in the workspace, in its own process group, with a limited environment.
"""

import errno
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from actors.handlers.tools import REASON_CHARACTERS_MAX, PreparedCall, ProgramCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.binding import environment_of
from actors.tools.confined import OutOfBounds, check_inside
from actors.tools.parameters import Parameters, PathParameter, first_problem, matches_line
from actors.tools.programs import ProgramMissing, find_programs
from actors.tools.specs import CommandSpec, fill_argument
from actors.tools.workspace import Workspace
from runtime.logs.redact import Redactor
from runtime.process.group import CommandExit, CommandNotStarted, start_gated

_PASSING = frozenset({errno.EAGAIN, errno.EBUSY, errno.EDQUOT, errno.EINTR, errno.EIO, errno.EMFILE, errno.ENFILE}) | {
    *(errno.ENOMEM, errno.ENOSPC, errno.ESTALE, errno.ETIMEDOUT, errno.ETXTBSY),
}
"""The error numbers of the operating system for errors that may be temporary, such as a full disk."""


class CallRefused(Exception):
    """A call cannot begin. `result` is the result that the call gets."""

    def __init__(self, outcome: ToolOutcome, reason: str, output: str = "") -> None:
        self.result = ToolResult(outcome, output, reason)
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class RefusedCall(PreparedCall):
    """A call that cannot begin. Its method `run` returns a given result."""

    result: ToolResult

    @property
    def is_made(self) -> bool:
        """Always False, because the call did nothing."""
        return False

    async def run(self) -> ToolResult:
        """Return the given result."""
        return self.result


def system_refusal(error: OSError, doing: str) -> CallRefused:
    """Return the refusal of a call because of a system error.

    The reason begins with `doing`, such as "the file cannot be read".
    """
    outcome = ToolOutcome.TRANSIENT if error.errno in _PASSING else ToolOutcome.PERMANENT
    cause = (error.strerror or str(error)).lower()
    return CallRefused(outcome, f"{doing}: {cause}")


def refuse_call(error: CallRefused | ProgramMissing | OSError, doing: str) -> RefusedCall:
    """Return a call that cannot begin because of an error. For an `OSError`, the reason begins with `doing`."""
    match error:
        case CallRefused():
            return RefusedCall(error.result)
        case ProgramMissing():
            return RefusedCall(ToolResult(ToolOutcome.PERMANENT, reason=str(error)))
        case OSError():
            return RefusedCall(system_refusal(error, doing).result)


def check_before_calls(
    name: str,
    workspace: Workspace,
    make_call: Callable[[Mapping[str, Any]], PreparedCall],
    parameters: Parameters | None = None,
) -> Tool:
    """Return a tool whose calls begin after the workspace is locked and the arguments are checked.

    Without `parameters`, the arguments are not checked, because Replan has made them.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        call: PreparedCall
        try:
            await claim_workspace(workspace)
            if parameters is not None:
                check_arguments(parameters, arguments, workspace)
            call = make_call(arguments)
        except CallRefused as refused:
            call = RefusedCall(refused.result)
        yield call

    return Tool(name, prepare)


async def claim_workspace(workspace: Workspace) -> None:
    """Wait until the run has the lock of its workspace.

    Raises `CallRefused` if other processes keep the lock too long, or if the folder was moved or removed.
    """
    if workspace.was_moved():
        raise CallRefused(ToolOutcome.PERMANENT, f"the workspace {str(workspace.folder)!r} was moved or removed")
    if not await workspace.take_lock():
        reason = "processes of an earlier driver of this run still work in the workspace"
        raise CallRefused(ToolOutcome.TRANSIENT, reason)


def check_arguments(parameters: Parameters, arguments: Mapping[str, Any], workspace: Workspace) -> None:
    """Check a call's arguments.

    Raises `CallRefused`. If a path must exist but is missing, the outcome of the refusal is `FAILED`.
    """
    if problem := first_problem(parameters, arguments):
        name, cause, _ = problem
        raise CallRefused(ToolOutcome.PERMANENT, f"the argument {name!r} {cause}")
    for name, parameter in parameters.items():
        if not isinstance(parameter, PathParameter):
            continue
        path = str(arguments[name])
        try:
            there = check_inside(workspace.handle, path)
        except OutOfBounds as error:
            raise CallRefused(ToolOutcome.PERMANENT, f"the argument {name!r}: {error}") from None
        except OSError as error:
            raise system_refusal(error, f"the argument {name!r}") from None
        if parameter.exists and not there:
            raise CallRefused(ToolOutcome.FAILED, f"there is no {path!r} in the workspace")


def command(spec: CommandSpec, workspace: Workspace, outside: Mapping[str, str]) -> Tool:
    """Return a command tool. `outside` is the driver's environment.

    The tools file lists the variables that the command sees. Exit code 0 is a success, unless a line of the output
    matches `failure_pattern`. A call is a transient failure if its exit code is in `transient_exit_codes`, if it
    exceeds its time limit, or if the system lacks resources. A call is a permanent failure if the program is missing or
    cannot be executed. A call is broken if its exit code is in `broken_exit_codes` or if a signal ends it. Any other
    exit code is a failure.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        async with AsyncExitStack() as stack:
            call: PreparedCall
            try:
                await claim_workspace(workspace)
                check_arguments(spec.parameters, arguments, workspace)
                gated = start_gated(
                    _words_of(spec, arguments, outside),
                    folder=workspace.folder,
                    environment=environment_of(spec.environment, outside),
                    inherited=workspace.lock.inherited,
                    output_bytes_max=spec.output_bytes,
                )
                call = ProgramCall(await stack.enter_async_context(gated), partial(_result_of, spec))
            except (CallRefused, OSError) as error:
                call = refuse_call(error, "the command cannot be started")
            yield call

    return Tool(spec.name, prepare)


def _words_of(spec: CommandSpec, arguments: Mapping[str, Any], outside: Mapping[str, str]) -> list[str]:
    """Return the words of a call: programs as paths, and arguments in place of parameters. Raises `CallRefused`."""
    try:
        programs = find_programs(spec, outside)
    except ProgramMissing as error:
        raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
    wrap = [programs["wrap"], *(fill_argument(word, {}) for word in spec.wrap[1:])] if spec.wrap else []
    return [*wrap, programs["command"], *(fill_argument(word, arguments) for word in spec.argv[1:])]


def _result_of(spec: CommandSpec, done: CommandExit | CommandNotStarted) -> ToolResult:
    if isinstance(done, CommandNotStarted):
        return system_refusal(done, "the command cannot be started").result
    output = cut_output(done.output, done.dropped, spec.output_bytes)
    if done.code == 0:
        if spec.failure_pattern and matches_line(spec.failure_pattern, output):
            reason = f"exit code 0, but a line of the output matches failure_pattern {json.dumps(spec.failure_pattern)}"
            return ToolResult(ToolOutcome.FAILED, output, reason)
        return ToolResult(ToolOutcome.SUCCEEDED, output)
    if done.code < 0:
        return ToolResult(ToolOutcome.BROKEN, output, f"ended by signal {-done.code}")
    outcome = ToolOutcome.FAILED
    if done.code in spec.transient_exit_codes:
        outcome = ToolOutcome.TRANSIENT
    elif done.code in spec.broken_exit_codes:
        outcome = ToolOutcome.BROKEN
    return ToolResult(outcome, output, f"exit code {done.code}")


def cut_output(output: bytes, dropped: int, bytes_max: int) -> str:
    """Return output as text of at most `bytes_max` bytes. If bytes are left out, the last line has their number."""
    text = output.decode(errors="replace").encode()
    if not dropped and len(text) <= bytes_max:
        return text.decode()
    note = f"\n[{dropped + len(text) - min(len(text), bytes_max):,} more bytes]\n"
    return text[: max(0, bytes_max - len(note))].decode(errors="ignore") + note[:bytes_max]


def without_secrets(result: ToolResult, redactor: Redactor, bytes_max: int) -> ToolResult:
    """Return a result without secrets, with its output cut to `bytes_max`.

    Call this in a thread, because an output may be large.
    """
    begin, dropped = redactor.redact_beginning(result.output, bytes_max), result.output[bytes_max:]
    output = cut_output(begin.encode(errors="replace"), len(dropped.encode(errors="replace")), bytes_max)
    return replace(result, output=output, reason=redactor.redact_beginning(result.reason, REASON_CHARACTERS_MAX))
