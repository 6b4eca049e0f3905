"""Handlers of tools. Before a call does anything, the run records that the call has begun, and in which process.

One kind of call needs no such record: a repeatable call inside this process. A crash ends the call too, and the call is
made again.

A `Tool` has a function that prepares a call, so that the record is written between preparation and beginning.
`command_tool` runs a program in a process group of its own. `function_tool` runs a Python function, sync or async,
written for anyio.
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
"""How many characters of the result of a tool's function are kept. The rest of a longer result is dropped."""
REASON_CHARACTERS_MAX = 500
"""If a tool's function raises an exception, this many characters of its type and message are kept. The rest is
dropped."""
TOOLS_SIDE_BY_SIDE = 16
"""The largest number of calls of the same tool that one run makes at the same time."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call of a tool."""

    outcome: ToolOutcome
    output: str = ""
    """The output as text; for a program, its standard output and standard error."""
    reason: str = ""
    """The reason for a failure, in one line; empty if the call succeeded."""
    cost: ToolCost | None = None


class PreparedCall(ABC):
    """A call that is prepared and has not begun."""

    __slots__ = ()

    @property
    def process(self) -> str:
        """The name of the first process in the call's process group; empty for code in this process."""
        return ""

    @property
    def is_made(self) -> bool:
        """Whether the tool may have done something. Read this property after `run` has ended."""
        return True

    @abstractmethod
    async def run(self) -> ToolResult:
        """Make the call and return its result. If this method is cancelled, it ends the call before it returns."""


Prepare = Callable[[Mapping[str, Any]], AbstractAsyncContextManager[PreparedCall]]
"""A function that prepares a call of a tool with the given arguments. Leaving the returned context ends all parts of
the call that still run."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a kind of agent may call by name."""

    name: str
    prepare: Prepare
    at_commit: Callable[[str], Prepare] | None = None
    """Returns, for a commit, a function that prepares a call in a new folder with the commit's files. None for a
    built-in tool.
    """


ToolActor = Actor[ToolRequested | ToolCheckRequested, Ended | Checked | None]
"""The actor that makes a tool's calls. It also ends processes that an earlier driver's calls have left running."""


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
    """Return actors for a run that has ended. They end the open tool calls of the run, and make no new calls."""

    async def handle(envelope: Envelope[ToolCheckRequested]) -> Checked:
        request = envelope.brief
        assert isinstance(request, ToolCheckRequested), "a run that has ended calls no tool"
        return Checked(request.request_id, now(), certain=await end_group(request.process))

    return [
        Actor(f"tool:{name}", handle, concurrency=TOOLS_SIDE_BY_SIDE) for name in {request.tool for request in tools}
    ]


async def _call(tool: Tool, request: ToolRequested, envelope: Envelope[Any], now: Callable[[], float]) -> Ended | None:
    """Make a call. Return None if the call is not made, because its run is stopping or has withdrawn the call."""
    if envelope.parked or envelope.withdrawn:
        return None
    await envelope.ensure_held()
    prepare = tool.prepare
    if request.commit:
        assert tool.at_commit is not None, f"tool {tool.name} cannot work in another folder"
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
        result = ToolResult(ToolOutcome.TRANSIENT, reason=f"the call took longer than {request.timeout_seconds:g} s")
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

    `arguments_of` turns a call's arguments into a command line: the program and its arguments. No shell interprets the
    arguments. The program runs in `folder` and sees only `environment`. Exit code 0 is a success, and any other code a
    failure. A program that cannot be executed is a permanent failure.
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
    """Return a tool that calls `function` with a call's arguments. The text that `function` returns is the output.

    An async function runs in the driver's event loop. A sync function runs in a worker thread, which is abandoned if
    the call is cancelled. An exception is a failure.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        yield FunctionCall(function, (arguments,))

    return Tool(name, prepare)


@dataclass(slots=True)
class ProgramCall(PreparedCall):
    """A call of a program. The program's process does not begin its work before the call is recorded."""

    gated: GatedProcess
    result_of: Callable[[CommandExit | CommandNotStarted], ToolResult]
    """Turns the program's end, or the error that prevented its execution, into a result."""
    is_made: bool = True

    @property
    def process(self) -> str:
        """The name of the first process in the program's process group."""
        return self.gated.name

    async def run(self) -> ToolResult:
        """Run the program to its end."""
        try:
            return self.result_of(await self.gated.run())
        except CommandNotStarted as error:
            self.is_made = False
            return self.result_of(error)


@dataclass(frozen=True, slots=True)
class FunctionCall(PreparedCall):
    """A call of a Python function, sync or async."""

    function: Callable[..., Any | Awaitable[Any]]
    positional: tuple[Any, ...]
    named: Mapping[str, Any] = field(default_factory=dict)
    result_of: Callable[[Any], ToolResult] = lambda value: ToolResult(
        ToolOutcome.SUCCEEDED, str(value)[:OUTPUT_CHARACTERS_MAX]
    )
    """Turns the value that the function returned into a result."""
    outcome_of: Callable[[Exception], ToolOutcome] = lambda _: ToolOutcome.FAILED
    """Turns an exception of the function into an outcome. The type and message of the exception become the reason."""

    async def run(self) -> ToolResult:
        """Call the function: in the driver's event loop if it is async, else in a worker thread."""
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
