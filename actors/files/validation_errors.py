"""Parsed files, the base class of their models, and the error message for a file that does not fit its model."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as data_field
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import AliasChoices, BaseModel, BeforeValidator, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from actors.files.suggestions import near, nearest
from runtime.core.errors import UsageProblem
from runtime.core.events import Value
from runtime.core.pydantic_messages import describe, with_value

KeyPath = tuple[str | int, ...]
"""The path to a value in a document: the keys of mappings and the positions in lists, from the outside to the
inside."""
M = TypeVar("M", bound=BaseModel)


def key_path(path: KeyPath) -> str:
    """Return a path as text, such as `action_pairs.g_plan.requires[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A parsed YAML file: its value, and the line of each key."""

    source: str
    """The path of the file, as the user wrote it."""
    value: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = data_field(default_factory=dict)
    """A mapping from the paths of keys to line numbers; 0 if the line is not known."""

    def place(self, path: KeyPath = ()) -> str:
        """Return `FILE:LINE key.path`. If the path is not in the file, the line is that of its nearest parent."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known)
        return f"{self.source}{f':{line}' if line else ''} {key_path(path)}".strip()

    def problem(self, cause: str, path: KeyPath = (), hint: str = "") -> UsageProblem:
        """Return an error whose place is the key at `path`."""
        return UsageProblem(cause, place=self.place(path), hint=hint)

    def read_as(self, model: type[M], value: Mapping[str, Any] | None = None) -> M:
        """Return `value`, or without it the file's value, as a model. Raises `UsageProblem` for the first error."""
        try:
            return model.model_validate(self.value if value is None else value)
        except ValidationError as error:
            raise usage_problem(error, self) from None


_WITH_NUMBERS = frozenset({int, float, str, NoneType})
"""The types that a field for numbers may allow. A field may also allow a text that names a number, and None as its
default."""


def _boolean_for_number(model: type[BaseModel], data: Mapping[Any, Any]) -> tuple[KeyPath, bool, str] | None:
    """Return the first boolean in `data` where the model expects a number; None if there is none.

    The result is the path, the value, and the expected type in words, such as `a whole number`.
    """
    expected = _expected_numbers(model)
    for key, value in data.items():
        if key in expected and (path := _path_of_boolean(value)) is not None:
            found = value
            for part in path:
                found = found[part]
            return (key, *path), found, expected[key]
    return None


@cache
def _expected_numbers(model: type[BaseModel]) -> Mapping[str, str]:
    """Return a mapping from the fields that expect a number to the expected type in words."""
    expected: dict[str, str] = {}
    for name, field in model.model_fields.items():
        types = _types_in(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation)
        if types & {int, float} and types <= _WITH_NUMBERS:
            expected[name] = "a number" if float in types else "a whole number"
    return expected


def _types_in(annotation: Any) -> set[Any]:
    """Return the types of the values that an annotation allows, including values in lists and mappings.

    An annotation with a `BeforeValidator` is skipped, because the validator decides which values it accepts.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        is_read_before = any(isinstance(item, BeforeValidator) for item in arguments[1:])
        return set() if is_read_before else _types_in(arguments[0])
    if not arguments or origin is None:
        return {annotation}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _types_in(arguments[1])  # Not the keys.
    return {item for argument in arguments if argument is not Ellipsis for item in _types_in(argument)}


def _path_of_boolean(value: Any) -> KeyPath | None:
    if isinstance(value, bool):
        return ()
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if (path := _path_of_boolean(part)) is not None:
            return (key, *path)
    return None


CONFIG_ERROR = "config"
"""The pydantic error type of the errors that `config_error` returns."""


def config_error(cause: str, path: KeyPath = (), hint: str = "") -> PydanticCustomError:
    """Return the error that a validator must raise. `path` is relative to the validator's model."""
    return PydanticCustomError(CONFIG_ERROR, "{cause}", {"cause": cause, "path": path, "hint": hint})


class Config(Value):
    """The base class of immutable values that are read from files.

    The error for an unknown key names the nearest valid key.

    A field that expects a number refuses true and false, which pydantic would accept as 1 and 0.

    The docstrings of a model's fields are also the descriptions in its JSON Schema, which editors show
    (`replan.setup.config_schemas`).
    """

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = keys_of(cls)
            for key in data:
                if key not in known:
                    hint = nearest(str(key), known, kind="valid keys", written="key")
                    raise config_error(f"unknown key {key!r}", (key,), hint)
        return data

    @model_validator(mode="before")
    @classmethod
    def _no_booleans_for_numbers(cls, data: Any) -> Any:
        if isinstance(data, dict) and (found := _boolean_for_number(cls, data)) is not None:
            path, value, expected = found
            raise config_error(f"should be {expected}, not {value!r}", path)
        return data


@cache
def keys_of(model: type[Value]) -> frozenset[str]:
    """Return the keys that the fields of a model can have in a file, including aliases."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        names.update(str(choice) for choice in alias.choices) if isinstance(alias, AliasChoices) else names.add(name)
    return frozenset(names)


PATTERN_MEANINGS = {
    r"^([0-9]{1,6}(?:[.][0-9]{1,3})?)([smhd])$": "a length of time such as 30s, 15m, 2h or 1d",
    r"^[a-z][a-z0-9_]{0,63}$": "a lower-case letter, then lower-case letters, digits and _, 64 characters at most",
    r"^[a-z][a-z0-9_]{0,39}$": "a lower-case letter, then lower-case letters, digits and _, 40 characters at most",
    r"^[a-z][a-z0-9_]{0,39}(\.[a-z][a-z0-9_]{0,39}){0,3}$": (
        "one to four names joined by points; each name is a lower-case letter, then lower-case letters, digits and _"
    ),
    r"^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$": "the name of an environment variable, or NAME=value",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "the name of an environment variable",
    r"^(/|~/)[^\x00]*$": "an absolute path, or a path that begins with ~/",
    r"^[^,]+$": "text without commas",
    r"^[a-z][a-z0-9_-]{0,63}$": (
        "a lower-case letter, then lower-case letters, digits, - and _, 64 characters at most"
    ),
    r"^[a-z0-9][a-z0-9_-]{0,31}$": (
        "a lower-case letter or a digit, then lower-case letters, digits, - and _, 32 characters at most"
    ),
    r"^[a-z0-9_]{1,40}$": "lower-case letters, digits and underscores, 40 characters at most",
    r"^[a-z_]+:[1-9][0-9]*(x[1-9][0-9]*)?$": "a search with its numbers, such as beam:4",
    r"^[a-z0-9_]+\.([a-z0-9_]+|\*)$": "a finding code such as plan.unreachable, or a family of codes such as plan.*",
    r"^(self|root|further|up [1-9]|role [a-z][a-z0-9_]{0,63}( or up [1-9])?)$": (
        "self, root, further, up N (N from 1 to 9), role NAME, or `role NAME or up N`"
    ),
    r"^(latest|any|(19|20)[0-9][0-9])$": "latest, any, or a year from 1900 to 2099",
}
"""A mapping from each regular expression in the pydantic models of configuration files to its meaning in words."""


class _Unshown:
    """A placeholder for a value that may be a secret. A message shows only the value's type."""

    words: ClassVar = {str: "text", dict: "a mapping", list: "a list", bool: "true or false"}

    def __init__(self, value: object) -> None:
        self._shown = self.words.get(type(value), "a number" if isinstance(value, int | float) else "nothing")

    def __repr__(self) -> str:
        return self._shown


_SHOWN = frozenset({"enum", "greater_than", "greater_than_equal", "less_than", "less_than_equal", "literal_error"})
"""The pydantic error types that show no secret. The field accepts only certain words, or numbers in a range, so its
value is no secret."""


def usage_problem(
    error: ValidationError, document: ParsedFile, *, secret_sections: Collection[str] = ()
) -> UsageProblem:
    """Return the first error about a document as a `UsageProblem`. The hint says how many other errors exist.

    `secret_sections` are top-level keys below which every value may be a secret, so it is not shown.
    """
    errors = error.errors(include_url=False)
    details = [detail for detail in errors if not _is_consequence(detail, errors)]
    first = details[0]
    is_name = first["loc"][-1:] == ("[key]",)
    if first["loc"][:1] and first["loc"][0] in secret_sections and first["type"] not in _SHOWN and not is_name:
        first["input"] = _Unshown(first["input"])
    context = first.get("ctx", {})
    path = (*first["loc"], *context.get("path", ()))
    if first["type"] == "union_tag_invalid":
        path = (*path, str(context["discriminator"]).strip("'"))
    hints = [_hint(first)]
    if len(details) > 1:
        others = len(details) - 1
        hints.append(f"{others} more problem{'s' if others > 1 else ''} in this file")
    return document.problem(_cause(first), _path_in_file(path, document), "; ".join(hint for hint in hints if hint))


def _is_consequence(detail: ErrorDetails, errors: Iterable[ErrorDetails]) -> bool:
    """Return whether an error says that a list is too short only because its wrong entries do not count.

    Other errors report these entries.
    """
    size = len(detail["loc"])
    return detail["type"] == "too_short" and any(
        other["loc"][:size] == detail["loc"] and len(other["loc"]) > size for other in errors
    )


def _path_in_file(path: KeyPath, document: ParsedFile) -> KeyPath:
    """Return pydantic's location without parts that are not keys of the file, such as the member of a union."""
    kept: KeyPath = ()
    for part in path:
        if (*kept, part) in document.lines:
            kept = (*kept, part)
    return kept


def _cause(detail: ErrorDetails) -> str:
    match detail["type"]:
        case str(kind) if kind == CONFIG_ERROR:
            return detail["msg"]
        case "string_pattern_mismatch" if detail["ctx"]["pattern"] in PATTERN_MEANINGS:
            return with_value(f"should be {PATTERN_MEANINGS[detail['ctx']['pattern']]}", detail)
        case "union_tag_invalid":
            return f"should be one of {', '.join(_tags(detail))}, not {str(detail['ctx']['tag'])!r}"
        case "union_tag_not_found":
            return f"missing key {detail['ctx']['discriminator']}"
        case _:
            return describe(detail)


def _hint(detail: ErrorDetails) -> str:
    match detail["type"]:
        case str(kind) if kind == CONFIG_ERROR:
            return str(detail["ctx"]["hint"])
        case "literal_error" | "enum" as kind:
            choices = [choice.strip("' ") for choice in str(detail["ctx"]["expected"]).replace(" or ", ",").split(",")]
            given = str(detail["input"])  # The cause of `enum` lists all choices.
            return near(given, choices) if kind == "enum" else nearest(given, choices, kind="choices", written="value")
        case "union_tag_invalid":
            return near(str(detail["ctx"]["tag"]), _tags(detail))
        case "union_tag_not_found":
            return f"add `{detail['ctx']['discriminator'].strip(chr(39))}: ...`"
        case "missing":
            return f"add `{detail['loc'][-1]}: ...`"
        case _:
            return ""


def _tags(detail: ErrorDetails) -> list[str]:
    return [tag.strip("' ") for tag in str(detail["ctx"]["expected_tags"]).split(",")]
