"""The tools that a run may call, in the form that the run's first event stores. Pure."""

import operator
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from actors.tools.parameters import Parameter
from runtime.core.events import Value

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}")
"""The regular expression for a parameter in an argument, such as `{name}`. It also matches `{{` and `}}`, which stand
for single braces."""


class CommandSpec(Value):
    """A program with its arguments, run in the workspace without a shell."""

    kind: Literal["command"] = "command"
    name: str
    argv: tuple[str, ...]
    """The program and its arguments, in which `{name}` stands for a parameter."""
    wrap: tuple[str, ...] = ()
    """The words before `argv`, such as the user's own sandbox or Replan's sandbox (`actors.tools.programs`)."""
    folder: str
    """The absolute path of the tools file's folder. A program's relative path begins in this folder."""
    parameters: Mapping[str, Parameter]
    environment: tuple[str, ...]
    """The environment variables that the program sees: `NAME` is passed on, `NAME=value` is set."""
    output_bytes: int
    transient_exit_codes: tuple[int, ...]
    """The exit codes of failures that may be temporary."""
    broken_exit_codes: tuple[int, ...] = ()
    """The exit codes with which the program says that it could not do its work."""
    failure_pattern: str
    """A regular expression. If a line of output matches it, exit code 0 is a failure. The text is empty if there is no
    pattern.
    """


class PythonSpec(Value):
    """A Python function that runs in the driver's process. The function is synchronous, or async with anyio."""

    kind: Literal["python"] = "python"
    name: str
    function: str
    module: str
    """The module to import; empty if `file` is given."""
    file: str
    """The absolute path of the file that defines the function; empty if `module` is given."""
    sha256: str
    """The hash of the file's content at the start of the run, in hex; empty for a module."""
    parameters: Mapping[str, Parameter]
    output_bytes: int


class PluginToolSpec(Value):
    """A tool that an installed package provides. The tool runs in the driver's process."""

    kind: Literal["plugin"] = "plugin"
    name: str
    plugin: str
    settings: str
    """The tool's settings in the tools file: a JSON object as text."""
    parameters: Mapping[str, Parameter]
    output_bytes: int


class McpSpec(Value):
    """A tool of an MCP server. The server is a program that is started for each call, or is at an address."""

    kind: Literal["mcp"] = "mcp"
    name: str
    server: str
    remote: str
    """The name that the server gives the tool."""
    arguments: str
    """The arguments to send to the server: a JSON object as text. In the object's texts, `{name}` stands for a
    parameter.
    """
    argv: tuple[str, ...] = ()
    """The server's program and its arguments; empty for a server at an address."""
    folder: str
    environment: tuple[str, ...] = ()
    url: str = ""
    """The address of the server; empty for a program."""
    token_variable: str = ""
    """The environment variable with the server's bearer token; empty if no token is needed. The token itself is not
    stored.
    """
    parameters: Mapping[str, Parameter]
    repeatable: bool = False
    """Whether a second call does no harm, according to the tools file."""
    output_bytes: int


class AgentSpec(Value):
    """A coding agent: a program with a prompt on its standard input. The agent runs in a worktree made for the call."""

    kind: Literal["agent"] = "agent"
    name: str
    argv: tuple[str, ...] = ()
    """The program and its arguments, which do not depend on the plan; empty if the agent is a tool of an MCP server."""
    mcp: McpSpec | None = None
    """The MCP tool that is the agent; None for a program."""
    folder: str
    environment: tuple[str, ...] = ()
    writable: tuple[str, ...] | None
    """The absolute paths that the agent may write in addition to its worktree; None if the agent is not confined."""
    report: Literal["claude", "codex", "none"]
    """The form of the output, from which the result and the cost are read."""
    micro_usd_max: int
    parameters: Mapping[str, Parameter] = Field(default_factory=dict, exclude_if=operator.not_)
    """Always empty: an agent has no parameters."""
    output_bytes: int


ToolSpec = Annotated[CommandSpec | PythonSpec | PluginToolSpec | McpSpec | AgentSpec, Field(discriminator="kind")]
"""A tool that a run may call, in its stored form: a command, a Python function, an MCP tool or an agent."""


def fill_argument(argument: str, values: Mapping[str, Any]) -> str:
    """Return an argument with its parameters replaced by values.

    Text in a value that looks like a parameter is not replaced. Raises `KeyError` for a parameter without a value.
    """

    def value(match: re.Match[str]) -> str:
        return match.group()[0] if match.group(1) is None else str(values[match.group(1)])

    return PLACEHOLDER.sub(value, argument)


def parameters_in(argument: str) -> tuple[str, ...]:
    """Return the names of the parameters in an argument, in their order."""
    return tuple(match.group(1) for match in PLACEHOLDER.finditer(argument) if match.group(1) is not None)


def placeholders(value: Any) -> Iterator[str]:
    """Yield the names of the parameters in a template, which is a JSON value."""
    match value:
        case str():
            yield from parameters_in(value)
        case list():
            for item in value:
                yield from placeholders(item)
        case dict():
            for item in value.values():
                yield from placeholders(item)
        case _:
            return


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its parameters replaced by values.

    A text that is only a parameter becomes the parameter's value.
    """
    match template:
        case str():
            whole = PLACEHOLDER.fullmatch(template)
            return values[whole.group(1)] if whole and whole.group(1) else fill_argument(template, values)
        case list():
            return [fill_template(item, values) for item in template]
        case dict():
            return {key: fill_template(item, values) for key, item in template.items()}
        case _:
            return template
