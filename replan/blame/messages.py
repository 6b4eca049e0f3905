"""Reads traces that are lists of messages: Who&When's logs, AutoGen's and AG2's exports, LangGraph's states, chats."""

import json
import re
from collections.abc import Mapping
from typing import Any

from actors.values.format import counted, shortened
from replan.blame.trace import AgentTrace, StepKind, TraceStep
from runtime.core.errors import UsageProblem

NAME_MAX = 200
"""Characters that are read of a name; the rest is left out."""
LISTS = ("history", "messages", "chat_history", "conversation")
"""The keys under which an object has its messages."""
_USERS = frozenset({"user", "human", "user_proxy", "system", "developer"})
_TOOLS = re.compile(r"terminal|executor|\btool\b|^tools?$|^function$", re.IGNORECASE)
_TOOL_TYPES = frozenset(
    {"tool", "function", "ToolMessage", "FunctionMessage", "ToolCallExecutionEvent", "ToolCallSummaryMessage"}
)


def messages_in(value: Any) -> list[Mapping[str, Any]] | None:
    """Return the messages that a value holds: a list of them, an object with one, or a state of LangGraph."""
    if isinstance(value, Mapping):
        for key in ("values", "channel_values"):
            if isinstance(value.get(key), Mapping):
                return messages_in(value[key])
        value = next((value[key] for key in LISTS if isinstance(value.get(key), list)), None)
    if not isinstance(value, list) or not value or not all(isinstance(each, Mapping) for each in value):
        return None
    return value if all(_fields(each).keys() & {"content", "kwargs", "tool_calls"} for each in value) else None


def trace_of_messages(value: Any, place: str) -> AgentTrace | None:
    """Return the trace that a value holds as messages; None where it holds none.

    Raises:
        UsageProblem: its `mistake_step` is no step of it.
    """
    messages = messages_in(value)
    if messages is None:
        return None
    steps = tuple(map(_step, messages))
    about: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    return AgentTrace(
        format=_format(messages),
        steps=steps,
        name=str(about.get("thread_id") or about.get("id") or ""),
        question=str(about.get("question_ID") or about.get("question") or ""),
        mistake=_mistake(about.get("mistake_step"), len(steps), place),
        agent=_split(str(about.get("mistake_agent") or ""))[0],
    )


def _mistake(value: Any, count: int, place: str) -> int | None:
    """Return the number of the marked step; None for an unlabelled trace."""
    if value is None or value == "":
        return None
    number = _whole(value)
    if number is None or not 0 <= number < count:
        shown = shortened(repr(value), 40)
        cause = f"mistake_step {shown} is no step of a trace of {counted(count, 'step')}"
        raise UsageProblem(cause, place=place, hint="number steps from 0")
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 9 else None


def _fields(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a message; one that LangChain has serialised has them inside."""
    inside = message.get("kwargs")
    if isinstance(inside, Mapping) and isinstance(message.get("id"), list) and message["id"]:
        return {"type": str(message["id"][-1]), **inside}
    return message


def _format(messages: list[Mapping[str, Any]]) -> str:
    first = _fields(messages[0])
    if "source" in first:
        return "AutoGen messages"
    return "LangGraph messages" if "role" not in first else "chat messages"


def _step(message: Mapping[str, Any]) -> TraceStep:
    fields = _fields(message)
    role = str(fields.get("type") or fields.get("role") or "")
    role = str(fields.get("role") or role) if role == "message" else role
    named = str(fields.get("source") or fields.get("name") or "")
    agent, note = _split(named or str(fields.get("role") or role) or "unknown")
    calls = bool(fields.get("tool_calls")) or role == "ToolCallRequestEvent"
    kind = _kind(agent, note, role, named)
    if kind == "agent" and not named:
        agent = "assistant" if role in ("ai", "assistant", "AIMessage", "AIMessageChunk") else agent
    content = fields.get("content")
    failed = fields.get("status") == "error" or _any_error(content)
    return TraceStep(agent, kind, _text(content, fields.get("tool_calls")), calls_tool=calls, failed=failed)


def _split(name: str) -> tuple[str, str]:
    """Return a name without its note in brackets, and the note: `Orchestrator (-> WebSurfer)` is of `Orchestrator`.

    Of a name longer than `NAME_MAX` characters the rest is left out.
    """
    name = name[:NAME_MAX].strip()
    agent, bracket, note = name.partition("(")
    if bracket and agent and note.endswith(")"):
        return agent.rstrip(), note[:-1]
    return name, ""


def _kind(agent: str, note: str, role: str, named: str) -> StepKind:
    if role in _TOOL_TYPES or _TOOLS.search(agent):
        return "tool"
    if note:
        return "handover" if note.startswith("->") else "thought"
    if role == "ThoughtEvent":
        return "thought"
    if role == "HandoffMessage":
        return "handover"
    if agent.lower() in _USERS or role in ("human", "HumanMessage", "system", "SystemMessage"):
        return "user"
    return "user" if not named and role == "user" else "agent"


def _any_error(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(each, Mapping) and each.get("is_error") is True for each in content
    )


def _text(content: Any, calls: Any = None) -> str:
    """Return what a message says: its text, the texts of its parts, or its value as JSON; calls of tools are added."""
    if isinstance(content, str):
        text = content
    elif isinstance(content, list):
        text = "\n".join(_part(each) for each in content)
    else:
        text = "" if content is None else json.dumps(content, ensure_ascii=False)
    return f"{text}\n{json.dumps(calls, ensure_ascii=False)}".strip() if calls else text


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        found = next((part[key] for key in ("text", "content") if isinstance(part.get(key), str)), None)
        if found is not None:
            return str(found)
    return json.dumps(part, ensure_ascii=False)
