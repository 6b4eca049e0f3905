"""The built-in tool that looks at the world before a plan runs. It changes nothing and calls none of the user's tools.

Each MCP server is asked once for the schemas of its tools. A program that is a server is started for that.
"""

import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping
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
from actors.tools.world import (
    WORKSPACE_LOOK,
    NeededCall,
    Needs,
    SeenWorld,
    Sight,
    judge_world,
    known_schema,
    needs_of,
    unset_variables,
)
from actors.values.findings import Code, Finding
from actors.values.format import printable

SERVER_SECONDS = 20.0
"""How long an MCP server may take to list its tools, in seconds. After that nobody can tell what it offers."""
_MB = 1_000_000


class FolderToLookAt(NamedTuple):
    """The folder that is looked at, and what a look needs to know of it."""

    folder: Path
    """The absolute path of the folder, without symbolic links."""
    handle: int
    """The descriptor of the open folder."""
    inherited: tuple[int, ...] = ()
    """The open file of the workspace's lock, which programs inherit; empty without a lock."""


def look_tool(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    """Return the tool `workspace:look` of a run. `environment` is the driver's own environment."""

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        try:
            await claim_workspace(workspace)
        except CallRefused as refused:
            yield RefusedCall(refused.result)
            return
        place = FolderToLookAt(workspace.folder, workspace.handle, workspace.lock.inherited)
        yield _LookCall(Needs.model_validate(arguments, strict=False), toolset, place, environment)

    return Tool(WORKSPACE_LOOK, prepare)


@dataclass(frozen=True, slots=True)
class _LookCall(PreparedCall):
    """A look at the world."""

    needs: Needs
    toolset: ToolSet
    place: FolderToLookAt
    environment: Mapping[str, str]

    async def run(self) -> ToolResult:
        """Look, and return what was found as JSON."""
        seen = await look(self.needs, self.toolset, self.place, self.environment)
        return ToolResult(ToolOutcome.SUCCEEDED, seen.model_dump_json(exclude_defaults=True))


async def look(needs: Needs, toolset: ToolSet, place: FolderToLookAt, environment: Mapping[str, str]) -> SeenWorld:
    """Look up what a plan needs, and return what was found. It raises nothing except cancellation."""
    offers = await _ask_servers(needs, toolset, place, environment)

    def work() -> SeenWorld:
        dirty, clean = _find_dirty(place) if needs.clean else ((), Sight())
        return SeenWorld(
            calls=tuple(_look_at_call(call, toolset, environment, offers) for call in needs.calls),
            paths={path: _look_at_path(place.handle, path) for path in needs.paths},
            dirty=dirty,
            clean=clean,
            free_mb=_free_mb(place.folder) if needs.disk_mb else None,
        )

    return await trio.to_thread.run_sync(work)


async def compare_with_world(
    value: Mapping[str, Any], toolset: ToolSet, folder: Path, environment: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return what a plan, given as JSON, needs and lacks in a folder; nothing for a plan that cannot be read."""
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
        seen = await look(needs, toolset, FolderToLookAt(folder, handle), environment)
    finally:
        os.close(handle)
    return judge_world(plan, toolset, needs, seen, begun=False)


def _no(why: str) -> Sight:
    return Sight(answer="no", why=why)


def _unknown(why: str) -> Sight:
    return Sight(answer="unknown", why=why)


Offers = Mapping[str, Mapping[str, Any] | Sight]
"""What each server offers, by its name in the tools file: the schemas of its tools, or why there are none."""


async def _ask_servers(needs: Needs, toolset: ToolSet, place: FolderToLookAt, environment: Mapping[str, str]) -> Offers:
    servers: dict[str, McpSpec] = {}
    for call in needs.calls:
        spec = toolset.tools.get(call.tool)
        spec = spec.mcp if isinstance(spec, AgentSpec) else spec
        if isinstance(spec, McpSpec):
            servers.setdefault(spec.server, spec)
    offers: dict[str, Mapping[str, Any] | Sight] = {}

    async def ask(name: str, spec: McpSpec) -> None:
        offers[name] = _unknown(f"the MCP server {name!r} did not answer within {SERVER_SECONDS:g} s")
        with trio.move_on_after(SERVER_SECONDS):
            async with open_call(spec, {}, environment, place.folder, place.inherited, lists=True) as call:
                offers[name] = _offer_of(name, await call.run())

    async with trio.open_nursery() as nursery:
        for name, spec in servers.items():
            nursery.start_soon(ask, name, spec)
    return offers


def _offer_of(name: str, result: ToolResult) -> Mapping[str, Any] | Sight:
    match result.outcome:
        case ToolOutcome.SUCCEEDED:
            offered: Mapping[str, Any] = orjson.loads(result.output)
            return offered
        case ToolOutcome.PERMANENT:
            return _no(f"the MCP server {name!r} cannot be asked: {result.reason}")
        case _:
            return _unknown(f"the MCP server {name!r} cannot be asked: {result.reason}")


def _look_at_call(call: NeededCall, toolset: ToolSet, environment: Mapping[str, str], offers: Offers) -> Sight:
    spec = toolset.tools.get(call.tool)
    if spec is None:
        return Sight()  # A built-in tool.
    try:
        sight = _look_at_tool(spec, call, environment, offers)
    except (ProgramMissing, CodeUnusable) as error:
        return _no(str(error))
    unset = unset_variables(spec, environment, ENVIRONMENT)
    if sight.answer != "yes" or not unset:
        return sight
    return _unknown(f"the environment variable {unset[0]} is not set, and it is to see it")


def _look_at_tool(spec: ToolSpec, call: NeededCall, environment: Mapping[str, str], offers: Offers) -> Sight:
    """Return what was found about the tool of a call. Raises `ProgramMissing` and `CodeUnusable`."""
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
                return _no(f"no sort of tools {spec.plugin!r} is installed")
        case McpSpec():
            return _look_at_offer(spec, json.loads(call.arguments), call.later, offers)
        case AgentSpec(mcp=None):
            find_server(spec, environment)
        case AgentSpec():
            assert spec.mcp is not None
            return _look_at_offer(spec.mcp, {}, ("prompt",), offers)
        case _:
            assert_never(spec)
    return Sight()


def _look_at_offer(spec: McpSpec, arguments: Mapping[str, Any], later: tuple[str, ...], offers: Offers) -> Sight:
    """Return whether a server offers a tool that takes the arguments, as far as their values are known."""
    from actors.tools.mcp_talk import schema_problem  # noqa: PLC0415 -- slow to import

    offered = offers[spec.server]
    if isinstance(offered, Sight):
        return offered
    schema = offered.get(spec.remote)
    if not isinstance(schema, Mapping):
        return _no(f"the server {spec.server!r} lists no tool {spec.remote!r}")
    template = json.loads(spec.arguments)
    open_names = tuple(key for key, value in template.items() if set(placeholders(value)) & set(later))
    sent = fill_template(template, {**dict.fromkeys(later, ""), **arguments})
    problem = schema_problem(known_schema(schema, open_names), sent)
    return _no(f"{problem} (its tool {spec.remote!r})") if problem else Sight()


def _look_at_path(handle: int, path: str) -> Sight:
    try:
        there = check_inside(handle, path)
        return Sight() if there else _no(f"there is no {printable(path, 200)!r} in the workspace")
    except OutOfBounds as error:
        return _no(str(error))
    except OSError as error:
        return _unknown(f"{path!r} cannot be looked up: {(error.strerror or str(error)).lower()}")


def _find_dirty(place: FolderToLookAt) -> tuple[tuple[str, ...], Sight]:
    """Return the tracked files with changes that are not committed, and whether git can tell."""
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
        return dirty, _unknown("`.gitattributes` may account for them")
    return dirty, Sight()


def _free_mb(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free // _MB
    except OSError:
        return None
