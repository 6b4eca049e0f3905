"""The built-in tools `workspace:read` and `workspace:write`: files of the workspace, for what a model writes."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.arguments import ready
from actors.tools.confined import OutOfBounds, TooLarge, read_inside, write_inside
from actors.tools.file_texts import output_of
from actors.tools.refusals import CallRefused, RefusedCall, system_refusal
from actors.tools.uses import WORKSPACE_READ, WORKSPACE_WRITE
from actors.tools.workspace import Workspace

Work = Callable[[Workspace, Mapping[str, Any]], str]
"""Does a call's work, in a thread, and returns the output. Raises `CallRefused`."""


def file_tools(workspace: Workspace) -> list[Tool]:
    """Return the built-in tools that read and write files of a workspace."""
    return [
        make_built_in_tool(WORKSPACE_READ, read_files, workspace),
        make_built_in_tool(WORKSPACE_WRITE, write_file, workspace),
    ]


def make_built_in_tool(name: str, work: Work, workspace: Workspace) -> Tool:
    """Return a tool whose work is done by a function of ours, one call after the other."""

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        call: PreparedCall
        try:
            await ready(workspace)
            call = _WorkCall(work, workspace, arguments)
        except CallRefused as refused:
            call = RefusedCall(refused.result)
        yield call

    return Tool(name, prepare)


@dataclass(frozen=True, slots=True)
class _WorkCall(PreparedCall):
    """A call of a built-in tool."""

    work: Work
    """The function that does the work."""
    workspace: Workspace
    """Where it is done."""
    arguments: Mapping[str, Any]
    """The arguments of the call."""

    async def run(self) -> ToolResult:
        """Do the work; a cancellation waits for its end."""
        async with self.workspace.writing:
            try:
                output = await trio.to_thread.run_sync(self.work, self.workspace, self.arguments)
            except CallRefused as refused:
                return refused.result
        return ToolResult(ToolOutcome.SUCCEEDED, output)


def read_files(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:read`: the texts of some files. Raises `CallRefused`.

    A file that is not there is None, unless missing files are failures and it is not among the optional ones.
    """
    files: dict[str, str | None] = {}
    left = int(arguments["bytes_max"])
    for path in arguments["files"]:
        try:
            data = read_inside(workspace.handle, path, left)
        except OutOfBounds as error:
            raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
        except TooLarge:
            most = f"{arguments['bytes_max']:,}"
            raise CallRefused(
                ToolOutcome.PERMANENT, f"the files up to {path!r} have over {most} bytes (file_bytes)"
            ) from None
        except OSError as error:
            raise system_refusal(error, f"{path!r} cannot be read") from None
        if data is None and arguments["missing"] == "failure" and path not in arguments["optional"]:
            raise CallRefused(ToolOutcome.FAILED, f"there is no {path!r} in the workspace")
        try:
            files[path] = None if data is None else data.decode()
        except UnicodeDecodeError:
            raise CallRefused(ToolOutcome.FAILED, f"{path!r} is not UTF-8 text") from None
        left -= len(data or b"")
    return output_of(files)


def write_file(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Replace a file and return the output of `workspace:write`: how many bytes it has. Raises `CallRefused`."""
    path, most = arguments["file"], int(arguments["bytes_max"])
    try:
        content = arguments["content"].encode()
    except UnicodeEncodeError:
        raise CallRefused(ToolOutcome.FAILED, "the text holds characters that no file can hold") from None
    if len(content) > most:
        raise CallRefused(
            ToolOutcome.FAILED, f"the text has {len(content):,} bytes, over the {most:,} allowed (file_bytes)"
        )
    try:
        write_inside(workspace.handle, path, content)
    except OutOfBounds as error:
        raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
    except OSError as error:
        raise system_refusal(error, f"{path!r} cannot be written") from None
    return json.dumps({"file": path, "bytes": len(content)}, ensure_ascii=False)
