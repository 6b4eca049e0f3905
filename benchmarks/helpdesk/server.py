"""The telecom helpdesk of tau2-bench as an MCP server: one world at a time, a fresh one for each task.

    TAU2_DATA_DIR=FOLDER/data PYTHONPATH=FOLDER/src python benchmarks/helpdesk/server.py --tasks FILE --port N

Runs with a Python that has `mcp` and what the environment needs. The tools are those of the environment in solo mode,
and `read_ticket`. The benchmark itself uses the other paths: `/reset/N` makes the world of task N, `/judge` applies the
task's own assertions, `/writes` lists the writing calls that were carried out, and `/arm/WHEN/SECONDS` lets the next
writing call rest before or after its work, so that its caller can be killed then; `/armed` says whether it rests now.
"""

import argparse
import asyncio
import inspect
import json
from pathlib import Path

from loguru import logger
from mcp.server.mcpserver import MCPServer
from starlette.responses import JSONResponse
from tau2.data_model.tasks import Task
from tau2.domains.telecom.environment import get_environment_workflow_policy
from tau2.environment.toolkit import ToolType


class World:
    """The environment of one task, and the writing calls that were carried out in it."""

    def __init__(self, task):
        self.task = Task.model_validate(task)
        self.environment = get_environment_workflow_policy(solo_mode=True)
        state = self.task.initial_state
        self.environment.set_state(
            state.initialization_data if state else None, state.initialization_actions if state else None, []
        )
        self.writes, self.calls = [], 0
        self.armed, self.resting = None, False

    def call(self, name, arguments):
        """Carry out a call of a tool and return its result as text."""
        self.calls += 1
        result = self.environment.make_tool_call(name, **arguments)
        self.environment.sync_tools()
        return self.environment.to_json_str(result)

    def judge(self):
        """Return how each of the task's own assertions ended."""
        return [
            self.environment.run_env_assertion(each, raise_assertion_error=False)
            for each in self.task.evaluation_criteria.env_assertions or []
        ]

    async def called(self, name, arguments, *, writes):
        """Carry out a call, and rest before or after it where the benchmark has asked for that."""
        armed, self.armed = (self.armed, None) if writes else (None, self.armed)
        if armed and armed[0] == "before":
            await self._rest(armed[1])
        text = self.call(name, arguments)
        if writes:
            self.writes.append([name, arguments])
        if armed and armed[0] == "after":
            await self._rest(armed[1])
        return text

    async def _rest(self, seconds):
        self.resting = True
        try:
            await asyncio.sleep(seconds)
        finally:
            self.resting = False


def serve(tasks, port):
    """Serve the world of one task at a time."""
    worlds = [World(tasks[0])]
    server = MCPServer("helpdesk", log_level="ERROR")
    environment = worlds[0].environment
    kits = (environment.tools, environment.user_tools)
    for kit in kits:
        for name, function in kit.get_tools().items():
            method = getattr(type(kit), name)
            signature = inspect.signature(method)
            parameters = [each for each in signature.parameters.values() if each.name != "self"]
            writes = kit.tool_type(name) is ToolType.WRITE
            server.add_tool(
                _tool(worlds, name, signature.replace(parameters=parameters, return_annotation=str), writes=writes),
                name=name,
                description=function.__doc__ or name,
                structured_output=False,
            )

    def read_ticket() -> str:
        """Return the text of the ticket."""
        worlds[0].calls += 1
        return worlds[0].task.ticket

    server.add_tool(read_ticket, structured_output=False)

    async def control(request):
        path = request.path_params["path"].split("/")
        match path:
            case ["reset", number]:
                worlds[0] = World(tasks[int(number)])
                return JSONResponse({"id": worlds[0].task.id})
            case ["judge"]:
                return JSONResponse({"passed": worlds[0].judge(), "calls": worlds[0].calls})
            case ["arm", when, seconds]:
                worlds[0].armed = (when, float(seconds))
                return JSONResponse({})
            case ["armed"]:
                return JSONResponse({"resting": worlds[0].resting})
            case _:
                return JSONResponse({"writes": worlds[0].writes})

    app = server.streamable_http_app(json_response=True, stateless_http=True)
    app.add_route("/control/{path:path}", control)
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def _tool(worlds, name, signature, *, writes):
    async def call(**arguments):
        return await worlds[0].called(name, arguments, writes=writes)

    call.__signature__ = signature
    call.__name__ = name
    call.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()} | {"return": str}
    return call


if __name__ == "__main__":
    logger.remove()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    serve([json.loads(line) for line in options.tasks.read_text(encoding="utf-8").splitlines()], options.port)
