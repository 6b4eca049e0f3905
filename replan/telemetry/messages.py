"""Prompts and replies in the form of the conventions, as JSON. Only where the user has opted in. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from actors.run.kind import Kind
from replan.telemetry import conventions as names
from runtime.core.errors import UsageProblem
from runtime.core.events import Record


def input_messages(kind: Kind[Any, Any], records: Sequence[Record[Any]], request_id: str) -> dict[str, str]:
    """Return the attributes with the messages that a call got; none where they cannot be rebuilt."""
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


def output_messages(content: str, finish_reason: str) -> str:
    """Return a reply as the JSON of messages."""
    parts = [{"type": "text", "content": content}]
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}], ensure_ascii=False)
