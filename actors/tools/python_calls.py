"""Calls of Python tools: a function in this process, which gets the workspace's folder and the arguments by name."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import anyio.to_thread

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.arguments import check_arguments, ready
from actors.tools.command_calls import kept
from actors.tools.parameters import PathParameter
from actors.tools.python_code import CodeUnusable, load_function
from actors.tools.refusals import CallRefused, RefusedCall
from actors.tools.specs import PythonSpec
from actors.tools.workspace import Workspace

REASON_CHARACTERS_MAX = 500
"""Characters of an exception's message that are kept."""


def python(spec: PythonSpec, workspace: Workspace) -> Tool:
    """Return a Python tool. The function is called as `function(workspace, **arguments)`, `workspace` a `pathlib.Path`.

    An async function runs in the driver's event loop; a sync one runs in a worker thread, which is abandoned when the
    call is cancelled. Text or None is a success, True too; False is a failure. `TimeoutError` and `ConnectionError` are
    transient failures, `PermissionError` and code that cannot be loaded permanent ones; every other exception is a
    failure. Arguments that are paths are `pathlib.Path`, below the workspace.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        call: PreparedCall
        try:
            await ready(workspace)
            check_arguments(spec.parameters, arguments, workspace)
            try:
                function = load_function(spec)
            except CodeUnusable as error:
                raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
            call = _FunctionCall(spec, function, workspace.folder, _with_paths(spec, arguments, workspace.folder))
        except CallRefused as refused:
            call = RefusedCall(refused.result)
        yield call

    return Tool(spec.name, prepare)


def _with_paths(spec: PythonSpec, arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    paths = {name for name, parameter in spec.parameters.items() if isinstance(parameter, PathParameter)}
    return {name: folder / value if name in paths else value for name, value in arguments.items()}


@dataclass(frozen=True, slots=True)
class _FunctionCall:
    """A call of a Python function."""

    spec: PythonSpec
    """The tool."""
    function: Callable[..., Any | Awaitable[Any]]
    """The function."""
    folder: Path
    """The workspace's folder."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments by name."""

    @property
    def process(self) -> str:
        """Empty: it runs in this process."""
        return ""

    async def run(self) -> ToolResult:
        """Call the function."""
        try:
            if iscoroutinefunction(self.function):
                value = await self.function(self.folder, **self.arguments)
            else:
                value = await anyio.to_thread.run_sync(self._call, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - what a user's function raises is the outcome of the call
            lines = f"{type(error).__name__}: {error}".splitlines()
            return ToolResult(_outcome_of(error), reason=lines[0][:REASON_CHARACTERS_MAX])
        if value is None or value is True:
            return ToolResult(ToolOutcome.SUCCEEDED)
        if isinstance(value, str):
            return ToolResult(ToolOutcome.SUCCEEDED, kept(value.encode(errors="replace"), 0, self.spec.output_bytes))
        reason = (
            "it returned False" if value is False else f"it returned {type(value).__name__}, not text, None or a bool"
        )
        return ToolResult(ToolOutcome.FAILED, reason=reason)

    def _call(self) -> Any:
        return self.function(self.folder, **self.arguments)


def _outcome_of(error: Exception) -> ToolOutcome:
    match error:
        case TimeoutError() | ConnectionError():
            return ToolOutcome.TRANSIENT
        case PermissionError() | ImportError():
            return ToolOutcome.PERMANENT
        case _:
            return ToolOutcome.BROKEN
