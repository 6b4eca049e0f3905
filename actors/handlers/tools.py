"""Handlers of tools: a call is recorded as started, with the name of its process, before it does anything.

A repeatable call in this process is not recorded: it ends with this process, and is made again after a crash.

A tool is a `Tool`: a function that prepares a call and yields it before it begins. `command_tool` runs a program in a
process group of its own; `function_tool` runs a Python function, sync or async, written against anyio.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import anyio.to_thread
import trio

from actors.run.tools import Begun, Checked, Ended, ToolCheckRequested, ToolCost, ToolOutcome, ToolRequested
from runtime.core.hooks import mark_point
from runtime.drive.actor import Actor, Envelope
from runtime.process.group import CommandExit, CommandNotStarted, GatedProcess, end_group, start_gated

OUTPUT_CHARACTERS_MAX = 1024 * 1024
"""Characters of a function's result that are kept."""
REASON_CHARACTERS_MAX = 500
"""Characters of an exception's type and message that are kept."""
TOOLS_SIDE_BY_SIDE = 16
"""Calls of one tool that one run makes at a time."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call of a tool."""

    outcome: ToolOutcome
    """How it ended; `ToolFinished` records it."""
    output: str = ""
    """The output as text; for a program, its standard output and errors."""
    reason: str = ""
    """The reason of a failure, in one line; empty after a success."""
    cost: ToolCost | None = None
    """The cost that the tool reports; None for a tool that reports no costs."""


class PreparedCall(ABC):
    """A call that has not begun."""

    __slots__ = ()

    @property
    def process(self) -> str:
        """The name of the leader of its process group; empty for code in this process."""
        return ""

    @property
    def is_made(self) -> bool:
        """Whether the tool may have done something, once `run` has ended."""
        return True

    @abstractmethod
    async def run(self) -> ToolResult:
        """Begin the call and return its result. A cancellation ends the whole call before it is raised."""


Prepare = Callable[[Mapping[str, Any]], AbstractAsyncContextManager[PreparedCall]]
"""Prepares a call with the arguments given; leaving the context ends whatever is left of it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a kind of agent may call by name."""

    name: str
    """The name that agents call it by, as in `ToolRequested.tool`."""
    prepare: Prepare
    """Prepares one call without letting it begin."""
    at_commit: Callable[[str], Prepare] | None = None
    """Returns what prepares one call on the files of a commit, in a folder made for it; None for a built-in tool."""


ToolActor = Actor[ToolRequested | ToolCheckRequested, Ended | Checked | None]
"""The actor that makes a tool's calls, and ends the processes of an earlier driver's."""


def tool_actor(tool: Tool, now: Callable[[], float]) -> ToolActor:
    """Return the actor that makes a tool's calls. `now` is the journal's clock."""

    async def handle(envelope: Envelope[ToolRequested | ToolCheckRequested]) -> Ended | Checked | None:
        request = envelope.brief
        match request:
            case ToolCheckRequested():
                return Checked(request.request_id, now(), certain=await end_group(request.process))
            case ToolRequested():
                return await _call(tool, request, envelope, now)

    return Actor(f"tool:{tool.name}", handle, concurrency=TOOLS_SIDE_BY_SIDE)


def ending_actors(tools: Collection[ToolRequested], now: Callable[[], float]) -> list[Actor[Any, Any]]:
    """Return actors for a run that has ended: they end the open calls of its tools, and make none."""

    async def handle(envelope: Envelope[ToolCheckRequested]) -> Checked:
        request = envelope.brief
        assert isinstance(request, ToolCheckRequested), "a run that has ended calls no tool"
        return Checked(request.request_id, now(), certain=await end_group(request.process))

    return [
        Actor(f"tool:{name}", handle, concurrency=TOOLS_SIDE_BY_SIDE) for name in {request.tool for request in tools}
    ]


async def _call(tool: Tool, request: ToolRequested, envelope: Envelope[Any], now: Callable[[], float]) -> Ended | None:
    """Make a call; None where it has not begun, because its run is being stopped or does not want it any more."""
    if envelope.parked or envelope.withdrawn:
        return None
    await envelope.ensure_held()
    prepare = tool.prepare
    if request.commit:
        assert tool.at_commit is not None, f"{tool.name} works in no other folder"
        prepare = tool.at_commit(request.commit)
    async with prepare(json.loads(request.arguments)) as call:
        mark_point("tool.prepared")
        started_at = trio.current_time()
        is_recorded = call.process or not request.repeatable  # Any other call is just made again.
        if is_recorded and not await envelope.record(Begun(request.request_id, now(), call.process)):
            return None
        mark_point("tool.started")
        result = None
        with trio.move_on_after(request.timeout_seconds):
            result = await call.run()
    mark_point("tool.after")
    elapsed = trio.current_time() - started_at
    if result is None:
        result = ToolResult(ToolOutcome.TRANSIENT, reason=f"it took longer than {request.timeout_seconds:g} s")
    not_made = result.outcome in (ToolOutcome.TRANSIENT, ToolOutcome.BROKEN) and not call.is_made
    reason = f"the call was not made: {result.reason}" if not_made else result.reason
    return Ended(request.request_id, now(), elapsed, result.outcome, result.output, reason, result.cost, not_made)


def command_tool(
    name: str,
    arguments_of: Callable[[Mapping[str, Any]], Sequence[str]],
    *,
    folder: Path,
    environment: Mapping[str, str],
) -> Tool:
    """Return a tool that runs a program.

    `arguments_of` makes the program and its arguments from a call's arguments: no shell reads them. It runs in
    `folder`, and `environment` is all that it sees. Exit code 0 is a success; another one is a failure; a program that
    cannot be executed is a permanent failure.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        async with start_gated(arguments_of(arguments), folder=folder, environment=environment) as process:
            yield ProgramCall(process, _result_of_end)

    return Tool(name, prepare)


def _result_of_end(end: CommandExit | CommandNotStarted) -> ToolResult:
    if isinstance(end, CommandNotStarted):
        return ToolResult(ToolOutcome.PERMANENT, reason=str(end))
    output = end.output.decode(errors="replace")
    if end.code == 0:
        return ToolResult(ToolOutcome.SUCCEEDED, output)
    how = f"exit code {end.code}" if end.code > 0 else f"ended by signal {-end.code}"
    return ToolResult(ToolOutcome.FAILED, output, how)


def function_tool(name: str, function: Callable[[Mapping[str, Any]], str | Awaitable[str]]) -> Tool:
    """Return a tool that calls a function with a call's arguments; the text that it returns is the output.

    An async function runs in the driver's event loop; a sync one runs in a worker thread, which is abandoned when the
    call is cancelled. An exception is a failure.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        yield FunctionCall(function, (arguments,))

    return Tool(name, prepare)


def _result_of_value(value: Any) -> ToolResult:
    return ToolResult(ToolOutcome.SUCCEEDED, str(value)[:OUTPUT_CHARACTERS_MAX])


@dataclass(slots=True)
class ProgramCall(PreparedCall):
    """A call of a program, which waits behind its gate until the call is recorded."""

    gated: GatedProcess
    """The process that waits, and becomes the program."""
    result_of: Callable[[CommandExit | CommandNotStarted], ToolResult]
    """Makes a result of the program's end, or of the error that it could not be executed."""
    is_made: bool = True
    """Whether it could be executed."""

    @property
    def process(self) -> str:
        """The name of the leader of its process group."""
        return self.gated.name

    async def run(self) -> ToolResult:
        """Run it to its end."""
        try:
            return self.result_of(await self.gated.run())
        except CommandNotStarted as error:
            self.is_made = False
            return self.result_of(error)


def _failed_outcome(_: Exception) -> ToolOutcome:
    return ToolOutcome.FAILED


@dataclass(frozen=True, slots=True)
class FunctionCall(PreparedCall):
    """A call of a Python function, sync or async."""

    function: Callable[..., Any | Awaitable[Any]]
    positional: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)
    result_of: Callable[[Any], ToolResult] = _result_of_value
    """Makes a result of a returned value."""
    outcome_of: Callable[[Exception], ToolOutcome] = _failed_outcome
    """Returns the outcome that an exception stands for; its type and message are the reason."""

    async def run(self) -> ToolResult:
        """Call the function: an async one in the driver's event loop, a sync one in a worker thread."""
        call = partial(self.function, *self.positional, **self.named)
        try:
            if iscoroutinefunction(self.function):
                value = await call()
            else:
                value = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - what a user's function raises is the outcome of the call
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return ToolResult(self.outcome_of(error), reason=reason[:REASON_CHARACTERS_MAX])
        return self.result_of(value)
