"""Python tools.

The functions of the tools are found and hashed without being run, and are later called in this process.
"""

import ast
import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import trio

from actors.handlers.tools import FunctionCall, PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.command_calls import check_before_calls, cut_output
from actors.tools.parameters import PathParameter
from actors.tools.specs import PluginToolSpec, PythonSpec
from actors.tools.tools_file import TOOL_PLUGINS
from actors.tools.workspace import Workspace
from runtime.core.errors import UsageProblem

FILE_BYTES_MAX = 1024 * 1024
"""The largest number of bytes in the Python file of a tool."""


_RUNNING: dict[str, Lock] = {}


class CodeUnusable(Exception):
    """A function cannot be loaded. The message of the exception is the cause, in one line."""


def _read_code(file: Path) -> bytes:
    """Return the content of a Python file. Raises `CodeUnusable`."""
    try:
        with file.open("rb") as opened:
            data = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        cause = "there is no file" if isinstance(error, FileNotFoundError) else (error.strerror or "").lower()
        raise CodeUnusable(f"{cause} {str(file)!r}") from None
    if len(data) > FILE_BYTES_MAX:
        raise CodeUnusable(f"the file {str(file)!r} has more than {FILE_BYTES_MAX // 1024} KiB")
    return data


def check_code(file: Path, function: str) -> str:
    """Return the hash of a Python file, which must define a function at its top level. The file is read, but not run.

    Raises `CodeUnusable`.
    """
    data = _read_code(file)
    try:
        tree = ast.parse(data, str(file))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise CodeUnusable(f"the file {str(file)!r} is not Python{line}") from None
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    if function not in defined:
        raise CodeUnusable(f"the file {str(file)!r} defines no function {function!r}")
    return hashlib.sha256(data).hexdigest()


def check_module(module: str) -> Path | None:
    """Return the file of an installed module; None if it has no file.

    Only the packages that contain the module are imported. Raises `CodeUnusable`.
    """
    try:
        spec = importlib.util.find_spec(module)
    except Exception as error:  # noqa: BLE001 - importing a package above it runs the package's code
        raise CodeUnusable(f"the module {module!r} cannot be found: {type(error).__name__}") from None
    if spec is None:
        raise CodeUnusable(f"there is no module {module!r}")
    return Path(spec.origin).resolve() if spec.has_location and spec.origin else None


def _load_function(spec: PythonSpec) -> Callable[..., Any]:
    """Return a tool's function. Raises `CodeUnusable`.

    The function's file is executed. If the file has changed since its hash was recorded, it is not executed.
    """
    try:
        names = vars(importlib.import_module(spec.module)) if spec.module else _run_cached(Path(spec.file), spec.sha256)
    except CodeUnusable:
        raise
    except Exception as error:
        cause = str(error).partition("\n")[0]
        raise CodeUnusable(f"the function cannot be loaded: {type(error).__name__}: {cause}") from error
    function = names.get(spec.function)
    if not callable(function):
        raise CodeUnusable(f"there is no function {spec.function!r} in {spec.module or spec.file!r}")
    loaded: Callable[..., Any] = function
    return loaded


def _run_cached(file: Path, sha256: str) -> dict[str, Any]:
    """Run a file as its own module, only once in this process, and return the names that it defines.

    Other calls wait until the file has run.
    """
    name = f"_replan_tools_{file.stem}_{sha256[:32]}"
    with _RUNNING.setdefault(name, Lock()):
        return vars(sys.modules[name]) if name in sys.modules else _run_once(name, file, sha256)


def _run_once(name: str, file: Path, sha256: str) -> dict[str, Any]:
    data = _read_code(file)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise CodeUnusable(f"the file {str(file)!r} has changed since the run started")
    module_spec = importlib.util.spec_from_loader(name, loader=None, origin=str(file))
    assert module_spec is not None
    module = importlib.util.module_from_spec(module_spec)
    module.__file__ = str(file)
    sys.modules[name] = module  # Dataclasses look up their module.
    try:
        exec(compile(data, str(file), "exec"), module.__dict__)  # noqa: S102 -- the user has named this file to be run
    except BaseException:
        del sys.modules[name]
        raise
    return vars(module)


def _load_plugin(spec: PluginToolSpec) -> Callable[..., Any]:
    """Return the function of a tool that an installed package provides, with its settings. Raises `CodeUnusable`."""
    try:
        plugin = TOOL_PLUGINS.get(spec.plugin)
    except UsageProblem as problem:
        raise CodeUnusable(str(problem)) from None
    if plugin is None:
        raise CodeUnusable(f"no installed package provides tools of the sort {spec.plugin!r}")
    return partial(plugin.call, json.loads(spec.settings))


def python(spec: PythonSpec | PluginToolSpec, workspace: Workspace) -> Tool:
    """Return a Python tool. The function is called as `function(workspace, **arguments)`. `workspace` is a `Path`.

    The function of an installed package is called as `call(settings, workspace, **arguments)`.

    An async function runs in the driver's event loop. A sync function runs in a worker thread, which is abandoned if
    the call is cancelled. If the function returns text, None or True, the call is a success. If the function returns
    False, the call is a failure. After `TimeoutError` and `ConnectionError`, the call is a transient failure. After
    `PermissionError` and `ImportError`, or if the code cannot be loaded, the call is a permanent failure. After every
    other exception, the call is broken. An argument that is a path is passed as a `pathlib.Path` below the workspace.
    """
    paths = {name for name, parameter in spec.parameters.items() if isinstance(parameter, PathParameter)}

    def make_call(arguments: Mapping[str, Any]) -> PreparedCall:
        named = {name: workspace.folder / value if name in paths else value for name, value in arguments.items()}
        return _PythonCall(spec, workspace.folder, named)

    return check_before_calls(spec.name, workspace, make_call, spec.parameters)


@dataclass(slots=True)
class _PythonCall(PreparedCall):
    """A call of a Python tool, or of a tool that an installed package provides."""

    spec: PythonSpec | PluginToolSpec
    folder: Path
    named: Mapping[str, Any]
    is_made: bool = False

    async def run(self) -> ToolResult:
        """Load the function in a worker thread, because an import may take long. Then call it."""
        try:
            function = await trio.to_thread.run_sync(_load, self.spec, abandon_on_cancel=True)
        except CodeUnusable as error:
            return ToolResult(ToolOutcome.PERMANENT, reason=str(error))
        self.is_made = True
        return await FunctionCall(
            function, (self.folder,), self.named, partial(_result_of, self.spec), _outcome_of
        ).run()


def _load(spec: PythonSpec | PluginToolSpec) -> Callable[..., Any]:
    return _load_plugin(spec) if isinstance(spec, PluginToolSpec) else _load_function(spec)


def _result_of(spec: PythonSpec | PluginToolSpec, value: Any) -> ToolResult:
    if value is None or value is True:
        return ToolResult(ToolOutcome.SUCCEEDED)
    if isinstance(value, str):
        return ToolResult(ToolOutcome.SUCCEEDED, cut_output(value.encode(errors="replace"), 0, spec.output_bytes))
    returned = f"{type(value).__name__}, but only text, None and bool are allowed"
    reason = f"the function returned {'False' if value is False else returned}"
    return ToolResult(ToolOutcome.FAILED, reason=reason)


def _outcome_of(error: Exception) -> ToolOutcome:
    match error:
        case TimeoutError() | ConnectionError():
            return ToolOutcome.TRANSIENT
        case PermissionError() | ImportError():
            return ToolOutcome.PERMANENT
        case _:
            return ToolOutcome.BROKEN
