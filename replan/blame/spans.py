"""Reads traces that are OpenTelemetry spans with the conventions for generative AI: OTLP as JSON, or the SDK's console.

A span of a chat is a step of its agent, one of `execute_tool` a step of the tool; spans of agents name the agents below
them. Texts are in a span only where its program was told to record them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replan.blame.trace import AgentTrace, TraceStep
from replan.telemetry.conventions import (
    AGENT_NAME,
    INPUT_MESSAGES,
    OPERATION,
    OUTPUT_MESSAGES,
    REQUEST_MODEL,
    TOOL_NAME,
    TOOL_RESULT,
)

_CHATS = frozenset({"chat", "text_completion", "generate_content"})
_PARENTS_MAX = 100


@dataclass(frozen=True, slots=True)
class _Span:
    trace: str
    span: str
    parent: str
    begun: str
    failed: bool
    attributes: Mapping[str, Any]


def traces_of_spans(values: Iterable[Any]) -> list[AgentTrace]:
    """Return the traces of values for which `holds_spans` is true, in the order of their first spans."""
    by_trace = defaultdict[str, list[_Span]](list)
    for value in values:
        for span in _spans(value):
            by_trace[span.trace].append(span)
    found = [(name, _steps(spans)) for name, spans in by_trace.items()]
    return [AgentTrace(format="OpenTelemetry spans", steps=steps, name=name) for name, steps in found if steps]


def holds_spans(value: Any) -> bool:
    """Return whether a value has the form of spans: OTLP's or the console's, or a list of these."""
    if isinstance(value, list):
        return bool(value) and all(map(holds_spans, value))
    return isinstance(value, Mapping) and (_is_otlp(value) or _is_console(value))


def _is_otlp(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("resourceSpans"), list)


def _is_console(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("context"), Mapping) and "attributes" in value


def _spans(value: Any) -> Iterator[_Span]:
    if isinstance(value, list):
        for each in value:
            yield from _spans(each)
    elif _is_otlp(value):
        for resource in value["resourceSpans"]:
            for scope in _list(resource, "scopeSpans"):
                for span in _list(scope, "spans"):
                    yield _of_otlp(span)
    else:
        yield _of_console(value)


def _list(value: Any, key: str) -> list[Mapping[str, Any]]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _of_otlp(span: Mapping[str, Any]) -> _Span:
    attributes = {str(each.get("key")): _value(each.get("value")) for each in _list(span, "attributes")}
    status = span.get("status")
    code = status.get("code") if isinstance(status, Mapping) else None
    trace, name, parent = (str(span.get(key) or "") for key in ("traceId", "spanId", "parentSpanId"))
    # Times are whole numbers of nanoseconds since 1970, as texts of equal length.
    begun = str(span.get("startTimeUnixNano") or "").zfill(20)
    return _Span(trace, name, parent, begun, code in (2, "STATUS_CODE_ERROR"), attributes)


def _of_console(span: Mapping[str, Any]) -> _Span:
    context, attributes, status = span["context"], span["attributes"], span.get("status")
    failed = isinstance(status, Mapping) and status.get("status_code") == "ERROR"
    names = str(context.get("trace_id") or ""), str(context.get("span_id") or ""), str(span.get("parent_id") or "")
    return _Span(
        *names, str(span.get("start_time") or ""), failed, attributes if isinstance(attributes, Mapping) else {}
    )


def _value(value: Any) -> Any:
    """Return the value of an attribute of OTLP's JSON."""
    if not isinstance(value, Mapping):
        return None
    for key in ("stringValue", "intValue", "doubleValue", "boolValue"):
        if key in value:
            return value[key]
    if isinstance(value.get("arrayValue"), Mapping):
        return [_value(each) for each in _list(value["arrayValue"], "values")]
    if isinstance(value.get("kvlistValue"), Mapping):
        return {str(each.get("key")): _value(each.get("value")) for each in _list(value["kvlistValue"], "values")}
    return None


def _steps(spans: list[_Span]) -> tuple[TraceStep, ...]:
    """Return the steps of a trace by the beginnings of its spans; the first chat's question comes before them."""
    by_id, steps = {span.span: span for span in spans}, list[TraceStep]()
    for span in sorted(spans, key=lambda each: each.begun):
        operation = str(span.attributes.get(OPERATION) or "")
        failed = span.failed or "error.type" in span.attributes
        if operation in _CHATS:
            if not steps and (asked := _said(span.attributes.get(INPUT_MESSAGES), "user")[0]):
                steps.append(TraceStep("user", "user", asked))
            text, calls = _said(span.attributes.get(OUTPUT_MESSAGES), "")
            steps.append(TraceStep(_agent(span, by_id), "agent", text, calls_tool=calls, failed=failed))
        elif operation == "execute_tool":
            name, result = str(span.attributes.get(TOOL_NAME) or "tool"), span.attributes.get(TOOL_RESULT)
            text = (
                result if isinstance(result, str) else "" if result is None else json.dumps(result, ensure_ascii=False)
            )
            steps.append(TraceStep(name, "tool", text, failed=failed))
    return tuple(steps)


def _agent(span: _Span, by_id: Mapping[str, _Span]) -> str:
    """Return the agent that a span is of: its own, else that of the nearest span around it, else the model."""
    around: _Span | None = span
    for _ in range(_PARENTS_MAX):
        if around is None:
            break
        if name := around.attributes.get(AGENT_NAME):
            return str(name)
        around = by_id.get(around.parent)
    return str(span.attributes.get(REQUEST_MODEL) or "agent")


def _said(messages: Any, role: str) -> tuple[str, bool]:
    """Return the texts of messages of a role, or of all, and whether one calls a tool."""
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):  # Cut or nested too deeply: the text itself is still evidence.
            return messages, False
    texts, calls = list[str](), False
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, Mapping) or (role and message.get("role") != role):
            continue
        for part in _list(message, "parts"):
            calls |= part.get("type") == "tool_call"
            texts.append(str(part.get("content") or json.dumps(part, ensure_ascii=False)))
        if isinstance(message.get("content"), str):
            texts.append(message["content"])
    return "\n".join(texts), calls
