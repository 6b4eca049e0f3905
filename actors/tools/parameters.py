"""The parameters of a tool: values that a binding fills in, with their types, bounds and patterns. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, assert_never

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from actors.files.suggestions import nearest
from actors.files.validation_errors import Config, config_error

PATTERN_CHARACTERS_MAX = 1_000
"""The largest number of characters in a regular expression in a tools file."""


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def pattern_problem(pattern: str) -> str:
    """Return why a text is not a regular expression, as a clause; empty if it is a regular expression.

    The syntax is that of Rust's `regex`: Python's syntax without look-around and without references to groups.
    """
    try:
        for text in (pattern, _anchor_pattern(pattern), _match_by_line(pattern)):
            _compile_pattern(text)
    except SchemaError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return f"is not a regular expression: {causes[-1] if causes else 'it cannot be compiled'}"
    return ""


def _check_pattern(pattern: str) -> str:
    if cause := pattern_problem(pattern):
        raise config_error(cause)
    return pattern


Regex = Annotated[str, AfterValidator(_check_pattern)]
"""A regular expression in a file, in the syntax of Rust's `regex`, whose matching takes linear time."""


def matches_all(pattern: str, text: str) -> bool:
    r"""Return whether a valid pattern matches a whole text. A line feed at the end is part of the text."""
    return _pattern_matches(_anchor_pattern(pattern), text)


def matches_line(pattern: str, text: str) -> bool:
    """Return whether a pattern matches somewhere in a text. `^` and `$` match at the ends of each line."""
    return _pattern_matches(_match_by_line(pattern), with_line_feeds(text))


def with_line_feeds(output: str) -> str:
    """Return output with a line feed at every line end.

    A carriage return also becomes a line feed, so each state of a progress bar becomes a line.
    """
    return output.replace("\r\n", "\n").replace("\r", "\n")


def _anchor_pattern(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def _match_by_line(pattern: str) -> str:
    return f"(?m:{pattern})"


def _pattern_matches(pattern: str, text: str) -> bool:
    try:
        _compile_pattern(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


TEXT_CHARACTERS_MAX = 1_000
"""The largest number of characters in one text that is an argument of a tool."""
PATH_BYTES_MAX = 1_024
"""The largest number of bytes in an argument that is a path below the workspace."""
INTEGER_MAX = 2**53
"""The largest absolute value of an integer argument. Every JSON reader reads integers up to this value exactly."""

Bound = Annotated[int, Field(ge=-INTEGER_MAX, le=INTEGER_MAX, strict=True)]


class StringParameter(Config):
    """A text that matches a pattern."""

    type: Literal["string"]
    """The kind of value: `string`."""
    pattern: Regex = Field(min_length=1, max_length=PATTERN_CHARACTERS_MAX)
    """The regular expression that the whole text must match, in the syntax of Rust's `regex`, which needs linear time.
    """
    default: str | None = None
    """The value if a binding gives no value; without a default, every binding must give a value."""


class IntegerParameter(Config):
    """A whole number within bounds."""

    type: Literal["integer"]
    """The kind of value: `integer`."""
    minimum: Bound
    """The smallest value."""
    maximum: Bound
    """The largest value."""
    default: Annotated[int, Field(strict=True)] | None = None
    """The value if a binding gives no value; without a default, every binding must give a value."""


class PathParameter(Config):
    """The path of a file or folder below the workspace."""

    type: Literal["path"]
    """The kind of value: `path`."""
    exists: bool = False
    """Whether the path must exist when the tool is called."""
    default: str | None = None
    """The value if a binding gives no value; without a default, every binding must give a value."""


class ChoiceParameter(Config):
    """A text from a fixed list."""

    type: Literal["choice"]
    """The kind of value: `choice`."""
    choices: tuple[Annotated[str, Field(max_length=TEXT_CHARACTERS_MAX)], ...] = Field(min_length=1, max_length=100)
    """The allowed texts."""
    default: str | None = None
    """The value if a binding gives no value; without a default, every binding must give a value."""


Parameter = Annotated[StringParameter | IntegerParameter | PathParameter | ChoiceParameter, Field(discriminator="type")]
Parameters = Mapping[str, Parameter]


def with_defaults(parameters: Parameters, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in `given`, and the defaults of all other parameters, in the order of the parameters."""
    values = {name: given.get(name, parameter.default) for name, parameter in parameters.items()}
    return {name: value for name, value in values.items() if value is not None}


def first_problem(parameters: Parameters, arguments: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the name, the cause and a hint for the first wrong argument; None if all arguments are right.

    Only the text of a path is checked. When the tool is called, it is checked whether the path leads out of the
    workspace.
    """
    for name in arguments:
        if name not in parameters:
            return name, f"unknown parameter {name!r}", nearest(name, parameters, kind="parameters")
    for name, parameter in parameters.items():
        if name not in arguments:
            return (
                name,
                f"the parameter {name!r} has no value",
                f"give a value under `with`, or give {name!r} a default",
            )
        if cause := problem_with(parameter, arguments[name]):
            return name, cause, ""
    return None


def problem_with(parameter: Parameter, value: Any) -> str:
    """Return why a value is wrong for a parameter, as a clause; empty if the value is right."""
    match parameter:
        case StringParameter():
            if cause := _text_problem(value):
                return cause
            return (
                "" if matches_all(parameter.pattern, value) else f"should match {parameter.pattern}, not {value[:60]!r}"
            )
        case IntegerParameter():
            whole = isinstance(value, int) and not isinstance(value, bool)
            if whole and parameter.minimum <= value <= parameter.maximum:
                return ""
            bounds = f"{parameter.minimum:,} to {parameter.maximum:,}"
            return f"should be a whole number from {bounds}, not {str(value)[:60]!r}"
        case PathParameter():
            return _text_problem(value) or path_problem(value)
        case ChoiceParameter():
            listed = ", ".join(parameter.choices)
            return "" if value in parameter.choices else f"should be one of {listed}, not {str(value)[:60]!r}"
        case _:
            assert_never(parameter)


def path_problem(path: str) -> str:
    """Return why a text is not a valid path below the workspace, as a clause; empty if the path is valid.

    A valid path is relative, has no part `..` and no control characters, and does not begin with a hyphen.
    """
    if not path or not path.isprintable():
        return "should be a path without control characters" if path else "should be a path, not an empty text"
    if len(path.encode(errors="replace")) > PATH_BYTES_MAX:
        return f"is a path with more than {PATH_BYTES_MAX:,} bytes"
    if path.startswith(("/", "~")):
        return f"should be a path below the workspace, not {path[:60]!r}"
    if ".." in path.split("/"):
        return f"should stay below the workspace, without '..', not {path[:60]!r}"
    return f"begins with '-', so a program may take it for an option: {path[:60]!r}" if path.startswith("-") else ""


def _text_problem(value: Any) -> str:
    if not isinstance(value, str):
        return f"should be text, not {str(value)[:60]!r}"
    if "\0" in value or (not value.isascii() and not _is_unicode(value)):
        return "has a NUL character or invalid Unicode"
    return f"has more than {TEXT_CHARACTERS_MAX:,} characters" if len(value) > TEXT_CHARACTERS_MAX else ""


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
