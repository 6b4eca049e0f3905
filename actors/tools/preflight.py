"""The preflight check of a plan.

The check finds out whether everything that the plan needs exists, and calls no tool of the user. Each MCP server is
asked once for the schemas of its tools. If the server is a program, the check starts it.
"""

import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, assert_never

import orjson
import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.plans.reader import read_draft
from actors.run.tools import ToolOutcome
from actors.tools.command_calls import CallRefused, RefusedCall, claim_workspace
from actors.tools.confined import OutOfBounds, check_inside
from actors.tools.mcp_calls import open_call
from actors.tools.preflight_rules import (
    WORKSPACE_LOOK,
    Availability,
    NeededCall,
    Needs,
    PreflightReport,
    judge_report,
    needs_of,
)
from actors.tools.programs import ProgramMissing, find_programs, find_server
from actors.tools.python_calls import CodeUnusable, check_code, check_module
from actors.tools.repository import GitFailed, decode_path, open_repository
from actors.tools.snapshot_texts import cut_paths
from actors.tools.specs import (
    AgentSpec,
    CommandSpec,
    McpSpec,
    PluginToolSpec,
    PythonSpec,
    ToolSpec,
    fill_template,
    placeholders,
)
from actors.tools.tools_file import ENVIRONMENT, TOOL_PLUGINS
from actors.tools.uses import ToolSet
from actors.tools.workspace import Workspace
from actors.values.findings import Code, Finding
from actors.values.format import printable

SERVER_SECONDS = 20.0
"""The longest time, in seconds, for which the preflight check waits for the list of an MCP server's tools. After this
time, the server's tools count as unknown.
"""
_MB = 1_000_000


class PreflightFolder(NamedTuple):
    """The folder that a preflight check reads."""

    folder: Path
    handle: int
    inherited: tuple[int, ...] = ()
    """The open file of the workspace's lock, which programs inherit; empty without a lock."""


def preflight_tool(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    """Return the tool `workspace:look` of a run. `environment` is the driver's environment."""

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        try:
            await claim_workspace(workspace)
        except CallRefused as refused:
            yield RefusedCall(refused.result)
            return
        place = PreflightFolder(workspace.folder, workspace.handle, workspace.lock.inherited)
        yield _PreflightCall(Needs.model_validate(arguments, strict=False), toolset, place, environment)

    return Tool(WORKSPACE_LOOK, prepare)


@dataclass(frozen=True, slots=True)
class _PreflightCall(PreparedCall):
    needs: Needs
    toolset: ToolSet
    place: PreflightFolder
    environment: Mapping[str, str]

    async def run(self) -> ToolResult:
        report = await observe(self.needs, self.toolset, self.place, self.environment)
        return ToolResult(ToolOutcome.SUCCEEDED, report.model_dump_json(exclude_defaults=True))


async def observe(
    needs: Needs, toolset: ToolSet, place: PreflightFolder, environment: Mapping[str, str]
) -> PreflightReport:
    """Check for each need of a plan whether it is met, and return the report. Raises nothing except cancellation."""
    offers = await _ask_servers(needs, toolset, place, environment)

    def work() -> PreflightReport:
        dirty, clean = _find_dirty(place) if needs.clean else ((), Availability())
        return PreflightReport(
            calls=tuple(_check_call(call, toolset, environment, offers) for call in needs.calls),
            paths={path: _check_path(place.handle, path) for path in needs.paths},
            dirty=dirty,
            clean=clean,
            free_mb=_free_mb(place.folder) if needs.disk_mb else None,
        )

    return await trio.to_thread.run_sync(work)


async def run_preflight(
    value: Mapping[str, Any], toolset: ToolSet, folder: Path, environment: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return the findings of the preflight check of a plan (as JSON) in a folder.

    A plan that cannot be read has no findings.
    """
    plan, _ = read_draft(dict(value))
    if plan is None:
        return ()
    if unbound := toolset.unbound(plan):
        hint = f"bind it in {toolset.source}" if toolset.source else "bind it in a tools file, named by --tools"
        return tuple(Finding(code=Code.UNBOUND, message=f"no tool implements {name}; {hint}") for name in unbound)
    needs = needs_of(plan, toolset)
    if needs is None:
        return ()
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        report = await observe(needs, toolset, PreflightFolder(folder, handle), environment)
    finally:
        os.close(handle)
    return judge_report(plan, toolset, needs, report, begun=False)


def _no(why: str) -> Availability:
    return Availability(answer="no", why=why)


def _unknown(why: str) -> Availability:
    return Availability(answer="unknown", why=why)


Offers = Mapping[str, Mapping[str, Any] | Availability]
"""For each MCP server, by its name in the tools file: the schemas of the server's tools, or the reason why the tools
are unknown."""


async def _ask_servers(
    needs: Needs, toolset: ToolSet, place: PreflightFolder, environment: Mapping[str, str]
) -> Offers:
    servers: dict[str, McpSpec] = {}
    for call in needs.calls:
        spec = toolset.tools.get(call.tool)
        spec = spec.mcp if isinstance(spec, AgentSpec) else spec
        if isinstance(spec, McpSpec):
            servers.setdefault(spec.server, spec)
    offers: dict[str, Mapping[str, Any] | Availability] = {}

    async def ask(name: str, spec: McpSpec) -> None:
        offers[name] = _unknown(f"the MCP server {name!r} did not answer within {SERVER_SECONDS:g} s")
        with trio.move_on_after(SERVER_SECONDS):
            async with open_call(spec, {}, environment, place.folder, place.inherited, lists=True) as call:
                offers[name] = _offer_of(name, await call.run())

    async with trio.open_nursery() as nursery:
        for name, spec in servers.items():
            nursery.start_soon(ask, name, spec)
    return offers


def _offer_of(name: str, result: ToolResult) -> Mapping[str, Any] | Availability:
    match result.outcome:
        case ToolOutcome.SUCCEEDED:
            offered: Mapping[str, Any] = orjson.loads(result.output)
            return offered
        case ToolOutcome.PERMANENT:
            return _no(f"the tools of the MCP server {name!r} cannot be listed: {result.reason}")
        case _:
            return _unknown(f"the tools of the MCP server {name!r} cannot be listed: {result.reason}")


def _check_call(call: NeededCall, toolset: ToolSet, environment: Mapping[str, str], offers: Offers) -> Availability:
    spec = toolset.tools.get(call.tool)
    if spec is None:
        return Availability()  # A built-in tool.
    try:
        found = _check_tool(spec, call, environment, offers)
    except (ProgramMissing, CodeUnusable) as error:
        return _no(str(error))
    unset = _unset_variables(spec, environment, ENVIRONMENT)
    if found.answer != "yes" or not unset:
        return found
    return _unknown(f"its environment variable {unset[0]} is not set")


def _check_tool(spec: ToolSpec, call: NeededCall, environment: Mapping[str, str], offers: Offers) -> Availability:
    """Return whether the tool of a call is available. Raises `ProgramMissing`, `CodeUnusable`."""
    match spec:
        case CommandSpec():
            find_programs(spec, environment)
        case PythonSpec(module=""):
            if check_code(Path(spec.file), spec.function) != spec.sha256:
                return _no(f"the file {spec.file!r} has changed since the run began")
        case PythonSpec():
            check_module(spec.module)
        case PluginToolSpec():
            if spec.plugin not in TOOL_PLUGINS.names:
                return _no(f"no installed package provides tools of the sort {spec.plugin!r}")
        case McpSpec():
            return _check_offer(spec, json.loads(call.arguments), call.later, offers)
        case AgentSpec(mcp=None):
            find_server(spec, environment)
        case AgentSpec():
            assert spec.mcp is not None
            return _check_offer(spec.mcp, {}, ("prompt",), offers)
        case _:
            assert_never(spec)
    return Availability()


def _check_offer(spec: McpSpec, arguments: Mapping[str, Any], later: tuple[str, ...], offers: Offers) -> Availability:
    """Return whether a server lists the tool, and whether the tool's schema accepts the known arguments."""
    from actors.tools.mcp_talk import schema_problem  # noqa: PLC0415 -- slow to import

    offered = offers[spec.server]
    if isinstance(offered, Availability):
        return offered
    schema = offered.get(spec.remote)
    if not isinstance(schema, Mapping):
        return _no(f"the server {spec.server!r} lists no tool {spec.remote!r}")
    template = json.loads(spec.arguments)
    open_names = tuple(key for key, value in template.items() if set(placeholders(value)) & set(later))
    sent = fill_template(template, {**dict.fromkeys(later, ""), **arguments})
    problem = schema_problem(_known_schema(schema, open_names), sent)
    return _no(f"{problem} (the server's tool {spec.remote!r})") if problem else Availability()


def _check_path(handle: int, path: str) -> Availability:
    try:
        there = check_inside(handle, path)
        return Availability() if there else _no(f"there is no {printable(path, 200)!r} in the workspace")
    except OutOfBounds as error:
        return _no(str(error))
    except OSError as error:
        return _unknown(f"{path!r} cannot be checked: {(error.strerror or str(error)).lower()}")


def _find_dirty(place: PreflightFolder) -> tuple[tuple[str, ...], Availability]:
    """Return the tracked files with uncommitted changes, and whether git can list such files."""
    with TemporaryDirectory(prefix="replan-look-") as store:
        try:
            repository = open_repository(place.folder, Path(store), place.inherited)
            if repository is None:
                return (), _unknown("the workspace is not the top folder of a git repository")
            theirs = repository.ours.own["GIT_OBJECT_DIRECTORY"]
            objects = {
                "GIT_OBJECT_DIRECTORY": f"{repository.store}/objects",
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs,
            }
            repository = replace(repository, ours=replace(repository.ours, own={**repository.ours.own, **objects}))
            tracked = {decode_path(path) for path in repository.theirs.paths("ls-files", "-z")}
            head = repository.theirs.text("rev-parse", "-q", "--verify", "HEAD^{commit}")
            dirty = cut_paths(repository.find_changes(head) & tracked)[0]
        except (GitFailed, OSError) as error:
            return (), _unknown(str(error))
    if dirty and os.path.lexists(place.folder / ".gitattributes"):  # Contents are compared without conversion.
        return dirty, _unknown("conversions in `.gitattributes` may be the only cause of these changes")
    return dirty, Availability()


def _free_mb(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free // _MB
    except OSError:
        return None


def _unset_variables(spec: ToolSpec, environment: Mapping[str, str], usual: Sequence[str]) -> tuple[str, ...]:
    own = spec.mcp.environment if isinstance(spec, AgentSpec) and spec.mcp is not None else ()
    listed = (*spec.environment, *own) if isinstance(spec, CommandSpec | McpSpec | AgentSpec) else ()
    return tuple(name for name in listed if "=" not in name and name not in usual and name not in environment)


def _known_schema(schema: Mapping[str, Any], later: Sequence[str]) -> Mapping[str, Any]:
    """Return a schema that accepts any value for the arguments in `later`, whose values are not known yet."""
    properties = schema.get("properties")
    if not later or not isinstance(properties, Mapping):
        return schema
    free = {name: True if name in later else value for name, value in properties.items()}
    kept = {key: schema[key] for key in ("type", "required", "additionalProperties") if key in schema}
    return {**kept, "properties": free}
