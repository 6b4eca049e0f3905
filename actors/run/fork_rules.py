"""Forks. A fork is a run that begins with the first records of another run and then goes on independently. Pure.

A fork copies these records, so it does not depend on the other run. The event after these records sets the fork's own
budget, and decides about open work: `docs/explanation/forks.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from actors.run.calls import C, Calls, OpenCall, Tries
from actors.run.fork_event import Fork, Forked, MadeCall
from actors.run.questions import Questions
from actors.run.state import RunState
from actors.run.tools import OpenTool, ToolRequested, Tools, ToolStarted
from runtime.core.copies import changed
from runtime.core.ledger import Amount, Ledger

OF_ORIGIN = -1
"""The epoch of open work in a fork that was requested in the copied records of the other run. The fork's first driver
requests this work again."""


def start_fork(run: RunState[C], event: Forked) -> RunState[C]:
    """Return the common part of a fork at its beginning. Open work waits for the fork's first driver."""
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
        calls=_reopen_calls(run.calls),
        tools={name: _reopen_tool(tool, event.made) for name, tool in run.tools.items()},
        waits={},
        questions=_reopen_questions(run.questions, event.at),
        renewing=False,
        reopening=False,
        limit_question="",
        warned={},
        deadline_set=event.at,
        fork=Fork(event.origin, event.seq, used, event.made, event.workspace),
    )


def _reopen_calls(calls: Calls[C]) -> Calls[C]:
    """Return the calls of a fork. The open calls have no driver, and the failed calls may wait as long as at first."""
    opened: Mapping[str, OpenCall[C]] = {
        name: OpenCall(open_call.request, OF_ORIGIN) for name, open_call in calls.open.items()
    }
    return changed(calls, open=opened, tries={call: _reopen_tries(tries) for call, tries in calls.tries.items()})


def _reopen_tries(tries: Tries[C]) -> Tries[C]:
    phase = "rested" if tries.phase in ("failed", "waiting") else tries.phase
    return replace(tries, count=0, waited=0.0, bad_replies=0, phase=phase)


def _reopen_questions(questions: Questions, at: float) -> Questions:
    return {
        name: replace(question, at=at, steps_done=0) if question.open else question
        for name, question in questions.items()
    }


def _reopen_tool(tool: OpenTool, made: Iterable[MadeCall]) -> OpenTool:
    """Return an open call of a tool without its process, which belongs to the other run.

    If the result has the phase `settled`, a person is asked before the call is made.
    """
    if tool.phase == "asked":
        return replace(tool, epoch=OF_ORIGIN, certain=True)
    begun = tool.started is not None and not tool.request.repeatable
    held = begun or _was_made_before_fork(tool.request, made)
    at_rest = replace(tool, epoch=OF_ORIGIN, started=None, phase="settled" if held else "running", certain=True)
    return replace(at_rest, forked=True, started=tool.started if begun else None)


def _was_made_before_fork(request: ToolRequested, made: Iterable[MadeCall]) -> bool:
    return not request.repeatable and any(item.is_like(MadeCall.of(request)) for item in made)


def hold_back_call(tools: Tools, request: ToolRequested, fork: Fork | None) -> Tools:
    """Return the open calls after a request.

    If the other run has already made the requested call, a person is asked first.
    """
    if fork is None or not _was_made_before_fork(request, fork.made):
        return tools
    return {**tools, request.request_id: replace(tools[request.request_id], phase="settled", forked=True)}


def calls_before_fork(events: Iterable[Any]) -> tuple[MadeCall, ...]:
    """Return the calls of tools that are not repeatable and that the other run began after the record of the fork.

    `events` are all events of the other run, each with a flag: whether the event comes after that record.
    """
    requests: dict[str, ToolRequested] = {}
    calls_made: dict[MadeCall, None] = {}
    for after, event in events:
        request = getattr(event, "again", event)
        if isinstance(request, ToolRequested):
            requests[request.request_id] = request
        elif isinstance(event, ToolStarted) and after and not requests[event.request_id].repeatable:
            calls_made[MadeCall.of(requests[event.request_id])] = None
    return tuple(calls_made)
