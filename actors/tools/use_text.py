"""What a name of a plan stands for, as a line for people: a dry run and a request for approval show it. Pure."""

import json
import shlex
from typing import assert_never

from actors.tools.mcp_arguments import filled_in
from actors.tools.specs import CommandSpec, McpSpec, PythonSpec, filled
from actors.tools.uses import ModelUse, PersonUse, ToolSet, ToolUse, Use


def use_text(use: Use, tools: ToolSet) -> str:
    """Return what a use does, whole and in one line: a command is quoted as a shell would need it."""
    match use:
        case ToolUse():
            return f"{_call(use, tools)}{', which must fail' if use.expect == 'failure' else ''}"
        case ModelUse():
            return f"a model writes {use.file}"
        case PersonUse():
            return f"a person: {' '.join(use.instructions.split())}"
        case _:
            assert_never(use)


def _call(use: ToolUse, tools: ToolSet) -> str:
    spec, arguments = tools.tools.get(use.tool), json.loads(use.arguments)
    match spec:
        case CommandSpec():
            return f"{use.tool}: {shlex.join((*spec.wrap, *(filled(word, arguments) for word in spec.argv)))}"
        case PythonSpec():
            given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            return f"{use.tool}: {spec.module or spec.file.rpartition('/')[2]}:{spec.function}({given})"
        case McpSpec():
            sent = json.dumps(filled_in(json.loads(spec.arguments), arguments), ensure_ascii=False)
            where = spec.url or shlex.join(spec.argv)
            return f"{use.tool}: {spec.remote} of the MCP server {spec.server} ({where}) with {sent}"
        case None:
            return use.tool
        case _:
            assert_never(spec)
