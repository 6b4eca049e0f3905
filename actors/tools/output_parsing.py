"""Parses the output of a call: finds its outcome, and the values of tokens that later calls use. Pure.

Patterns have the syntax of Rust's `regex`, whose matching takes linear time. In a pattern of an outcome, `{token}`
stands for the literal value of a token.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import Field

from actors.tools.parameters import (
    TEXT_CHARACTERS_MAX,
    IntegerParameter,
    Parameters,
    matches_all,
    matches_line,
    pattern_problem,
    with_line_feeds,
)
from runtime.core.events import Value

_VALUE = re.compile(r"(?<!\\[pP])\{([a-z][a-z0-9_]*)\}")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,16}")
TOKEN_VALUE_MAX = 1_000
"""The largest number of characters in a token's value. Arguments have no smaller limit, so every value can be used as
an argument."""

assert TOKEN_VALUE_MAX <= TEXT_CHARACTERS_MAX


class ValueSource(Value):
    """The place of a token's value in the output of a call."""

    after: str = ""
    """The text right before the value, at the first occurrence of this text. If this text is empty, the value begins
    the output.
    """
    pattern: str = Field(min_length=1)
    """The regular expression of the value. The value is the longest match that begins right after `after`."""


class FoundValues(NamedTuple):
    """The values of tokens that were found in an output."""

    values: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    """The first missing value, such as "contains no value for 'line_id'"; empty if no value is missing."""


def values_in(pattern: str) -> tuple[str, ...]:
    """Return the tokens whose values a pattern uses, in their order in the pattern."""
    return tuple(match.group(1) for match in _VALUE.finditer(pattern))


def with_values(pattern: str, values: Mapping[str, str]) -> str:
    """Return a pattern in which each `{token}` is replaced by its value, escaped so that it matches literally."""
    return _VALUE.sub(lambda match: re.escape(values.get(match.group(1), "")), pattern)


def outcome_of(outcomes: Mapping[str, str], output: str, values: Mapping[str, str]) -> str:
    """Return the name of the first outcome whose pattern matches in a line of the output; "" if no pattern matches."""
    return next((name for name, pattern in outcomes.items() if _matches(pattern, output, values)), "")


def _matches(pattern: str, output: str, values: Mapping[str, str]) -> bool:
    if values_in(pattern):
        pattern = with_values(pattern, values)
        if pattern_problem(pattern):  # Repetitions of a long value may exceed the size that can be compiled.
            return False
    return matches_line(pattern, output)


def value_of(source: ValueSource, output: str) -> str | None:
    """Return the value that a source finds in an output; None if the output has no value."""
    output = with_line_feeds(output)
    start = output.find(source.after)
    if start < 0:
        return None
    rest = output[start + len(source.after) :][:TOKEN_VALUE_MAX]
    return next((rest[:end] for end in range(len(rest), 0, -1) if matches_all(source.pattern, rest[:end])), None)


def find_values(sources: Mapping[str, ValueSource], tokens: Iterable[str], output: str) -> FoundValues:
    """Return the values of the tokens that have a source, or the name of the first value that the output lacks."""
    values = []
    for token in sorted(set(tokens) & set(sources)):
        value = value_of(sources[token], output)
        if value is None:
            return FoundValues(problem=f"contains no value for {token!r}")
        values.append((token, value))
    return FoundValues(values=tuple(values))


def arguments_with(
    fixed: Mapping[str, Any], takes: Mapping[str, str], parameters: Parameters, values: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments of a call: the fixed arguments, and for each parameter in `takes` the value of its token.

    For an integer parameter, digits become a number. The actor that makes the call checks every argument.
    """
    arguments = dict(fixed)
    for name, token in takes.items():
        value = values.get(token, "")
        is_number = isinstance(parameters.get(name), IntegerParameter) and _WHOLE_NUMBER.fullmatch(value)
        arguments[name] = int(value) if is_number else value
    return arguments
