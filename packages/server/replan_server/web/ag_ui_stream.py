"""The endpoint of the protocol AG-UI 1.0. A request starts a run or answers its questions, and streams its events.

A thread of AG-UI is one run. The client chooses the thread's id: the id of an existing run, or a name. The server makes
the id of a new run from the name, so a repeated request finds the same run. The stream ends when the run rests
(`is_at_rest`). The last event has the result, the questions as interrupts, or the reason why no process drives the run.
The run goes on after the client has disconnected.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.kind import Kind
from actors.run.open_question import question_parts
from actors.run.tools import ToolFinished, ToolReissued, ToolRequested
from actors.run.words import in_words
from replan.runs.families import ShownRun, read_shown
from replan.setup.installation import program
from replan.views.errors import line_of_error
from replan.views.rows import record_to_json
from replan_server.service import messages
from replan_server.service.access import Principal
from replan_server.service.ag_ui_input import AgUiInput
from replan_server.service.messages import hash_key
from replan_server.service.read_operations import open_questions, state_of
from replan_server.service.requests import HTTP, ProgramRequest, encode_json
from replan_server.service.service import is_at_rest
from replan_server.service.write_operations import start_run
from replan_server.web.site import Site
from replan_server.web.streams import EventStream
from runtime.core.errors import JournalError, RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.core.names import RUN_ID
from runtime.logs.terminal_text import clean

AgUiEvent = dict[str, Any]
"""An event as it is sent: its `type`, and its fields in camel case."""
PROTOCOL = "1.0"


class AgUiSteps:
    """Turns the records of a run into events of AG-UI, and remembers the steps that have begun but not ended."""

    def __init__(self, kind: Kind[Any, Any]) -> None:
        self._kind, self._open = kind, dict[str, str]()

    def events_of(self, record: Record[Any]) -> Iterator[AgUiEvent]:
        """Yield the events of one record."""
        common = {"timestamp": int(record.at * 1000)}
        for event in self._of_event(record.event):
            yield {**event, **common}
        value = record_to_json(self._kind, record)
        yield {"type": "CUSTOM", "name": "replan.record", "value": value, **common}

    def end_steps(self) -> Iterator[AgUiEvent]:
        """Yield the events that end all open steps, because the stream ends."""
        for request_id in tuple(self._open):
            yield from self._finish_events(request_id)

    def _of_event(self, event: Any) -> Iterator[AgUiEvent]:
        match event:
            case CallRequested():
                yield self._start_event(event.request_id)
            case CallReissued(replaces=replaced, again=again):
                yield from self._finish_events(replaced)
                yield self._start_event(again.request_id)
            case Replied() | CallFailed() | Settled():
                yield from self._finish_events(event.request_id)
            case ToolRequested():
                yield from _tool_call(event)
            case ToolReissued(again=again):
                yield from _tool_call(again)
            case ToolFinished():
                yield {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": f"{event.request_id}:result",
                    "toolCallId": event.request_id,
                    "content": clean(event.output or event.reason),
                    "role": "tool",
                }
            case _:
                pass

    def _start_event(self, request_id: str) -> AgUiEvent:
        name = in_words(request_id)
        self._open[request_id] = request_id if name in self._open.values() else name
        return {"type": "STEP_STARTED", "stepName": self._open[request_id]}

    def _finish_events(self, request_id: str) -> Iterator[AgUiEvent]:
        if (name := self._open.pop(request_id, None)) is not None:
            yield {"type": "STEP_FINISHED", "stepName": name}


def _tool_call(call: ToolRequested) -> Iterator[AgUiEvent]:
    yield {"type": "TOOL_CALL_START", "toolCallId": call.request_id, "toolCallName": call.tool}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call.request_id, "delta": call.arguments}
    yield {"type": "TOOL_CALL_END", "toolCallId": call.request_id}


def _text_message(message_id: str, text: str) -> Iterator[AgUiEvent]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text}
    yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def _interrupt_of(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return an open question as an interrupt. If its metadata has `peopleOnly`, programs must not answer it."""
    found = {
        "id": str(question["id"]),
        "reason": str(question["why"]),
        "message": clean("\n".join(part for part, _ in question_parts(question))),
        "responseSchema": dict(question["answer_schema"]),
        "metadata": {"peopleOnly": bool(question.get("people_only")), "priority": question["priority"]},
    }
    return {**found, "expiresAt": question["until"]} if "until" in question else found


def _outcome_of(outcome: str, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the outcome in AG-UI: interrupts if there are open `questions`, or else success or cancellation."""
    if questions:
        return {"type": "interrupt", "interrupts": [_interrupt_of(question) for question in questions]}
    return {"type": "cancelled" if outcome == "cancelled" else "success"}


async def ag_ui(site: Site, request: Request, who: Principal) -> Response:
    """Start or find the run of a client's request, post the request's messages, and return the stream of the run."""
    wanted: AgUiInput = request.state.body
    place = site.streams.take(who.client)
    try:
        run = await _post_messages(site, request, who, wanted)
    except BaseException:
        place.free()
        raise
    return EventStream(place, _events(site, who, run, wanted))


async def _post_messages(site: Site, request: Request, who: Principal, wanted: AgUiInput) -> str:
    """Start or find the run of a thread, post the answers and the message to the run, and return the run's id."""
    run, started = await _run_of(site, request, who, wanted)
    for item in wanted.resume:
        if item.interrupt_id.partition("/")[0] != run:
            raise UsageProblem("the interrupt belongs to another run", place="resume.interruptId")
        await messages.answer_question(site, item.interrupt_id, item.answer, via=HTTP.via)
    message = wanted.new_message(started=started)
    if message is not None and not await _is_known(site, run, message.text):
        key = hash_key(message.id, who, f"ag-ui {run}", place="messages.id")
        await messages.tell(site, who, run, message.text, wanted.kind, key=key)
    return run


async def _run_of(site: Site, request: Request, who: Principal, wanted: AgUiInput) -> tuple[str, bool]:
    """Return the id of the run of a thread, and whether the thread has started it. Start a missing run."""
    if RUN_ID.fullmatch(wanted.thread_id):
        try:
            await site.engine.journal.row(wanted.thread_id)
        except RunNotFound:
            pass  # A name for a new run.
        else:
            return wanted.thread_id, False
    key = hash_key(wanted.thread_id, who, request.url.path, place="threadId")
    begun = await start_run(ProgramRequest(service=site, who=who, terms=HTTP, body=wanted.start(), key=key))
    return str(begun["run_id"]), True


async def _is_known(site: Site, run: str, text: str) -> bool:
    """Return whether a finished run already has the message `text`, which a client sends again when it reconnects."""
    shown = await read_shown(site.reader, run)
    return shown.status == "finished" and any(message.text == text.strip() for message in shown.result.messages)


async def _events(site: Site, who: Principal, run: str, wanted: AgUiInput) -> AsyncGenerator[str, None]:
    """Yield the events of the records that the client does not have, until the run rests (`is_at_rest`)."""
    place = {"threadId": wanted.thread_id, "runId": wanted.run_id}
    request = ProgramRequest(service=site, who=who, terms=HTTP, run=run)
    after, steps = wanted.after, None
    yield _encode_event({"type": "RUN_STARTED", **place, "protocolVersion": PROTOCOL})
    async with aclosing(site.hub.changes(site.stop)) as changes:
        async for changed in changes:
            if site.visitor_ended(who):
                return
            if not changed:
                yield ": ping\n\n"
            try:
                shown = await read_shown(site.reader, run)
                questions = await open_questions(request, run)
            except JournalError as error:
                if error.passing:
                    continue  # The journal may be busy. The next change or ping tells.
                yield _encode_event(
                    {"type": "RUN_ERROR", "message": line_of_error(error), "code": type(error).__name__}
                )
                return
            steps = steps or AgUiSteps(shown.loaded.kind)
            records = shown.loaded.records[after:]
            for record in records:
                for event in steps.events_of(record):
                    yield _encode_event(event)
            rests = is_at_rest(site, shown)
            if records or rests:
                after = max(after, shown.loaded.seq)
                snapshot = {**state_of(shown, questions), "after": after}
                yield _encode_event({"type": "STATE_SNAPSHOT", "snapshot": snapshot})
            if rests:
                for event in (*steps.end_steps(), *_ending(shown, questions, place)):
                    yield _encode_event(event)
                return


def _ending(shown: ShownRun, questions: list[dict[str, object]], place: dict[str, str]) -> Iterator[AgUiEvent]:
    run = shown.row.run
    if shown.status == "finished":
        lines = shown.loaded.kind.views.lines(shown.result, program(), full=False)
        yield from _text_message(f"{run}:{shown.loaded.seq}", "\n".join(line.plain for line in lines))
        outcome = _outcome_of(shown.result.outcome, ())
        yield {"type": "RUN_FINISHED", **place, "outcome": outcome, "result": shown.result_json}
    elif questions:
        yield {"type": "RUN_FINISHED", **place, "outcome": _outcome_of("", questions)}
    else:
        why = shown.result.why or state_of(shown, questions)["next"]
        yield {"type": "RUN_ERROR", "message": why, "code": shown.status}


def _encode_event(event: AgUiEvent) -> str:
    return f"data: {encode_json(event).decode()}\n\n"
