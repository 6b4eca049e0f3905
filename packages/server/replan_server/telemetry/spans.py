"""The spans of a run, made from its records. Pure: the same records give the same spans, in the same order.

A span is complete when its end is recorded, and never changes again. So a run that waits for days already has spans
before its end. The span of the whole run ends when the run ends for the first time. If the run is reopened, its later
work is in another span, which is a child of the first span.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.ending import Outcome, RunFinished
from actors.run.ids import child_run, is_child, is_of_question, node_of, step_of
from actors.run.kind import Kind
from actors.run.near_limit import LimitNear
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.settings import SettingsChanged
from actors.run.tools import ToolFinished, ToolOutcome, ToolReissued, ToolRequested
from actors.run.views import CheckBegan, CheckEnded, Marked, Scalar
from actors.run.waits import DEADLINE, Started, WaitEnded, WaitRequested
from replan_server.telemetry import conventions as names
from replan_server.telemetry.conventions import model_label, provider_label
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import MICRO, Usage
from runtime.core.names import span_id, trace_id


def _input_messages(kind: Kind[Any, Any], records: Sequence[Record[Any]], request_id: str) -> dict[str, str]:
    """Return the attributes with the messages of a model call; empty if they cannot be made from the records."""
    if kind.views.prompt is None:
        return {}
    try:
        sent = kind.views.prompt(records, request_id, None)
    except UsageProblem:
        return {}
    system = [{"type": "text", "content": text} for role, text in sent.messages if role == "system"]
    others = [
        {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in sent.messages if role != "system"
    ]
    attributes = {names.INPUT_MESSAGES: json.dumps(others, ensure_ascii=False)}
    if system:
        attributes[names.SYSTEM_INSTRUCTIONS] = json.dumps(system, ensure_ascii=False)
    return attributes


def _output_messages(content: str, finish_reason: str) -> str:
    parts = [{"type": "text", "content": content}]
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}], ensure_ascii=False)


WITHDRAWN = "withdrawn"
"""The error type of a span whose work was no longer needed, or was not finished when the run ended."""
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A relation to a span of another run."""

    run: str
    """The id of the other run. The link leads to the span of the whole other run."""
    relation: str
    """The role of the other run: `parent`, `child` or `made_from`."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span. Times are whole nanoseconds since 1970, UTC."""

    trace: int
    id: int
    parent: int | None
    """The id of the parent span; None for the span of the whole run. A parent may be exported after its children."""
    name: str
    start: int
    end: int = 0
    """When the span ended; 0 while it is open."""
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    links: tuple[SpanLink, ...] = ()
    remote: bool = False
    """Whether the span is a call to a server."""
    failed: bool = False
    """Whether the span ended in an error. The attribute `error.type` names the error."""


def _tokens(usage: Usage) -> dict[str, Scalar]:
    """Return the attributes with the tokens of a call. Zero counts of cached or reasoning tokens are left out."""
    parts = {
        names.CACHE_READ_TOKENS: usage.cache_read_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        names.REASONING_TOKENS: usage.reasoning_tokens,
    }
    totals = {names.INPUT_TOKENS: usage.input_tokens, names.OUTPUT_TOKENS: usage.output_tokens}
    return {**totals, **{name: count for name, count in parts.items() if count}}


def _nanoseconds(at: float) -> int:
    """Return a time in whole nanoseconds. Records are precise to microseconds, so smaller parts are rounded away."""
    return round(at * 1_000_000) * 1000


class Trace:
    """Turns the records of one run into spans. `take` must be called with every record, in order."""

    def __init__(self, kind: Kind[Any, Any], run: str, *, content: bool = False) -> None:
        """Begin the trace of a run. With `content`, spans have prompts, replies, and arguments and outputs of tools."""
        self._kind, self._run, self._content = kind, run, content
        self._trace, self._tracing = trace_id(run), kind.views.tracing
        self._state: Any = kind.machine.initial()
        self._records: list[Record[Any]] = []
        self._open: dict[str, Span] = {}
        self._checks: set[str] = set()
        self._attempts: dict[str, int] = {}
        self._done: list[Span] = []
        self._root: Span | None = None
        self._root_key, self._under, self._model = "", 0, ""
        self._at, self._last, self._left = 0, 0, 0
        self._shared = 0
        self.seq = 0
        """The number of the last record that was taken; 0 before the first record."""

    def take(self, record: Record[Any]) -> list[Span]:
        """Process the next record. Return the spans that the record completes."""
        self._done = []
        event, self.seq, self._at = record.event, record.seq, max(_nanoseconds(record.at), self._last)
        self._state = self._kind.machine.evolve(self._state, event)
        if self._content:
            self._records.append(record)
        if self._root is None:
            self._begin()
            self._shared = event.shared if isinstance(event, Started) else 0
        if self.seq <= self._shared:  # Copies of another run's records, which is a trace of its own.
            if isinstance(event, SettingsChanged):
                self._model = event.model or self._model
            return self._done
        if isinstance(event, RunResumed):
            self._on_resume(event)
        self._process_common_event(event)
        self._process_own_event(event)
        for attempt in self._tracing.ended(event, [*self._open_attempts()]):
            self._end(f"attempt:{attempt}")
        self._withdraw(event)
        if isinstance(event, RunFinished):
            self._finish(event)
        self._last = self._at
        return self._done

    def by_child(self, event: Any) -> bool:
        """Return whether an event is about a call that a child run answers."""
        if not isinstance(event, Replied | CallFailed | Settled):
            return False
        return child_run(self._run, node_of(event.request_id)) in self._kind.children(self._state)

    def _begin(self) -> None:
        kind, run = self._kind, self._run
        self._model = kind.model(self._state) or ""
        links = [SpanLink(run.rpartition(".")[0], "parent")] if is_child(run) else []
        made_from = kind.made_from(self._state)
        if made_from:
            links.append(SpanLink(made_from, "made_from"))
        attributes = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: kind.name, **self._about()}
        name, self._under = f"{names.INVOKE_AGENT} {kind.name}", span_id(run, self.seq)
        self._root = Span(self._trace, self._under, None, name, self._at, 0, attributes, tuple(links))
        self._root_key = "run"
        self._open[self._root_key] = self._root

    def _on_resume(self, event: RunResumed) -> None:
        self._left = self._last
        run = self._kind.run_state(self._state)
        if self._root_key not in self._open and (
            run is None or run.finished is None
        ):  # The end was undone: later work is below the run's span.
            assert self._root is not None
            self._under, self._root_key = self._root.id, f"again:{self.seq}"
            name = f"{names.INVOKE_AGENT} {self._kind.name} again"
            attributes = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: self._kind.name}
            self._under = self._start(self._root_key, name, attributes)
        self._add_event_span("resume", "", {names.EPOCH: event.epoch}, part="resume")

    def _process_common_event(self, event: Any) -> None:
        match event:
            case CallRequested():
                self._call(event)
            case CallReissued():
                self._interrupt(event.replaces)
                self._call(event.again)
            case Replied():
                self._on_reply(event)
            case CallFailed():
                self._close(event.request_id, error=str(event.fault.kind))
            case Settled():
                tokens = event.used.tokens
                late: dict[str, Scalar] = {names.REQUEST_ID: event.request_id, names.TOKENS: tokens}
                self._add_event_span("late_reply", node_of(event.request_id), late)
            case ToolRequested():
                self._tool(event)
            case ToolReissued():
                self._interrupt(event.replaces)
                self._tool(event.again)
            case ToolFinished():
                error = "" if event.outcome is ToolOutcome.SUCCEEDED else str(event.outcome)
                output = {names.TOOL_RESULT: event.output} if self._content else {}
                self._close(event.request_id, error=error, more=output)
            case ClarificationRequested():
                attributes: dict[str, Scalar] = {"replan.question": event.question_id, "replan.review": event.review}
                self._start(f"question:{event.question_id}", "ask_person", attributes, event.node)
            case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
                closed: dict[str, Scalar] = {names.OUTCOME: event.kind.removeprefix("clarification_")}
                by = {name: getattr(event, name, "") for name in ("via", "person")}
                closed |= {f"{names.OWN}{name}": value for name, value in by.items() if value}
                self._close(f"question:{event.question_id}", more=closed)
            case ClarificationReminded() | ClarificationEscalated():
                reminded: dict[str, Scalar] = {"replan.question": event.question_id, "replan.asked": event.asked}
                self._add_event_span(event.kind.removeprefix("clarification_"), "", reminded)
            case WaitRequested() if event.request_id != DEADLINE and not is_of_question(event.request_id):
                what = event.request_id.partition(":")[0]
                self._start(f"wait:{event.request_id}", f"wait {what}", {"replan.until": event.until}, event.node or "")
            case WaitEnded():
                self._end(f"wait:{event.request_id}")
            case RunParked():
                cause = str(event.cause) or ("handover" if event.handover else "person")
                self._add_event_span("park", "", {names.REASON: cause})
            case LimitNear():
                self._add_event_span(
                    "limit_near", "", {f"{names.OWN}{name}": value for name, value in event.amounts.items()}
                )
            case SettingsChanged():
                self._model = event.model or self._model
                self._add_event_span("change_settings", "", {})
            case _:
                pass

    def _process_own_event(self, event: Any) -> None:
        for position, fact in enumerate(self._tracing.facts(event)):
            match fact:
                case CheckBegan():
                    self._start(fact.request_id, f"check {fact.guard}", {names.EVALUATION_NAME: fact.guard}, fact.node)
                    self._checks.add(fact.request_id)
                case CheckEnded():
                    label = "passed" if fact.passed else "rejected"
                    more: dict[str, Scalar] = {
                        names.EVALUATION_NAME: fact.guard,
                        names.EVALUATION_SCORE: fact.score,
                        names.EVALUATION_LABEL: label,
                        "replan.codes": fact.codes,
                    }
                    self._close(fact.request_id, name=f"check {fact.guard}", node=fact.node, more=more)
                case Marked():
                    fields = {f"{names.OWN}{name}": value for name, value in fact.fields.items()}
                    if fact.rule:
                        fields |= {names.RULE: fact.rule, names.LEVEL: fact.level}
                    self._add_event_span(fact.name, fact.node, fields, part=f"mark{position}")

    def _call(self, request: CallRequested) -> None:
        attributes: dict[str, Scalar] = {names.REQUEST_ID: request.request_id, names.TRY: request.try_number}
        child, links, remote = child_run(self._run, request.node), tuple[SpanLink, ...](), False
        if child in self._kind.children(self._state):
            name, attributes[names.OPERATION] = f"{names.INVOKE_AGENT} {step_of(request.node)}", names.INVOKE_AGENT
            links = (SpanLink(child, "child"),)
        else:
            # A second call about a node is not the step's own.
            own = self._kind.step_models(self._state) if request.call == request.node else {}
            model = own.get(step_of(request.node), self._model)
            label, provider = model_label(model), provider_label(model)
            name, remote = f"{names.CHAT} {label}", provider != "replan"
            attributes |= {names.OPERATION: names.CHAT, names.PROVIDER: provider, names.REQUEST_MODEL: label}
        if self._content:
            attributes |= _input_messages(self._kind, self._records, request.request_id)
        self._start(request.request_id, name, attributes, request.node, links=links, remote=remote)

    def _on_reply(self, event: Replied) -> None:
        used = event.used
        more: dict[str, Scalar] = {
            names.FINISH_REASONS: (event.finish_reason,),
            names.OUTPUT_TYPE: "text" if event.mode == "text" else "json",
            names.CALLS: used.calls,
            names.TOKENS: used.tokens,
            names.COST: used.micro_usd / MICRO,
        }
        if event.model:
            more[names.RESPONSE_MODEL] = model_label(event.model)
        if event.usage is not None:
            more |= _tokens(event.usage)
        if self._content:
            more[names.OUTPUT_MESSAGES] = _output_messages(event.content, event.finish_reason)
        self._close(event.request_id, name=names.CHAT, node=event.node, more=more)

    def _tool(self, request: ToolRequested) -> None:
        attributes: dict[str, Scalar] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: request.tool,
            names.TOOL_CALL_ID: request.request_id,
            names.TOOL_TYPE: "function",
            names.TRY: request.try_number,
        }
        if self._content:
            attributes[names.TOOL_ARGUMENTS] = request.arguments
        self._start(request.request_id, f"{names.EXECUTE_TOOL} {request.tool}", attributes, request.node)

    def _start(
        self,
        key: str,
        name: str,
        attributes: Mapping[str, Scalar],
        node: str = "",
        *,
        part: str = "",
        links: tuple[SpanLink, ...] = (),
        remote: bool = False,
    ) -> int:
        """Begin a span. If the span of its attempt has not begun, begin it too. Return the id of the span."""
        parent, all_attributes = self._parent(node), {**self._about(), **attributes}
        if node:
            all_attributes |= {names.NODE: node, names.STEP: step_of(node)}
        known = span_id(self._run, self.seq, part)
        self._open[key] = Span(self._trace, known, parent, name, self._at, 0, all_attributes, links, remote)
        return known

    def _parent(self, node: str) -> int:
        attempt = self._tracing.attempt(node) if node else ""
        if not attempt:
            return self._under
        if attempt not in self._attempts:
            known = self._attempts[attempt] = span_id(self._run, self.seq, "attempt")
            attributes = {**self._about(), names.NODE: attempt, names.STEP: step_of(attempt)}
            name = f"attempt {step_of(attempt)}"
            if self._tracing.plans(self._state, attempt):
                name = f"{names.PLAN} {self._kind.name}"
                attributes |= {names.OPERATION: names.PLAN, names.AGENT_NAME: self._kind.name}
            self._open[f"attempt:{attempt}"] = Span(self._trace, known, self._under, name, self._at, 0, attributes)
        return self._attempts[attempt]

    def _about(self) -> dict[str, Scalar]:
        return {names.CONVERSATION_ID: self._run, names.RUN: self._run, names.SEQ: self.seq}

    def _add_event_span(self, name: str, node: str, attributes: Mapping[str, Scalar], *, part: str = "mark") -> None:
        """Add a span that begins and ends at the same time, for an event."""
        key = f"mark:{self.seq}:{part}"
        self._start(key, name, attributes, node, part=part)
        self._end(key)

    def _close(
        self,
        key: str,
        *,
        name: str = "answer",
        node: str = "",
        error: str = "",
        more: Mapping[str, Scalar] | None = None,
    ) -> None:
        """End a span. If the run's end has already ended the span, add another span for the later result."""
        if key not in self._open:
            self._start(key, name, {}, node, part="late")
            self._open[key] = replace(self._open[key], start=max(self._left, self._root.start if self._root else 0))
        self._checks.discard(key)
        self._end(key, error, more or {})

    def _end(
        self, key: str, error: str = "", more: Mapping[str, Scalar] | None = None, *, at: int | None = None
    ) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        attributes = {**span.attributes, **(more or {}), **({names.ERROR_TYPE: error} if error else {})}
        failed = bool(error) and error != WITHDRAWN
        end = max(self._at if at is None else at, span.start)
        self._done.append(replace(span, end=end, attributes=attributes, failed=failed))

    def _interrupt(self, key: str) -> None:
        self._end(key, INTERRUPTED, at=self._left)

    def _open_attempts(self) -> list[str]:
        return [key.removeprefix("attempt:") for key in self._open if key.startswith("attempt:")]

    def _withdraw(self, event: Any) -> None:
        """End the spans of requests that the run has withdrawn without a separate record."""
        if isinstance(event, Replied | CallFailed | ToolFinished | RunFinished):
            return
        run = self._kind.run_state(self._state)
        if run is None:
            return
        wanted = {*run.calls.open, *run.tools, *(f"wait:{name}" for name in run.waits), self._root_key}
        wanted |= {f"question:{name}" for name in run.open_questions}
        if self._checks:
            wanted |= self._kind.machine.outstanding(self._state).keys()
        for key in [key for key in self._open if key not in wanted and not key.startswith("attempt:")]:
            self._checks.discard(key)
            self._end(key, WITHDRAWN)

    def _finish(self, event: RunFinished) -> None:
        """End all spans except those of running tools. The span of the run comes last."""
        run = self._kind.run_state(self._state)
        running = {} if run is None else run.tools
        for key in [key for key in self._open if key not in running and key != self._root_key]:
            self._end(key, "" if key.startswith("attempt:") else WITHDRAWN)
        self._checks.clear()
        more: dict[str, Scalar] = {names.OUTCOME: str(event.outcome)}
        if run is not None:
            used = run.ledger.committed
            more |= {names.CALLS: used.calls, names.TOKENS: used.tokens, names.COST: used.micro_usd / MICRO}
        self._end(self._root_key, str(Outcome.FAILED) if event.outcome == Outcome.FAILED else "", more)


def spans_of(kind: Kind[Any, Any], records: Sequence[Record[Any]], *, content: bool = False) -> list[Span]:
    """Return the complete spans of a run in the order of their ends. `records` must be all records of the run."""
    trace = Trace(kind, records[0].run, content=content) if records else None
    return [] if trace is None else [span for record in records for span in trace.take(record)]
