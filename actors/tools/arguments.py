"""The arguments of a call, checked once more when it is made: paths against the workspace as it is then."""

from collections.abc import Mapping
from typing import Any

from actors.run.tools import ToolOutcome
from actors.tools.confined import OutOfBounds, check_inside
from actors.tools.parameters import Parameters, PathParameter, first_problem
from actors.tools.refusals import CallRefused, system_refusal
from actors.tools.workspace import Workspace


async def ready(workspace: Workspace) -> None:
    """Return once the workspace is this run's. Raises `CallRefused`."""
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
