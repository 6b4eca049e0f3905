"""Reads a tools file into the form that a run stores. The programs, Python files and bindings are checked first."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from actors.files.suggestions import nearest
from actors.files.validation_errors import KeyPath, ParsedFile
from actors.files.yaml_document import read_document
from actors.tools.binding import bind_uses, unused_names
from actors.tools.mcp_calls import is_installed
from actors.tools.programs import ISOLATED, NoIsolation, ProgramMissing, find_programs, find_server, sandbox_words
from actors.tools.python_calls import CodeUnusable, check_code, check_module
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec, PluginToolSpec, PythonSpec, ToolSpec
from actors.tools.tools_file import (
    TOOL_PLUGINS,
    AgentCommand,
    AgentTool,
    CommandTool,
    HumanTool,
    McpServer,
    McpTool,
    PluginTool,
    PythonTool,
    RemoteTool,
    ToolsFile,
)
from actors.tools.uses import ToolSet, canonical
from actors.tools.write_confinement import abi
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.core.ledger import MICRO


@dataclass(frozen=True, slots=True)
class LoadedTools:
    """The content of a tools file, and notices about it."""

    toolset: ToolSet
    notices: tuple[str, ...]


def load_tools(
    path: str | Path, *, workspace: Path | None = None, environment: Mapping[str, str] = os.environ
) -> LoadedTools:
    """Return the tools of a file. No tool is run. Programs are searched in the `PATH` of `environment`.

    The file, and the Python code that it names, must be outside `workspace`, because tools and models write to the
    workspace.

    Raises `UsageProblem` with file, line and key if the file is invalid, a program or function is missing, or code is
    in the workspace.
    """
    source = Path(path).expanduser()
    document = read_document(source)
    place = source.resolve()
    if workspace is not None and place.is_relative_to(workspace.resolve()):
        hint = f"move the file out of {workspace}, because tools can write there, or name another --workspace"
        raise UsageProblem("a tools file must not be in the workspace", place=document.source, hint=hint)
    file = document.read_as(ToolsFile)
    uses = bind_uses(file, document)
    tools: dict[str, ToolSpec] = {}
    for name, tool in file.tools.items():
        match tool:
            case CommandTool():
                tools[name] = _command_spec(name, tool, document, place.parent, environment)
            case PythonTool():
                tools[name] = _python_spec(name, tool, document, place.parent, workspace)
            case PluginTool():
                tools[name] = _plugin_spec(name, tool, document)
            case McpTool():
                server = _server(tool.mcp, ("tools", name, "mcp", "server"), file, document)
                tools[name] = _mcp_spec(name, tool.mcp, server, document, environment, tool=tool)
            case AgentTool():
                tools[name] = _agent_spec(name, tool, file, document, environment)
            case _:
                continue
    digest = sha256(orjson.dumps(document.value, option=orjson.OPT_SORT_KEYS)).hexdigest()
    called = {name: tool for name, tool in file.tools.items() if not isinstance(tool, HumanTool)}
    toolset = ToolSet(
        source=document.source,
        sha256=digest,
        tools=tools,
        disk_mb={name: tool.disk_mb for name, tool in called.items() if tool.disk_mb},
        makes={name: tool.makes for name, tool in called.items() if tool.makes},
        **uses,
    )
    idle = unused_names(file)
    notices = (f"{document.source}: nothing uses {', '.join(idle)}",) if idle else ()
    return LoadedTools(toolset, notices)


def _command_spec(
    name: str, tool: CommandTool, document: ParsedFile, folder: Path, environment: Mapping[str, str]
) -> CommandSpec:
    spec = CommandSpec(
        name=name,
        argv=tool.command,
        wrap=_wrap_words(name, tool, document, environment),
        folder=str(folder),
        parameters=tool.parameters,
        environment=tool.environment,
        output_bytes=tool.output_bytes,
        transient_exit_codes=tool.transient_exit_codes,
        broken_exit_codes=tool.broken_exit_codes or (),
        failure_pattern=tool.failure_pattern,
    )
    try:
        find_programs(spec, environment)
    except ProgramMissing as error:
        raise document.problem(str(error), ("tools", name, error.key), "install it, or name another program") from None
    return spec


def _wrap_words(name: str, tool: CommandTool, document: ParsedFile, environment: Mapping[str, str]) -> tuple[str, ...]:
    if tool.wrap != ISOLATED:
        return tool.wrap
    try:
        return sandbox_words(environment)
    except NoIsolation as error:
        hint = "name a sandbox of your own, or leave `wrap` out"
        raise document.problem(f"this machine cannot isolate tools: {error}", ("tools", name, "wrap"), hint) from None


def _python_spec(name: str, tool: PythonTool, document: ParsedFile, folder: Path, workspace: Path | None) -> PythonSpec:
    place, _, function = tool.python.rpartition(":")
    path = ("tools", name, "python")
    digest = ""
    try:
        if place.endswith(".py"):
            code: Path | None = (folder / place).resolve()
            assert code is not None
            digest = check_code(code, function)
        else:
            code = check_module(place)
    except CodeUnusable as error:
        raise document.problem(str(error), path, "name module:function or ./FILE.py:function") from None
    if workspace is not None and code is not None and code.is_relative_to(workspace.resolve()):
        raise document.problem("code that runs in Replan's process must not be in the workspace", path, "move the code")
    return PythonSpec(
        name=name,
        function=function,
        module="" if digest else place,
        file=str(code) if digest else "",
        sha256=digest,
        parameters=tool.parameters,
        output_bytes=tool.output_bytes,
    )


def _plugin_spec(name: str, tool: PluginTool, document: ParsedFile) -> PluginToolSpec:
    path = ("tools", name, "plugin")
    try:
        plugin = TOOL_PLUGINS.get(tool.plugin)
    except UsageProblem as problem:
        raise document.problem(f"{problem.place}: {problem.cause}", path, problem.hint) from None
    if plugin is None:
        hint = nearest(tool.plugin, TOOL_PLUGINS.names) or "install the package that provides them"
        raise document.problem(f"no installed package provides tools of the sort {tool.plugin!r}", path, hint)
    try:
        plugin.check(dict(tool.settings))
    except Exception as error:  # noqa: BLE001 - the distribution's own code runs here
        message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise document.problem(message, ("tools", name, "settings")) from None
    return PluginToolSpec(
        name=name,
        plugin=tool.plugin,
        settings=canonical(tool.settings),
        parameters=tool.parameters,
        output_bytes=tool.output_bytes,
    )


def _agent_spec(
    name: str, tool: AgentTool, file: ToolsFile, document: ParsedFile, environment: Mapping[str, str]
) -> AgentSpec:
    agent, path = tool.agent, ("tools", name, "agent")
    remote = None
    if agent.mcp is not None:
        server = _server(agent.mcp, (*path, "mcp", "server"), file, document)
        if server.url:
            cause = f"an agent needs a server on this machine, but the MCP server {agent.mcp.server!r} has a `url`"
            raise document.problem(cause, (*path, "mcp", "server"), "name a server with a `command`")
        sent = agent.mcp.model_copy(update={"arguments": dict(agent.sent)})
        remote = _mcp_spec(name, sent, server, document, environment, tool=agent)
    spec = AgentSpec(
        name=name,
        argv=agent.command,
        mcp=remote,
        folder=str(Path(document.source).resolve().parent),
        environment=agent.environment if remote is None else (),
        writable=_writable_paths(agent, path, document, environment),
        report=agent.report,
        micro_usd_max=round(agent.max_cost_usd * MICRO),
        output_bytes=agent.output_bytes,
    )
    try:
        if remote is None:
            find_server(spec, environment)
    except ProgramMissing as error:
        hint = "install the agent, or name another program"
        raise document.problem(str(error), (*path, "command"), hint) from None
    return spec


def _writable_paths(
    agent: AgentCommand, path: KeyPath, document: ParsedFile, environment: Mapping[str, str]
) -> tuple[str, ...] | None:
    if not agent.confined:
        return None
    if not abi():
        hint = "set `confined: false`, and put the agent into a sandbox of your own"
        raise document.problem("this system cannot limit where an agent writes", path, hint)
    home = environment.get("HOME", "")
    if not home and any(item.startswith("~") for item in agent.writable):
        raise document.problem(
            "`~` needs the environment variable HOME, which is not set", (*path, "writable"), "name absolute paths"
        )
    return tuple(f"{home}{item[1:]}" if item.startswith("~") else item for item in agent.writable)


def _server(remote: RemoteTool, path: KeyPath, file: ToolsFile, document: ParsedFile) -> McpServer:
    server = file.mcp_servers.get(remote.server)
    if server is None:
        hint = nearest(remote.server, file.mcp_servers, kind="servers") or "add it under `mcp_servers`"
        raise document.problem(f"there is no MCP server {remote.server!r}", path, hint)
    if not is_installed():
        raise document.problem("tools of MCP servers need the extra `mcp`", path, install_command("mcp"))
    return server


def _mcp_spec(
    name: str,
    remote: RemoteTool,
    server: McpServer,
    document: ParsedFile,
    environment: Mapping[str, str],
    *,
    tool: McpTool | AgentCommand,
) -> McpSpec:
    own = ("mcp_servers", remote.server)
    parameters = tool.parameters if isinstance(tool, McpTool) else {}
    template = remote.arguments
    if template is None:
        template = {parameter: f"{{{parameter}}}" for parameter in parameters}
    spec = McpSpec(
        name=name,
        server=remote.server,
        remote=remote.tool,
        arguments=canonical(template),
        argv=server.command,
        folder=str(Path(document.source).resolve().parent),
        environment=server.environment if server.command else (),
        url=server.url,
        token_variable=server.token or "",
        parameters=parameters,
        repeatable=tool.repeatable,
        output_bytes=tool.output_bytes,
    )
    if spec.token_variable and not environment.get(spec.token_variable):
        hint = f"set the variable to the server's token: export {spec.token_variable}=..."
        raise document.problem(f"the environment variable {spec.token_variable!r} is not set", (*own, "token"), hint)
    if spec.argv:
        try:
            find_server(spec, environment)
        except ProgramMissing as error:
            hint = "install it, or name another program"
            raise document.problem(str(error), (*own, "command"), hint) from None
    return spec
