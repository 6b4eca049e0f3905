"""Calls of tools. Each call is recorded before it begins and after it ends. Pure.

A tool can change files and other systems, so two rules differ from the rules for model calls. A call that is not
repeatable is never withdrawn, and is never made again without asking a person. If it is unknown after a crash whether a
call ran, a person is asked as soon as no process of the call runs.

A run that a person, a limit or a fault has ended is over after its tool calls have ended. A call that is not repeatable
runs to its end, and a repeatable call is stopped.

A call is requested, recorded as started with the name of its process, and finished. The call does nothing before its
start is recorded. A later driver first ends the process of an earlier driver's call (`checking`). Then this driver
makes the call again if the call is repeatable, or else asks a person. A repeatable call inside the driver's own process
is not recorded as started, because the call ends with this process.
"""

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from actors.run.ids import step_of, try_id
from actors.run.questions import NOT_RUN, SUCCEEDED, ClarificationRequested, Questions, Status, new_id, outcome_question
from actors.run.waits import TimedEvent
from runtime.core.copies import without
from runtime.core.events import Event, Seconds, Value, make_storable
from runtime.core.ledger import Amount, Ledger
from runtime.core.machine import Work
from runtime.core.messages import Message


class ToolRequested(Event):
    """A call of a tool was requested. The call has not begun."""

    texts: ClassVar[tuple[str, ...]] = ("arguments",)
    added_fields: ClassVar[tuple[str, ...]] = ("commit", "micro_usd_max")
    kind: Literal["tool_requested"] = "tool_requested"
    node: str
    """The node that the call is about."""
    tool: str
    """The tool's name. The address of the tool's actor is `tool:NAME`."""
    arguments: str
    """The tool's arguments, a JSON object as text."""
    repeatable: bool = False
    """Whether the call may be made again after a crash."""
    timeout_seconds: Seconds
    """The time limit of the call, in seconds."""
    try_number: int = 1
    """The number of this call among the node's calls, from 1."""
    commit: str = Field(default="", exclude_if=operator.not_)
    """The commit whose files the call works on, in a folder made for the call; empty if it works in the workspace."""
    micro_usd_max: int = Field(default=0, exclude_if=operator.not_)
    """The reserved micro-dollars: the most that the call may cost."""

    @property
    def request_id(self) -> str:
        """The id of the request, made of its call and the try number."""
        return try_id(f"tool:{self.node}", self.try_number)

    @property
    def reserve(self) -> Amount:
        """The amount that the ledger reserves for the call."""
        return Amount(micro_usd=self.micro_usd_max)


class ToolStarted(TimedEvent):
    """A call is about to begin. The call has done nothing yet."""

    kind: Literal["tool_started"] = "tool_started"
    request_id: str
    """The id of the request."""
    process: str = ""
    """The name of the leader of the call's process group; empty for code in the driver's own process."""


class ToolOutcome(StrEnum):
    """How a call of a tool ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"  # the tool or a person reported a failure
    TRANSIENT = "transient"  # it did not finish for a reason that may be temporary, such as its time limit
    PERMANENT = "permanent"  # it cannot be called, for example because its program is missing
    BROKEN = "broken"  # it broke off, such as by an exception of a function or a signal
    UNKNOWN = "unknown"  # nobody knows whether it ran


class ToolCost(Value):
    """The cost of a tool's call, as reported by the tool."""

    micro_usd: int | None = Field(default=None, ge=0)
    """The cost in micro-dollars; None if the tool does not report it."""
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    turns: int = Field(default=0, ge=0)
    """The number of turns in the tool's conversation with a model; 0 if the tool does not report it."""
    session: str = ""


class ToolFinished(TimedEvent):
    """A call of a tool ended, or its outcome was settled by a person or at the end of the run."""

    texts: ClassVar[tuple[str, ...]] = ("output",)
    added_fields: ClassVar[tuple[str, ...]] = ("cost", "not_made")
    kind: Literal["tool_finished"] = "tool_finished"
    request_id: str
    """The id of the request."""
    elapsed: Seconds = 0.0
    """How long the call took, in seconds."""
    outcome: ToolOutcome
    """How the call ended."""
    output: str = ""
    """The output, cut to the tool's limit."""
    reason: str = ""
    """The reason, in one line for people."""
    question_id: str | None = None
    """The id of the question about the outcome; None if no person was asked."""
    cost: ToolCost | None = Field(default=None, exclude_if=operator.not_)
    """The cost that the tool reports; None if it reports no cost."""
    not_made: bool = Field(default=False, exclude_if=operator.not_)
    """Whether the call ended before the tool was called, so it certainly did nothing."""


class ToolCheckRequested(Event):
    """The process of an earlier driver's call must be ended if it still runs."""

    kind: Literal["tool_check_requested"] = "tool_check_requested"
    call: str
    """The request id of the call."""
    process: str
    """The name of the leader of the call's process group."""

    @property
    def request_id(self) -> str:
        """The id of this request, made from the id of the call."""
        return f"check:{self.call}"


class ToolProcessEnded(TimedEvent):
    """The process of an earlier driver's call was searched for, and was ended if it still ran."""

    kind: Literal["tool_process_ended"] = "tool_process_ended"
    call: str
    """The request id of the call."""
    certain: bool
    """Whether the process has certainly ended; False if that cannot be seen."""


class ToolReissued(Event):
    """An earlier driver's call is made again, because it has done nothing or because a second call does no harm."""

    kind: Literal["tool_reissued"] = "tool_reissued"
    replaces: str
    """The request id of the earlier call."""
    again: ToolRequested
    """The call that is made now."""


ToolEvent = ToolRequested | ToolStarted | ToolFinished | ToolCheckRequested | ToolProcessEnded | ToolReissued


@dataclass(frozen=True, slots=True)
class Begun(Message):
    """The actor's message that a call is about to begin. The call begins after the message is recorded."""

    request_id: str
    at: float
    process: str = ""


@dataclass(frozen=True, slots=True)
class Ended(Message):
    """The actor's message that a call ended."""

    request_id: str
    at: float
    elapsed: float
    outcome: ToolOutcome
    output: str = ""
    reason: str = ""
    cost: ToolCost | None = None
    not_made: bool = False


@dataclass(frozen=True, slots=True)
class Checked(Message):
    """The actor's message that it has searched for the process of an earlier driver's call."""

    request_id: str
    """The request id of the check, `check:CALL`."""
    at: float
    certain: bool


ToolMessage = Begun | Ended | Checked


Phase = Literal["running", "checking", "settled", "asked"]
"""How far a later driver has dealt with a call that an earlier driver left open. `running`: the later driver has done
nothing yet. `checking`: the call's process is being ended. `settled`: the call's process has ended, or cannot be seen.
`asked`: a person is asked about the outcome of the call.
"""


@dataclass(frozen=True, slots=True)
class OpenTool:
    """A call of a tool that has not ended."""

    request: ToolRequested
    epoch: int
    started: ToolStarted | None = None
    """The event of the call's start; None as long as the call has certainly done nothing."""
    phase: Phase = "running"
    """The progress of a later driver with this call; `running` if no later driver has taken over the run."""
    certain: bool = True
    """Whether the process of an earlier driver's call has certainly ended; False if that cannot be seen."""
    question_id: str = ""
    forked: bool = False


Tools = Mapping[str, OpenTool]
"""The open tool calls of a run, by request id."""


def apply_event(tools: Tools, event: ToolEvent, epoch: int) -> Tools:
    """Return the open calls after an event about one of them."""
    match event:
        case ToolRequested():
            return {**tools, event.request_id: OpenTool(event, epoch)}
        case ToolStarted():
            return _replace_call(tools, event.request_id, started=event)
        case ToolFinished():
            return without(tools, (event.request_id,))
        case ToolCheckRequested():
            return _replace_call(tools, event.call, phase="checking")
        case ToolProcessEnded():
            certain = tools[event.call].certain and event.certain
            return _replace_call(tools, event.call, phase="settled", certain=certain)
        case ToolReissued():
            return {**without(tools, (event.replaces,)), event.again.request_id: OpenTool(event.again, epoch)}


def record_question(tools: Tools, event: ClarificationRequested) -> Tools:
    """Return the open calls after a question that may be about one of them."""
    return (
        _replace_call(tools, event.node, phase="asked", question_id=event.question_id) if event.node in tools else tools
    )


def withdraw_calls(tools: Tools, nodes: Collection[str]) -> Tools:
    """Return the open calls without the repeatable calls for the given nodes.

    Other calls for these nodes run to their end.
    """
    return {name: tool for name, tool in tools.items() if not (tool.request.repeatable and tool.request.node in nodes)}


def _replace_call(tools: Tools, request_id: str, **fields: Any) -> Tools:
    return {**tools, request_id: replace(tools[request_id], **fields)}


def busy(tools: Tools) -> bool:
    """Return whether a call runs, or its process is being ended. Calls that only wait for a person do not count."""
    return bool(tools) and any(tool.phase in ("running", "checking") for tool in tools.values())


def accept(tools: Tools, message: ToolMessage) -> ToolEvent | None:
    """Return the event for an actor's message; None if nothing waits for the message."""
    match message:
        case Begun():
            tool = tools.get(message.request_id)
            if tool is None or tool.started is not None:
                return None
            return ToolStarted(request_id=message.request_id, at=message.at, mono=message.mono, process=message.process)
        case Ended():
            if message.request_id not in tools:
                return None
            return ToolFinished(
                request_id=message.request_id,
                at=message.at,
                mono=message.mono,
                elapsed=message.elapsed,
                outcome=message.outcome,
                output=make_storable(message.output),
                reason=make_storable(message.reason),
                cost=message.cost,
                not_made=message.not_made,
            )
        case Checked():
            call = message.request_id.removeprefix("check:")
            if call not in tools or tools[call].phase != "checking":
                return None
            return ToolProcessEnded(call=call, at=message.at, mono=message.mono, certain=message.certain)


def take_over(
    tools: Tools, questions: Questions, epoch: int, now: float
) -> ToolCheckRequested | ToolReissued | ClarificationRequested | ToolFinished | None:
    """Return the next decision about the calls that an earlier driver left open."""
    for request_id, tool in tools.items():
        if tool.epoch == epoch and tool.phase == "running":
            continue
        decision = _take_over(request_id, tool, questions, now)
        if decision is not None:
            return decision
    return None


def _take_over(
    request_id: str, tool: OpenTool, questions: Questions, now: float
) -> ToolCheckRequested | ToolReissued | ClarificationRequested | ToolFinished | None:
    match tool.phase:
        case "running" if tool.started is None:
            return _reissue(tool)
        case "running" if tool.started is not None and tool.started.process:
            return ToolCheckRequested(call=request_id, process=tool.started.process)
        case "running" | "settled":
            if tool.request.repeatable and tool.certain:
                return _reissue(tool)
            return _ask_for_outcome(tool, request_id, new_id(questions))
        case "checking":
            return None
        case "asked":
            return _apply_answer(request_id, tool, questions, now)


def begun_calls(tools: Tools) -> Tools:
    """Return the calls that may have done something. After a run's end, only these calls remain open."""
    return {name: tool for name, tool in tools.items() if tool.started is not None} if tools else tools


def end(tools: Tools, epoch: int, now: float) -> ToolCheckRequested | ToolFinished | None:
    """End the remaining calls after the run's end, one at a time. A call that is not repeatable runs to its end."""
    for request_id, tool in tools.items():
        at_work = tool.phase == "running" and tool.epoch == epoch and not tool.request.repeatable
        if tool.phase == "checking" or at_work:
            continue
        process = tool.started.process if tool.started is not None else ""
        if tool.phase == "running" and process:
            return ToolCheckRequested(call=request_id, process=process)
        reason = "the run ended before the outcome of the call was known"
        if not tool.certain:
            reason += "; the call may still be running where it was started"
        unknown, question = ToolOutcome.UNKNOWN, tool.question_id or None
        return ToolFinished(request_id=request_id, at=now, outcome=unknown, reason=reason, question_id=question)
    return None


def _reissue(tool: OpenTool) -> ToolReissued:
    again = tool.request.model_copy(update={"try_number": tool.request.try_number + 1})
    return ToolReissued(replaces=tool.request.request_id, again=again)


def _ask_for_outcome(tool: OpenTool, request_id: str, question_id: str) -> ClarificationRequested:
    step = _purpose(tool.request.node)
    question = outcome_question(tool.request.tool, step, lives=not tool.certain, forked=tool.forked)
    return ClarificationRequested(
        **question.form,
        question_id=question_id,
        node=request_id,
        why=f"{tool.request.node}: {'made before the fork' if tool.forked else 'the outcome is unknown'}",
        blocks=(tool.request.node,),
    )


def _purpose(node: str) -> str:
    """Return the purpose of a call in words: the step of its node, or the call that it undoes."""
    step, _, place = node.partition("/")
    return f"the undo of call {place.removeprefix('n')}" if step == "undo" else f"the step '{step_of(node)}'"


def _apply_answer(
    request_id: str, tool: OpenTool, questions: Questions, now: float
) -> ToolReissued | ToolFinished | None:
    question = questions[tool.question_id]
    if question.open:
        return None
    if question.status is Status.ANSWERED and question.answer == NOT_RUN:
        return _reissue(tool)
    outcome, reason = ToolOutcome.UNKNOWN, "nobody has reported the outcome of the call"
    if question.status is Status.ANSWERED:
        ran = question.answer == SUCCEEDED
        outcome = ToolOutcome.SUCCEEDED if ran else ToolOutcome.FAILED
        reason = "" if ran else "a person reported that the call failed"
    return ToolFinished(request_id=request_id, at=now, outcome=outcome, reason=reason, question_id=tool.question_id)


def work_of(tools: Tools, epoch: int) -> dict[str, Work]:
    """Return the open calls, and the checks of an earlier driver's calls, as work for the tools' actors."""
    work: dict[str, Work] = {}
    for request_id, tool in tools.items():
        if tool.phase == "checking" and tool.started is not None:
            check = ToolCheckRequested(call=request_id, process=tool.started.process)
            work[check.request_id] = Work(check.request_id, f"tool:{tool.request.tool}", check, repeatable=True)
        elif tool.phase == "running" and tool.epoch == epoch:
            request = tool.request
            work[request_id] = Work(request_id, f"tool:{request.tool}", request, repeatable=request.repeatable)
    return work


def charge_event(ledger: Ledger, tools: Tools, event: ToolEvent) -> Ledger:
    """Return the ledger after an event about a call. `tools` has the calls that were open before the event.

    A call that reports no cost is charged with its reservation, as unknown. A call that was not begun costs nothing.
    """
    match event:
        case ToolRequested() if event.micro_usd_max:
            return ledger.reserve(event.request_id, event.reserve)
        case ToolReissued() if event.again.micro_usd_max:
            return release_call(ledger, tools, event.replaces).reserve(event.again.request_id, event.again.reserve)
        case ToolFinished() if event.cost is not None and event.cost.micro_usd is not None:
            return ledger.settle(event.request_id, Amount(micro_usd=event.cost.micro_usd))
        case ToolFinished():
            return release_call(ledger, tools, event.request_id)
        case _:
            return ledger


def release_call(ledger: Ledger, tools: Tools, request_id: str) -> Ledger:
    """Return the ledger without the reservation of a call.

    The reservation is charged as unknown if the call had begun.
    """
    if request_id not in ledger.reserved:
        return ledger
    tool = tools.get(request_id)
    return ledger.refund(request_id) if tool is None or tool.started is None else ledger.forfeit(request_id)


def release_all(ledger: Ledger, tools: Tools, left: Tools) -> Ledger:
    """Return the ledger without the reservations of the calls that are in `tools` but not in `left`."""
    for name in tools.keys() - left.keys():
        ledger = release_call(ledger, tools, name)
    return ledger
