"""An MCP server whose calls go on as tasks, for tests: `python mcp_task_program.py STATUS [FILE]`.

A task works for three polls, and then has the status. What is cancelled is noted in the file.
"""

import sys
from pathlib import Path

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, ListToolsResult, RequestParams, Tool

STATUS, NOTED = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None
TASKS = "io.modelcontextprotocol/tasks"
RESULT = {"content": [{"type": "text", "text": "done after a while"}]}
ENDS = {
    "completed": {"status": "completed", "result": RESULT},
    "said_no": {"status": "completed", "result": RESULT | {"isError": True}},
    "failed": {"status": "failed", "error": {"code": -32603, "message": "the tracker is closed"}},
    "cancelled": {"status": "cancelled"},
    "input_required": {"status": "input_required", "inputRequests": {}},
    "strange": {"status": "asleep"},
    "working": {"status": "working"},
    "empty": {"status": "completed"},
    "done_at_once": {"status": "completed", "result": RESULT},
}
TIMES = {"createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": None}
POLLS = []


class TaskParams(RequestParams):
    task_id: str


async def list_tools(context, params):
    """List the only tool."""
    schema = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
    return ListToolsResult(tools=[Tool(name="code", input_schema=schema)])


async def call_tool(context, params):
    """Start a task, for a client that takes one."""
    known = context.session.client_capabilities
    if known is None or TASKS not in (known.extensions or {}):
        return {"content": [{"type": "text", "text": "at once"}]}
    status = "completed" if STATUS == "done_at_once" else "working"
    return {"resultType": "task", "taskId": "t1", "status": status, "pollIntervalMs": 1, **TIMES}


async def get(context, params):
    """Tell a task's state."""
    POLLS.append(params.task_id)
    state = ENDS[STATUS] if len(POLLS) > 3 else {"status": "working"}
    return {"taskId": params.task_id, "pollIntervalMs": 1, **TIMES, **state}


async def cancel(context, params):
    await anyio.Path(NOTED).write_text(params.task_id)
    return {}


async def main():
    server = Server("tasks", on_list_tools=list_tools)
    server.extensions[TASKS] = {}
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.add_request_handler("tasks/get", TaskParams, get)
    server.add_request_handler("tasks/cancel", TaskParams, cancel)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


anyio.run(main)
