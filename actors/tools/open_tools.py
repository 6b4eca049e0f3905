"""The tools of an execution, ready for their actors: the user's, and those that are built in."""

from collections.abc import Mapping
from typing import assert_never

from actors.handlers.tools import Tool
from actors.tools.command_calls import command
from actors.tools.file_calls import built_in, file_tools
from actors.tools.mcp_calls import mcp_tool
from actors.tools.python_calls import python
from actors.tools.snapshot_calls import take_snapshot
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT
from actors.tools.specs import CommandSpec, McpSpec, PythonSpec, ToolSpec
from actors.tools.uses import ToolSet
from actors.tools.workspace import Workspace


def open_tools(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> list[Tool]:
    """Return all tools of a run, for `actors.handlers.tools.tool_actor`; `environment` is the driver's own."""
    tools = [_opened(spec, workspace, environment) for spec in toolset.tools.values()]
    return [*tools, *file_tools(workspace), built_in(WORKSPACE_SNAPSHOT, take_snapshot, workspace)]


def _opened(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    match spec:
        case CommandSpec():
            return command(spec, workspace, environment)
        case PythonSpec():
            return python(spec, workspace)
        case McpSpec():
            return mcp_tool(spec, workspace, environment)
        case _:
            assert_never(spec)
