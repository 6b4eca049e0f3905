"""Amounts, times and counts in words, short forms of texts, and patterns. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, cast

from runtime.core.ledger import MICRO, Amount


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form, such as `1 call` or `2,400 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_PARTS = sorted({Fraction(part, whole) for whole in (2, 3, 4, 5, 10) for part in range(1, whole)})


def format_chance(chance: float) -> str:
    """Return a probability as a simple fraction, such as `2 in 5`."""
    if chance < 1 / 200:
        return "under 1 in 200"
    if chance >= 19 / 20:
        return "over 19 in 20"
    if chance < 1 / 10:
        return f"1 in {round(1 / chance)}"
    part = min(_PARTS, key=lambda part: abs(part - chance))
    return f"{part.numerator} in {part.denominator}"


def money(usd: float | None) -> str:
    """Return dollars as text, such as `$1.20` or `$0.0123`; None gives `cost unknown`."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def format_usage(amount: Amount, *, known: bool) -> str:
    """Return the used amounts: `3 calls, 2,400 tokens, $0.0123`. Numbers of 0 tokens or dollars are left out."""
    parts = [format_count(amount.calls, "call")]
    parts += [format_count(amount.tokens, "token")] if amount.tokens else []
    parts += [money(amount.micro_usd / MICRO)] if known and amount.micro_usd else []
    return ", ".join(parts)


_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def moment(at: float) -> datetime:
    """Return a time in UTC.

    A time outside the years 1970 to 9999 (a damaged row can have one) is replaced by the nearest valid time.
    """
    return datetime.fromtimestamp(min(max(at, 0.0), _LAST), UTC)


def stamp(at: float) -> str:
    """Return a time as ISO 8601 in UTC, to the second."""
    return moment(at).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(at: float) -> str:
    """Return the time of day in the local time zone, to the second."""
    return moment(at).astimezone().strftime("%H:%M:%S")


def ago(seconds: float) -> str:
    """Return a duration in seconds as a whole number of its largest unit, such as `3h`."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(0, seconds))}s"


def shorten(text: str, limit: int) -> str:
    """Return the text, cut to at most `limit` characters. If the text is cut, it ends with an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def title_of(problem: str) -> str:
    """Return the first line of a text that has words, without Markdown marks.

    A long line is cut between words, to 80 characters.
    """
    lines = (line.strip("#*_= \t-") for line in problem.splitlines())
    title = next((" ".join(line.split()) for line in lines if line), "")
    if len(title) <= 80:
        return title
    head, blank, _ = title[:79].rpartition(" ")
    return f"{head if blank else title[:79]}…"


TEXT_MAX = 80
ITEMS_MAX = 8
INT_MAX = 10**18
"""Integers from this absolute value on are described in words, not printed, because Python refuses to print very long
integers."""


def printable(text: str, limit: int = TEXT_MAX) -> str:
    """Return the text on one line, cut at `limit` characters, with lone surrogates escaped."""
    short = shorten(text, limit)
    if short.isascii() and short.isprintable():
        return short
    short = short.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def quote_names(names: Iterable[str], limit: int = ITEMS_MAX) -> str:
    """Return names as `'a', 'b' and 3 more`, sorted."""
    ordered = sorted(names)
    shown = ", ".join(f"'{printable(name)}'" for name in ordered[:limit])
    return shown if len(ordered) <= limit else f"{shown} and {len(ordered) - limit} more"


def id_list(step_ids: Iterable[str]) -> str:
    """Return step ids as `a, b and 3 more`, in the order given."""
    ids = list(step_ids)
    shown = ", ".join(printable(step_id) for step_id in ids[:ITEMS_MAX])
    return shown if len(ids) <= ITEMS_MAX else f"{shown} and {len(ids) - ITEMS_MAX} more"


def describe_value(value: Any) -> str:
    """Return the type of a JSON value in plain words. If the value is a scalar, add its beginning."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"the number {value}" if abs(value) < INT_MAX else "a number of more than 18 digits"
        case float():
            return f"the number {value}"
        case str():
            return f"the string '{printable(value, 40)}'"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "something that is not JSON"


class _LatePattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text), name)
        setattr(self, name, value)  # The next look-up finds it without this method.
        return value


def lazy_pattern(*patterns: str) -> re.Pattern[str]:
    """Return a regular expression of alternatives that is compiled at its first use.

    Most commands never use the expression, so they save the time.
    """
    return cast("re.Pattern[str]", _LatePattern("|".join(patterns)))
