"""Corrections: a value that a person tells a run of their own accord, `FIELD=VALUE`, also after its end. Pure.

The message is `{"kind": "value", "field": PATH, "text": TEXT}`. Whoever posts it makes the same check.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actors.acquisition.answers import answer_value
from actors.acquisition.events import ValueTold
from actors.acquisition.schema import SLOT, Schema, schema_of
from actors.acquisition.state import State
from actors.acquisition.values import FieldValue
from actors.files.suggestions import nearest
from actors.run.ending import Outcome
from actors.run.inbox import MailRefused
from actors.run.texts import storable
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from runtime.core.messages import Mailed

VALUE = "value"
"""The kind of the message."""
TOLD = "told by the user"
"""The source of a value that was told."""
_CORRECTION = re.compile(r"(?P<field>[a-z][a-z0-9_]*(?:\.[a-z0-9_]+){0,4})[ \t]*=[ \t]*(?P<text>[^\n]{1,500})")


def correction(state: State, text: str) -> Mapping[str, Any] | None:
    """Return the message that a text `FIELD=VALUE` is; None for another text. Raises `UsageProblem` with the reason."""
    match = _CORRECTION.fullmatch(text.strip())
    if match is None:
        return None
    body = {"kind": VALUE, "field": match["field"], "text": match["text"]}
    told_value(state, match["field"], match["text"])
    return body


def told_value(state: State, path: str, text: str) -> FieldValue:
    """Return the value that a text gives a field of a run. Raises `UsageProblem` where it gives none."""
    end = state.run.finished
    if end is not None and end.outcome in (Outcome.CANCELLED, Outcome.FAILED):
        raise UsageProblem(f"the run has finished ({end.outcome})", place=path, hint="start a new run with --set")
    schema = schema_of(state)
    if path not in schema.fields:
        hint = nearest(path, schema.fields, kind="fields")
        raise UsageProblem(f"{path!r} is no field of the profile {schema.profile.name}", place=path, hint=hint)
    asked = next((name for name, each in state.run.questions.items() if each.open and path in each.request.blocks), "")
    if asked:
        raise UsageProblem(f"question {asked} asks for {path}", place=path, hint="answer it")
    if _units_depend_on(schema, path):
        cause = f"the units of other values depend on {path}"
        raise UsageProblem(cause, place=path, hint=f"start a new run with --set {path}=...")
    value = answer_value(schema, path, text, source=TOLD)
    if isinstance(value, FieldValue):
        return value
    unit = schema.unit(path)
    raise UsageProblem(f"{path}: {value}", place=path, hint=f"give it in {unit}" if unit else "")


def _units_depend_on(schema: Schema, path: str) -> bool:
    """Tell whether values are there whose units name a field; the first value of that field changes none."""
    if schema.value(path) is None:
        return False
    return any(
        path in SLOT.findall(spec.unit) and schema.planner.values.get(name) for name, spec in schema.fields.items()
    )


def accept_correction(state: State, message: "Mailed") -> ValueTold | MailRefused | None:
    """Return the fact that a message with a value is; None for another message."""
    try:
        body = json.loads(message.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or body.get("kind") != VALUE:
        return None
    path, text = str(body.get("field", "")), str(body.get("text", ""))
    try:
        value = told_value(state, path, text)
    except UsageProblem as problem:
        return MailRefused(at=message.at, mono=message.mono, key=storable(message.key), reason=problem.cause)
    return ValueTold(at=message.at, mono=message.mono, path=path, value=value)
