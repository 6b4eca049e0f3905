"""Regular expressions of the user, matched in linear time: pydantic's engine never goes back in a text. Pure."""

from functools import lru_cache
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

PATTERN_CHARACTERS_MAX = 1_000
"""Characters of a pattern."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def pattern_problem(pattern: str) -> str:
    """Return why a text is no regular expression, as half a sentence; empty where it is one.

    The syntax is that of Rust's `regex`: as Python's, without looking around and without references to groups.
    """
    try:
        for text in (pattern, _whole(pattern), _by_lines(pattern)):
            _compiled(text)
    except SchemaError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        causes = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return f"is no regular expression: {causes[-1] if causes else 'it cannot be compiled'}"
    return ""


def matches_all(pattern: str, text: str) -> bool:
    r"""Tell whether a whole text matches. The pattern has no problem; a line feed at the end is part of the text."""
    return _found(_whole(pattern), text)


def matches_line(pattern: str, text: str) -> bool:
    """Tell whether a pattern matches somewhere in a text, where `^` and `$` are the ends of each line."""
    return _found(_by_lines(pattern), text)


def _whole(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def _by_lines(pattern: str) -> str:
    return f"(?m:{pattern})"


def _found(pattern: str, text: str) -> bool:
    try:
        _compiled(pattern).validate_python(text)
    except ValidationError:
        return False
    return True
