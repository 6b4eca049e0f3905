"""Reads the report that a coding agent prints at the end of a call: its result, its cost and its turns. Pure.

`claude -p --output-format json` prints one JSON object. `codex exec --json` prints one event per line, with
numbers of tokens and without a price. Unknown fields are ignored, so that newer releases can be read too.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from actors.run.tools import ToolCost
from runtime.core.ledger import MICRO

COUNT_MAX = 10**12
"""The largest number of tokens, turns or dollars that a report may give."""
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The report of an agent about its work."""

    text: str
    """Its final text; empty if it has none."""
    cost: ToolCost
    problem: str = ""
    """The failure that it reports, or why its output cannot be read, in one line; empty if it reports no failure."""


def read_report(form: Literal["claude", "codex", "none"], output: str) -> AgentReport:
    """Return the report in an agent's standard output, which has the form `form`."""
    match form:
        case "claude":
            return _read_claude(output)
        case "codex":
            return _read_codex(output)
        case "none":
            return AgentReport(output, ToolCost())


def _read_claude(output: str) -> AgentReport:
    found = [item for item in _read_objects(output) if item.get("type") == "result"]
    if not found:
        return AgentReport("", ToolCost(), _unreadable_text("claude", "no JSON object of the type 'result'", output))
    last = found[-1]
    usage = _as_mapping(last.get("usage"))
    read = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    cost = ToolCost(
        micro_usd=_micro_usd(last.get("total_cost_usd")),
        input_tokens=sum(map(_count, read)),
        output_tokens=_count(usage.get("output_tokens")),
        turns=_count(last.get("num_turns")),
        session=_text(last.get("session_id"))[:200],
    )
    text, subtype = _text(last.get("result")), _text(last.get("subtype"))
    if last.get("is_error") is False and subtype in ("", "success"):
        return AgentReport(text, cost)
    errors = last.get("errors")
    message = text or "; ".join(map(_text, errors if isinstance(errors, list) else ()))
    # A wrong API key is an error that is reported with the subtype 'success'.
    error = "an error" if subtype in ("", "success") else subtype
    return AgentReport(text, cost, f"the agent reports {error}" + (f": {_line(message)}" if message else ""))


def _read_codex(output: str) -> AgentReport:
    text = session = problem = ""
    turns = into = out = 0
    ended = False
    for event in _read_objects(output):
        match event.get("type"):
            case "thread.started":
                session = _text(event.get("thread_id"))[:200]
            case "item.completed":
                item = _as_mapping(event.get("item"))
                if item.get("type", item.get("item_type")) in ("agent_message", "assistant_message"):
                    text = _text(item.get("text"))
            case "turn.completed":
                usage, ended, problem = _as_mapping(event.get("usage")), True, ""
                turns, into = turns + 1, into + _count(usage.get("input_tokens"))
                out += _count(usage.get("output_tokens"))
            case "turn.failed":
                ended = True
                message = _text(_as_mapping(event.get("error")).get("message"))
                problem = "the agent reports a failed turn" + (f": {_line(message)}" if message else "")
            case _:
                pass
    if not ended:
        problem = _unreadable_text("codex", "no event 'turn.completed'", output)
    return AgentReport(text, ToolCost(input_tokens=into, output_tokens=out, turns=turns, session=session), problem)


def _read_objects(output: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in an output: one object, a list of objects, or one object per line among other lines."""
    try:
        whole = json.loads(output)
    except (ValueError, RecursionError):
        whole = None
    if whole is None:
        for line in output.splitlines():
            if line.lstrip()[:1] == "{":
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value
        return
    for value in whole if isinstance(whole, list) else [whole]:
        if isinstance(value, dict):
            yield value


def _unreadable_text(form: str, lacks: str, output: str) -> str:
    shown = f", but begins with {_line(output)!r}" if output.strip() else ": it is empty"
    return f"its output is not what `report: {form}` says: it has {lacks}{shown}"


def _line(text: str) -> str:
    first = next((row for row in text.splitlines() if row.strip()), "").strip()
    return first[:_SHOWN]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _micro_usd(dollars: Any) -> int | None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < COUNT_MAX:
        return None
    return math.ceil(round(dollars * MICRO, 6))


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= COUNT_MAX else 0
