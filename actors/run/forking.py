"""Forks: a run that begins with the first records of another one and goes on from there by itself. Pure.

A fork has copies of these records, so nothing of it depends on the other run any more. The event after them gives it
a budget of its own, and says what becomes of the work that was open: `docs/explanation/forks.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import field_serializer

from actors.run.calls import C, Calls, OpenCall, Tries
from actors.run.ids import step_of
from actors.run.questions import Questions
from actors.run.tools import OpenTool, ToolRequested, Tools, ToolStarted
from actors.run.waits import TimedEvent
from runtime.core.copies import changed
from runtime.core.events import Value, text_hash
from runtime.core.ledger import Amount, Ledger, Limits

if TYPE_CHECKING:
    from actors.run.state import RunState

OF_ORIGIN = -1
"""The epoch of work that the other run had asked for: no driver of the fork has, so each asks for it again."""


class MadeCall(Value):
    """A call of a tool that is not repeatable, which the other run has made after the place of the fork."""

    tool: str
    """The name of the tool."""
    step: str
    """The step that it was made for."""
    arguments: str
    """The hash of its arguments."""

    @classmethod
    def of(cls, request: ToolRequested) -> "MadeCall":
        """Return the call that a request asks for."""
        return cls(tool=request.tool, step=step_of(request.node), arguments=text_hash(request.arguments))

    def is_like(self, other: "MadeCall") -> bool:
        """Tell whether the other call has the same tool, and the same step or the same arguments."""
        return self.tool == other.tool and (self.step == other.step or self.arguments == other.arguments)


class Forked(TimedEvent):
    """The records before this one are those of another run; from here on the run goes on by itself."""

    texts: ClassVar[tuple[str, ...]] = ("pinned",)
    kind: Literal["forked"] = "forked"
    origin: str
    """The id of the other run."""
    seq: int
    """The number of its record after which the fork begins."""
    hash: str
    """The hash of that record in the other run's chain, in hex."""
    limits: Limits
    """The limits of the fork, against which only its own work counts."""
    pinned: str = ""
    """The JSON of the configuration from now on; empty where it stays."""
    made: tuple[MadeCall, ...] = ()
    """The calls of tools that are not repeatable, which the other run has made after that record."""

    @field_serializer("limits")
    def _all_limits(self, limits: Limits) -> dict[str, Any]:
        """Write every limit, whatever a later release defaults to."""
        return limits.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a run comes from."""

    origin: str
    """The id of the other run."""
    seq: int
    """The number of the last record that the two share."""
    used: Amount
    """What the other run had committed up to there; it does not count against the fork's limits."""
    made: tuple[MadeCall, ...]
    """As in `Forked`."""


def forked(run: "RunState[C]", event: Forked) -> "RunState[C]":
    """Return the common part of a fork at its beginning: what was open waits for the fork's first driver."""
    used = Amount() if run.child else run.ledger.committed
    return changed(
        run,
        now=max(run.now, event.at),
        wall=event.at,
        mono=None,
        epoch=0,
        parked=False,
        handover=False,
        parked_reasons=(),
        parked_cause="",
        ledger=Ledger(event.limits),
        calls=_calls(run.calls),
        tools={name: _tool(tool, event.made) for name, tool in run.tools.items()},
        waits={},
        questions=_questions(run.questions, event.at),
        renewing=False,
        reopening=False,
        fork=Fork(event.origin, event.seq, used, event.made),
    )


def _calls(calls: Calls[C]) -> Calls[C]:
    """Return open calls as those of no driver, and failed ones as if nobody had waited for them yet."""
    opened: Mapping[str, OpenCall[C]] = {
        name: OpenCall(open_call.request, OF_ORIGIN) for name, open_call in calls.open.items()
    }
    return changed(calls, open=opened, tries={call: _tries(tries) for call, tries in calls.tries.items()})


def _tries(tries: Tries[C]) -> Tries[C]:
    phase = "rested" if tries.phase in ("failed", "waiting") else tries.phase
    return replace(tries, count=0, waited=0.0, bad_replies=0, phase=phase)


def _questions(questions: Questions, at: float) -> Questions:
    """Return the questions with the open ones asked now."""
    return {name: replace(each, at=at) if each.open else each for name, each in questions.items()}


def _tool(tool: OpenTool, made: Iterable[MadeCall]) -> OpenTool:
    """Return a call that was open: its process is the other run's, and whether it is made again is decided anew."""
    if tool.phase == "asked":
        return replace(tool, epoch=OF_ORIGIN, certain=True)
    begun = tool.started is not None and not tool.request.repeatable
    held = begun or is_made(tool.request, made)
    at_rest = replace(tool, epoch=OF_ORIGIN, started=None, phase="settled" if held else "running", certain=True)
    return replace(at_rest, forked=True, started=tool.started if begun else None)


def is_made(request: ToolRequested, made: Iterable[MadeCall]) -> bool:
    """Tell whether a call must not be made without asking: it is not repeatable, and the other run has made it."""
    return not request.repeatable and any(each.is_like(MadeCall.of(request)) for each in made)


def held_back(tools: Tools, request: ToolRequested, fork: Fork | None) -> Tools:
    """Return the open calls, the latest one held back for a person's answer where the other run has made it."""
    if fork is None or not is_made(request, fork.made):
        return tools
    return {**tools, request.request_id: replace(tools[request.request_id], phase="settled", forked=True)}


def calls_made(events: Iterable[Any]) -> tuple[MadeCall, ...]:
    """Return the calls of tools that are not repeatable and were begun in the events after the place of a fork.

    `events` are all events of the other run; each is given with whether it comes after that place.
    """
    requests: dict[str, ToolRequested] = {}
    made: dict[MadeCall, None] = {}
    for after, event in events:
        asked = getattr(event, "again", event)
        if isinstance(asked, ToolRequested):
            requests[asked.request_id] = asked
        elif isinstance(event, ToolStarted) and after and not requests[event.request_id].repeatable:
            made[MadeCall.of(requests[event.request_id])] = None
    return tuple(made)
