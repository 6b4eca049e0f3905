"""Turns what pydantic says about a file into the one line that its author needs.

Models of configuration derive from `Config`, which names the nearest valid key for an unknown one; checks across keys
raise `complaint(...)`, which says where it stands. `explain` translates the first problem and counts the others.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import AliasChoices, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from actors.files.yaml_document import Document, KeyPath
from runtime.core.errors import UsageProblem
from runtime.core.events import Value
from runtime.core.pydantic_messages import not_shown, plainly

_COMPLAINT = "config"
_NAMES_MAX = 20
"""Names that a hint lists when none is near."""

FORMS = {
    r"^[a-z][a-z0-9_]{0,63}$": "a lower-case letter, then letters, digits and underscores, 64 characters at most",
    r"^[a-z][a-z0-9_]{0,59}$": "a lower-case letter, then letters, digits and underscores, 60 characters at most",
    r"^[^A-Z*]+\*?$": "lower-case text, with a * at its end or nowhere",
    r"^[a-z][a-z0-9_-]{0,63}$": "a lower-case letter, then letters, digits, - and _, 64 characters at most",
    r"^[a-z0-9_]{1,40}$": "lower-case letters, digits and underscores, 40 characters at most",
    r"^[a-z_]+:[1-9][0-9]*(x[1-9][0-9]*)?$": "a search with its numbers, such as beam:4",
    r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$": "a finding code such as plan.unreachable, or a family such as plan.*",
    r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63}( or up [1-9])?)$": (
        "self, root, further, up N (1 to 9), role NAME, or role NAME or up N"
    ),
}
"""What the patterns of the files' models mean."""


def nearest(name: str, known: Iterable[str], *, kind: str = "known") -> str:
    """Return a hint: the nearest known name, or all of them when none is near."""
    names = sorted(known)
    listed = f"{kind}: {', '.join(names[:_NAMES_MAX])}" if names else ""
    return near(name, names) or listed


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, or nothing when none is near."""
    close = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def complaint(cause: str, path: KeyPath = (), hint: str = "") -> PydanticCustomError:
    """Return the error for a validator to raise; `path` is counted from the model whose validator it is."""
    return PydanticCustomError(_COMPLAINT, "{cause}", {"cause": cause, "path": path, "hint": hint})


class Config(Value):
    """A frozen value out of a file; an unknown key is answered with the nearest valid one.

    The texts under a model's fields are its documentation for editors too: they become the JSON Schema's descriptions.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = keys_of(cls)
            for key in data:
                if key not in known:
                    raise complaint(f"unknown key {key!r}", (key,), nearest(str(key), known, kind="valid keys"))
        return data


@cache
def keys_of(model: type[Value]) -> frozenset[str]:
    """Return every spelling that a model's fields have in a file."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        names.update(str(choice) for choice in alias.choices) if isinstance(alias, AliasChoices) else names.add(name)
    return frozenset(names)


def explain(error: ValidationError, document: Document) -> UsageProblem:
    """Return a model's first complaint about a document as one line; the others are counted in the hint."""
    found = error.errors(include_url=False)
    details = [one for one in found if not _follows(one, found)]
    first = details[0]
    context = first.get("ctx", {})
    path = (*first["loc"], *context.get("path", ()))
    hints = [_hint(first)]
    if len(details) > 1:
        others = len(details) - 1
        hints.append(f"{others} more problem{'s' if others > 1 else ''} in this file")
    return document.problem(_cause(first), _known_part(path, document), "; ".join(hint for hint in hints if hint))


def _follows(short: ErrorDetails, details: Iterable[ErrorDetails]) -> bool:
    """Tell whether a list is called too short only because its entries are wrong, which is told already."""
    size = len(short["loc"])
    return short["type"] == "too_short" and any(
        one["loc"][:size] == short["loc"] and len(one["loc"]) > size for one in details
    )


def _known_part(path: KeyPath, document: Document) -> KeyPath:
    """Drop what pydantic adds to a location that is no key of the file, such as the name of a union's member."""
    kept: KeyPath = ()
    for part in path:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept


def _cause(first: ErrorDetails) -> str:
    match first["type"]:
        case "config":
            return first["msg"]
        case "string_pattern_mismatch" if first["ctx"]["pattern"] in FORMS:
            return not_shown(f"should be {FORMS[first['ctx']['pattern']]}", first)
        case _:
            return plainly(first)


def _hint(first: ErrorDetails) -> str:
    match first["type"]:
        case "config":
            return str(first["ctx"]["hint"])
        case "literal_error":
            choices = [choice.strip("' ") for choice in str(first["ctx"]["expected"]).replace(" or ", ",").split(",")]
            return nearest(str(first["input"]), choices, kind="choices")
        case "missing":
            return f"add `{first['loc'][-1]}: ...`"
        case _:
            return ""
