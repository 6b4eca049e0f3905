"""What the simulated author writes in an acquisition run: decisions, observations, decompositions and reviews. Pure.

It works on the plain data that `actors.acquisition.rules` makes as the material of a request, and invents no value.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from actors.simulated.stated_numbers import Sought, find_stated_number, names

CAVEATS_MAX = 5
"""Caveats of one review."""


def acquisition_reply(role: str, material: Mapping[str, Any]) -> str:
    """Return the JSON text of a role's reply. Raises `KeyError` for an unknown role."""
    return orjson.dumps(AUTHORS[role](material), option=orjson.OPT_INDENT_2).decode()


def decision(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return the next search, else the next question, about the first required field without a value; else the end."""
    open_fields = [field for field in _fields(material) if "value" not in field and not field.get("made_of_others")]
    required = [field for field in open_fields if field.get("required")]
    for field in required:
        if field.get("source") != "user" and field.get("may_search") and field.get("suggested_query"):
            return _make_decision("search", field, query=field["suggested_query"])
    for field in required:
        if field.get("may_ask"):
            return _make_decision("ask_user", field)
    return {"action": "finish", "target_field": "", "query": "", "question": "", "reasoning": "nothing is left to do"}


def _make_decision(action: str, field: Mapping[str, Any], query: str = "") -> dict[str, Any]:
    reason = f"{field.get('label', '')} has no value yet"
    return {"action": action, "target_field": field["path"], "query": query, "question": "", "reasoning": reason}


def observation(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that sentences of the passages state in the words of a field; the sentences are quoted.

    Where passages name the place that is asked about, those that do not are about another one.
    """
    places = [text for text in material.get("place", ()) if isinstance(text, str)]
    values = []
    for field in _fields(material):
        if field.get("type") != "number":
            continue
        found = [
            reading
            for passage in material.get("passages", ())
            if (reading := _make_observation(field, passage, material))
        ]
        here = [reading for reading, is_here in found if is_here]
        values += here if here and places else [reading for reading, _ in found]
    return {"values": values}


def _make_observation(
    field: Mapping[str, Any], passage: Mapping[str, Any], material: Mapping[str, Any]
) -> tuple[dict[str, Any], bool] | None:
    """Return the value of a field that a passage states, and whether the passage names the place; None for none."""
    places = tuple(text for text in material.get("place", ()) if isinstance(text, str))
    words = tuple(dict.fromkeys((*field.get("words", ()), field.get("label", ""))))
    mark, language = passage.get("decimal_mark", ""), passage.get("language", "")
    sought = Sought(words, field.get("unit", ""), material.get("units", {}), places, mark, language)
    found = find_stated_number(sought, str(passage.get("text", "")))
    if found is None:
        return None
    value = {
        "field": field["path"],
        "value": found.value,
        "unit": field.get("unit", ""),
        "quote": found.quote,
        "source": passage.get("source", ""),
        "confidence": round(found.confidence, 2),
    }
    named = " ".join(str(passage.get(key, "")) for key in ("title", "source", "text"))
    return value, any(names(named, place) for place in places)


def decomposition(_: Mapping[str, Any]) -> dict[str, Any]:
    """Return an empty decomposition: nothing here knows what a quantity is composed of."""
    return {"formula": "", "fields": []}


def review(material: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proposal to finish, with the errors of the calculation as caveats."""
    calculation = material.get("calculation", {})
    errors = calculation.get("errors", ()) if isinstance(calculation, Mapping) else ()
    caveats = [str(error.get("message", "")) for error in errors[:CAVEATS_MAX] if isinstance(error, Mapping)]
    return {"assessment": "", "next_field": "", "finish": True, "caveats": [text for text in caveats if text]}


def _fields(material: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the fields of the material, the one first that a search was made for."""
    fields = [field for field in material.get("fields", ()) if isinstance(field, Mapping) and "path" in field]
    wanted = material.get("field")
    return sorted(fields, key=lambda field: field["path"] != wanted)


AUTHORS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "acquisition_plan": decision,
    "acquisition_observe": observation,
    "acquisition_decompose": decomposition,
    "acquisition_reflect": review,
}
"""The functions by role."""
