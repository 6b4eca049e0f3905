"""Reading traces from files: the format is detected, and what cannot be read is an error of one line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from replan.blame.attribution import BlameWeights
from replan.blame.messages import messages_in, trace_of_messages
from replan.blame.spans import holds_spans, traces_of_spans
from replan.blame.trace import AgentTrace
from replan.setup.data_files import data_root
from runtime.core.errors import UsageProblem

TEXT_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes of a file with traces."""
STEPS_MAX = 10_000
"""The most steps of a trace."""
FORMATS = "OpenTelemetry spans, or messages as AutoGen, LangGraph and Who&When have them"


def traces_in(text: str, place: str) -> list[AgentTrace]:
    """Return the traces in a text of JSON, or of JSON lines.

    Raises:
        UsageProblem: it is no JSON, nested too deeply, a part of it holds no trace, messages stand beside spans, a
            trace has more than `STEPS_MAX` steps, or its `mistake_step` is none of them.
    """
    try:
        found = _traces(list(_parts(text, place)), place)
    except RecursionError as error:
        raise _no_json(error, place, 0) from None
    for trace in found:
        if len(trace.steps) > STEPS_MAX:
            raise UsageProblem(f"a trace of {len(trace.steps):,} steps", place=place, hint=f"at most {STEPS_MAX:,}")
    return found


def _traces(parts: Sequence[tuple[Any, str]], place: str) -> list[AgentTrace]:
    """Return the traces of the parts of a text; each of these is read, or named in the error."""
    found, of_spans = list[AgentTrace](), any(holds_spans(value) for value, _ in parts)
    for value, where in parts:
        trace = None if of_spans else trace_of_messages(value, where)
        if trace is not None:
            found.append(trace)
        elif not (of_spans and holds_spans(value)):
            raise _no_trace(where)
    found = traces_of_spans(value for value, _ in parts) if of_spans else found
    if not found:
        raise _no_trace(place)
    return found


def _no_trace(place: str) -> UsageProblem:
    return UsageProblem("holds no trace that can be read", place=place, hint=f"give {FORMATS}")


def _parts(text: str, place: str) -> Iterator[tuple[Any, str]]:
    """Yield the parts of a text that hold a trace or spans each, with their places: rows, items of a list, or all."""
    for value, where in _values(text, place):
        if isinstance(value, list) and messages_in(value) is None:
            yield from ((part, f"{where}, item {number}") for number, part in enumerate(value, 1))
        else:
            yield value, where


def _values(text: str, place: str) -> Iterator[tuple[Any, str]]:
    """Yield the values of a text with their places: one, or one a line."""
    rows = [(number, row) for number, row in enumerate(text.split("\n"), 1) if row.strip()]
    lines = len(rows) > 1 and all(row.lstrip().startswith("{") and row.rstrip().endswith("}") for _, row in rows)
    for number, row in rows if lines else [(0, text)]:
        try:
            yield json.loads(row), f"{place}:{number}" if number else place
        except (ValueError, RecursionError) as error:
            raise _no_json(error, place, number) from None


def _no_json(error: Exception, place: str, number: int) -> UsageProblem:
    line = number or (error.lineno if isinstance(error, json.JSONDecodeError) else 0)
    cause = "nested too deeply" if isinstance(error, RecursionError) else "this is no JSON"
    return UsageProblem(cause, place=f"{place}:{line}" if line else place, hint=f"give {FORMATS}")


def read_weights(path: Path) -> BlameWeights:
    """Return the weights of a file. Raises `UsageProblem`."""
    document = read_document(path)
    try:
        return BlameWeights.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None


def shipped_weights() -> BlameWeights:
    """Return the weights that are shipped, fitted to the logs of Who&When."""
    return read_weights(data_root() / "configs" / "blame" / "who_and_when.yaml")
