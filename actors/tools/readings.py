"""What the output of a call says: which outcome it is, and the values that later calls use. Pure.

Patterns have the syntax of Rust's `regex`, which needs linear time. In a pattern of an outcome, `{token}` stands for
the value of a token, as it is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import Field

from actors.tools.parameters import TEXT_CHARACTERS_MAX, IntegerParameter, Parameters, matches_all, matches_line
from runtime.core.events import Value

_VALUE = re.compile(r"(?<!\\[pP])\{([a-z][a-z0-9_]*)\}")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,16}")
TOKEN_VALUE_MAX = 1_000
"""Characters of the value of a token: as many as an argument may have."""

assert TOKEN_VALUE_MAX <= TEXT_CHARACTERS_MAX


class ValueSource(Value):
    """Where the value of a token stands in the output of a call."""

    after: str = ""
    """The text that it follows, at its first place; empty for the start of the output."""
    pattern: str = Field(min_length=1)
    """The regular expression of the value: the longest match that begins there is taken."""


class Reading(NamedTuple):
    """What an output says."""

    outcome: str = ""
    """The outcome that it is; empty where none is read."""
    values: tuple[tuple[str, str], ...] = ()
    """The values of tokens, by token."""
    problem: str = ""
    """What could not be read, as half a sentence; empty where all could."""


def values_in(pattern: str) -> tuple[str, ...]:
    """Return the tokens whose values a pattern uses, in their order."""
    return tuple(match.group(1) for match in _VALUE.finditer(pattern))


def with_values(pattern: str, values: Mapping[str, str]) -> str:
    """Return a pattern with the values of tokens in it, each as the text that it is."""
    return _VALUE.sub(lambda match: re.escape(values.get(match.group(1), "")), pattern)


def outcome_of(outcomes: Mapping[str, str], output: str, values: Mapping[str, str]) -> str:
    """Return the first outcome whose pattern is found in a line of an output; empty for none."""
    found = (name for name, pattern in outcomes.items() if matches_line(with_values(pattern, values), output))
    return next(found, "")


def value_of(source: ValueSource, output: str) -> str | None:
    """Return the text that a source names in an output; None where there is none."""
    start = output.find(source.after)
    if start < 0:
        return None
    rest = output[start + len(source.after) :][:TOKEN_VALUE_MAX]
    return next((rest[:end] for end in range(len(rest), 0, -1) if matches_all(source.pattern, rest[:end])), None)


def read_values(sources: Mapping[str, ValueSource], tokens: Iterator[str], output: str) -> Reading:
    """Return the values of those tokens that have a source, or which of them is not in the output."""
    values = []
    for token in sorted(set(tokens) & set(sources)):
        value = value_of(sources[token], output)
        if value is None:
            return Reading(problem=f"holds no value for {token!r}")
        values.append((token, value))
    return Reading(values=tuple(values))


def arguments_with(
    fixed: Mapping[str, Any], takes: Mapping[str, str], parameters: Parameters, values: Mapping[str, str]
) -> dict[str, Any]:
    """Return arguments with the values of tokens for those parameters that take one.

    A whole number for an integer parameter becomes a number. Whether a value fits its parameter is checked when the
    call is made, as for every argument.
    """
    arguments = dict(fixed)
    for name, token in takes.items():
        value = values.get(token, "")
        is_number = isinstance(parameters.get(name), IntegerParameter) and _WHOLE_NUMBER.fullmatch(value)
        arguments[name] = int(value) if is_number else value
    return arguments
