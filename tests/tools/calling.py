"""Calls of tools in tests: a tools file, a workspace and a home, and a call through the tool's actor."""

import json
import os
import sys
from textwrap import dedent, indent

from actors.handlers.tools import tool_actor
from actors.run.tools import ToolRequested
from actors.tools.built_in import open_tools
from actors.tools.loader import load_tools
from actors.tools.workspace import open_workspace
from runtime.core.machine import Work
from runtime.drive.actor import Envelope

ENVIRONMENT = {"PATH": os.environ["PATH"], "SECRET": "s3cret"}


class Bench:
    """A folder with a tools file, a workspace and a home."""

    def __init__(self, folder):
        self.folder, self.workspace, self.home = folder, folder / "workspace", folder / "home"
        self.workspace.mkdir()
        self.begun = []

    def pin(self, text):
        (self.folder / "tools.yaml").write_text(dedent(text))
        return load_tools(self.folder / "tools.yaml", workspace=self.workspace, environment=ENVIRONMENT).toolset

    def program(self, code, keys=""):
        """Pin a tool `t` that runs Python code, with more keys."""
        (self.folder / "code.py").write_text(dedent(code))
        words = json.dumps([sys.executable, "-I", "-S", str(self.folder / "code.py")])
        return self.pin(f"tools:\n  t:\n    command: {words}\n{indent(dedent(keys), '    ')}\n")

    def function(self, code, keys=""):
        """Pin a tool `t` that is a Python function `f`, with more keys."""
        (self.folder / "functions.py").write_text(dedent(code))
        return self.pin(f"tools:\n  t:\n    python: ./functions.py:f\n{indent(dedent(keys), '    ')}\n")

    async def call(self, toolset, use=None, *, seconds=60.0, run="r", **arguments):
        """Call a tool, the one called `t` or a use's, and return how the call ended."""
        with open_workspace(self.workspace, self.home, run) as workspace:
            return await self.call_in(workspace, toolset, use, seconds=seconds, **arguments)

    async def call_in(self, workspace, toolset, use=None, *, seconds=60.0, commit="", **arguments):
        name, text = ("t", json.dumps(arguments)) if use is None else (use.tool, use.arguments)
        [tool] = [tool for tool in open_tools(toolset, workspace, ENVIRONMENT) if tool.name == name]
        request = ToolRequested(node="n", tool=name, arguments=text, timeout_seconds=seconds, commit=commit)

        async def record(message):
            self.begun.append(message)
            return True

        work = Work(request.request_id, f"tool:{name}", request)
        return await tool_actor(tool, lambda: 5.0).answer(Envelope(work, request, record=record), lambda: 5.0)
