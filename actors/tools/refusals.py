"""The checks before a call of a tool begins, and the outcome of a call that they refuse."""

import errno
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.confined import OutOfBounds, check_inside
from actors.tools.parameters import Parameters, PathParameter, first_problem
from actors.tools.programs import ProgramMissing
from actors.tools.workspace import Workspace

_PASSING = frozenset({errno.EAGAIN, errno.EBUSY, errno.EDQUOT, errno.EINTR, errno.EIO, errno.EMFILE, errno.ENFILE}) | {
    *(errno.ENOMEM, errno.ENOSPC, errno.ESTALE, errno.ETIMEDOUT, errno.ETXTBSY),
}
"""The errors of the operating system that may be temporary, such as a full disk."""


class CallRefused(Exception):
    """A call cannot begin; `result` is its outcome."""

    def __init__(self, outcome: ToolOutcome, reason: str, output: str = "") -> None:
        self.result = ToolResult(outcome, output, reason)
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class RefusedCall(PreparedCall):
    """A call that cannot begin."""

    result: ToolResult

    @property
    def is_made(self) -> bool:
        """False: nothing was done."""
        return False

    async def run(self) -> ToolResult:
        """Return the outcome."""
        return self.result


def system_refusal(error: OSError, doing: str) -> CallRefused:
    """Return the refusal of a call for an error of the operating system; its reason begins with the clause `doing`."""
    outcome = ToolOutcome.TRANSIENT if error.errno in _PASSING else ToolOutcome.PERMANENT
    cause = (error.strerror or str(error)).lower()
    return CallRefused(outcome, f"{doing}: {cause}")


def refuse_call(error: CallRefused | ProgramMissing | OSError, doing: str) -> RefusedCall:
    """Return a call that cannot begin because of an error; for an `OSError`, the reason begins with `doing`."""
    match error:
        case CallRefused():
            return RefusedCall(error.result)
        case ProgramMissing():
            return RefusedCall(ToolResult(ToolOutcome.PERMANENT, reason=str(error)))
        case OSError():
            return RefusedCall(system_refusal(error, doing).result)


def checked_tool(
    name: str,
    workspace: Workspace,
    make_call: Callable[[Mapping[str, Any]], PreparedCall],
    parameters: Parameters | None = None,
) -> Tool:
    """Return a tool whose calls begin once the workspace is locked and their arguments are checked.

    Without `parameters` the arguments are not checked: Replan's own rules have made them.
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
    """Wait until the run has the lock of its workspace. Raises `CallRefused` if it gets none, or the folder is gone."""
    if workspace.moved():
        raise CallRefused(ToolOutcome.PERMANENT, f"the workspace {str(workspace.folder)!r} is not there any more")
    if not await workspace.locked():
        reason = "processes that an earlier driver of this run has started still work in the workspace"
        raise CallRefused(ToolOutcome.TRANSIENT, reason)


def check_arguments(parameters: Parameters, arguments: Mapping[str, Any], workspace: Workspace) -> None:
    """Check a call's arguments. Raises `CallRefused`: a path that must be there and is not is a failure of the tool."""
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
