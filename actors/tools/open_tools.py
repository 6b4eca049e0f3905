"""The tools of an execution, ready for their actors: the user's, and those that are built in."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import assert_never

from actors.handlers.tools import Tool
from actors.tools.agent_calls import agent
from actors.tools.agent_work import WORKSPACE_MERGE, WORKTREE_DIFF
from actors.tools.command_calls import command
from actors.tools.file_calls import file_tools, make_built_in_tool
from actors.tools.mcp_calls import mcp_tool
from actors.tools.merging import merge_work
from actors.tools.python_calls import python
from actors.tools.snapshot_calls import take_snapshot
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec, PythonSpec, ToolSpec
from actors.tools.uses import ToolSet
from actors.tools.workspace import Workspace
from actors.tools.worktrees import DiffRecorder, at_commit
from runtime.logs.redact import Redactor, secrets_in


def open_tools(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> list[Tool]:
    """Return all tools of a run, for `actors.handlers.tools.tool_actor`; `environment` is the driver's own."""
    tools = [_with_checkouts(spec, workspace, environment) for spec in toolset.tools.values()]
    recorder = DiffRecorder(Redactor(secrets_in(environment)))
    return [
        *tools,
        *file_tools(workspace),
        make_built_in_tool(WORKSPACE_SNAPSHOT, take_snapshot, workspace),
        make_built_in_tool(WORKTREE_DIFF, recorder, workspace),
        make_built_in_tool(WORKSPACE_MERGE, merge_work, workspace),
    ]


def _with_checkouts(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    """Return a tool that can work in the workspace and on the files of a commit."""
    opened = partial(_open_tool, spec, environment=environment)
    return replace(opened(workspace), at_commit=at_commit(workspace, opened))


def _open_tool(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    match spec:
        case CommandSpec():
            return command(spec, workspace, environment)
        case PythonSpec():
            return python(spec, workspace)
        case McpSpec():
            return mcp_tool(spec, workspace, environment)
        case AgentSpec():
            return agent(spec, workspace, environment)
        case _:
            assert_never(spec)
