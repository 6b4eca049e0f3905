"""Reads a model's reply: finds its one JSON value, and parses it strictly.

`read_reply(text)` never raises. It returns either the value, or a code from `ReplyCode` with a message. Every pass over
the text takes linear time, because the text is untrusted.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from runtime.core.hooks import make_total

_QUICK = (",", "[", "{")
_QUICK_BYTES = (b",", b"[", b"{")

# An unterminated string matches up to the end of the text, so that no position is ever scanned twice.
_STRING_OR_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)


def has_more_values(text: str | bytes, limit: int) -> bool:
    """Return whether a JSON text has more values than `limit`, counted by its commas and opening brackets.

    Commas and brackets in strings do not count. The check takes linear time. The text need not be valid JSON.
    """
    if isinstance(text, bytes):
        if sum(map(text.count, _QUICK_BYTES)) <= limit:
            return False
        text = text.decode("latin-1")  # No byte of a longer character in UTF-8 is a quote, a backslash or a mark.
    elif sum(map(text.count, _QUICK)) <= limit:
        return False
    marks = 0
    for number, match in enumerate(_STRING_OR_MARK.finditer(text)):
        marks += text[match.start()] != '"'
        if marks > limit or number > 3 * limit:  # There are at most two strings to a mark.
            return True
    return False


class ReplyCode(StrEnum):
    """The reason why a reply has no JSON value. The strings are the codes of findings, and policies refer to them."""

    EMPTY = "reply.empty"
    TOO_LARGE = "reply.too_large"
    NOT_JSON = "reply.not_json"
    TOO_DEEP = "reply.too_deep"
    DUPLICATE_KEY = "reply.duplicate_key"
    NOT_FINITE = "reply.not_finite"  # also an integer with too many digits to read
    BAD_TEXT = "reply.bad_text"  # lone surrogates and NUL
    ONLY_REASONING = "reply.only_reasoning"
    REPEATS = "reply.repeats"  # one phrase up to the end
    UNREAD = "reply.unread"  # reading it raised: a bug of the reader


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON value found in a reply."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply without a valid JSON value. `message` is one sentence for the model and for people."""

    code: ReplyCode
    message: str


BYTES_MAX = 4 * 1024 * 1024
"""The size of the largest reply that is read, in bytes. A plan of a hundred steps has about 60 KiB, so there is room
for prose.
"""

DEPTH_MAX = 100
"""The largest number of nested levels in a JSON text that is read. Plans have four levels. Python's parser fails near
1,000 levels."""

VALUES_MAX = 400_000
"""The largest number of values in a JSON text that is read. The program counts commas and opening brackets instead of
values. Large plans have 300,000 values."""

PHRASE_MAX = 200
"""The largest number of characters of a phrase that counts as repeated."""
REPEATED_MIN = 400
"""The smallest length, in characters, of a repetition that is found at the end of a text: the phrase and its copies
together."""

_THINK, _THINK_END = "<think>", "</think>"
_FENCES_MAX = 64
_QUOTE_MAX = 40

# An unterminated string matches up to the end of the text, so that no position is ever scanned twice.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_INFO_STRING = re.compile(r"[\w.+-]*+")
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_PYTHON_TOKEN = re.compile(
    r"(?P<same>[\s\[\]{},:0-9eE.+-]++|true\b|false\b|null\b)"
    r"|'(?P<single>[^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'"
    r'|"(?P<double>[^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"'
    r"|(?P<name>True\b|False\b|None\b)"
)
_RESPELLED = re.compile(r"\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<apostrophe>')|(?P<escape>\\.)|(?P<quote>\")")
_PYTHON_NAMES = {"True": "true", "False": "false", "None": "null"}


@make_total("the reply", lambda said: Unreadable(ReplyCode.UNREAD, said))
def read_reply(text: str, *, bytes_max: int = BYTES_MAX, depth_max: int = DEPTH_MAX) -> Parsed | Unreadable:
    """Return the one JSON value in a model's reply, or why there is no value.

    Several candidates are tried in this order. The first is the whole text, if it is an object or array. It is tried
    first, because a fence inside JSON is part of a string. The next are the first fenced object, the first fenced
    array, and the text from the first brace to the last. If brackets enclose the braces, the text from the first
    bracket to the last is tried before that. The last candidate is the whole text, if it is a scalar. A Python literal
    (single quotes, `True`, `None`) is read too, because some models write Python. `runtime.models.http_model` repairs
    other mistakes.

    If no candidate can be parsed, the first error that is not `NOT_JSON` is returned, otherwise an error about the
    whole text.
    """
    try:
        size = len(text) if len(text) > bytes_max else len(text.encode())
    except UnicodeEncodeError:
        return Unreadable(ReplyCode.BAD_TEXT, "The reply holds a lone surrogate, which is not valid Unicode text.")
    if size > bytes_max:
        return Unreadable(ReplyCode.TOO_LARGE, f"The reply is larger than the limit of {bytes_max} bytes; be briefer.")
    text = text.strip().strip("\ufeff").strip()
    if not text:
        return Unreadable(ReplyCode.EMPTY, "The reply is empty; answer with one JSON object.")
    whole = _read_value(text, depth_max)
    if isinstance(whole, Parsed) and isinstance(whole.value, dict | list):
        return whole
    fallback: Parsed | None = None
    error = whole if isinstance(whole, Unreadable) else None
    for candidate, fenced in _candidates(text):
        result = whole if candidate == text else _read_value(candidate, depth_max)
        if isinstance(result, Unreadable):
            error = result if error is None or error.code is ReplyCode.NOT_JSON else error
        elif isinstance(result.value, dict) and fenced:
            return result
        elif not fenced:
            return fallback or result
        else:
            fallback = fallback or result
    if fallback is not None:
        return fallback
    if isinstance(whole, Parsed) or error is None:
        return whole
    return _explain(text, error)


def _explain(text: str, error: Unreadable) -> Unreadable:
    """Return why a reply has no value. For text without JSON, say if it repeats a phrase or has only reasoning."""
    if error.code is not ReplyCode.NOT_JSON:
        return error
    phrase = repeated_phrase(text)
    if phrase:
        message = f"The reply repeats {_quote(phrase)} up to its end; write the JSON object once, and stop there."
        return Unreadable(ReplyCode.REPEATS, message)
    if text.startswith(_THINK) and not text.partition(_THINK_END)[2].strip():
        message = "The reply holds only reasoning; write the JSON object after it, and reason more briefly."
        return Unreadable(ReplyCode.ONLY_REASONING, message)
    return error


def as_reasoning(text: str) -> str:
    """Return a text between the tags with which models mark their reasoning."""
    return f"{_THINK}\n{text}\n{_THINK_END}"


def repeated_phrase(text: str) -> str:
    """Return the phrase, of at most `PHRASE_MAX` characters, that a text repeats up to its end; otherwise empty."""
    tail = text.rstrip()[-2 * REPEATED_MIN - 8 * PHRASE_MAX :]
    for size in range(1, PHRASE_MAX + 1):
        times = max(8, -(-REPEATED_MIN // size))
        if size * times <= len(tail) and tail.endswith(tail[-size:] * times):
            return tail[-size:].strip()
    return ""


def is_whole(text: str) -> bool:
    """Return whether a reply is one JSON object or array, apart from reasoning before it and a closed fence around it.

    Such a reply is complete, even if the server says that it was cut. (`read_reply` may find a value in an incomplete
    reply.)
    """
    text = text.rpartition(_THINK_END)[2].strip()
    if text.startswith("```") and text.endswith("```"):
        body = text[3:-3]
        text = body[_end_of_info_string(body) :].strip()
    return text.startswith(("{", "[")) and isinstance(_read_value(text, DEPTH_MAX), Parsed)


def _candidates(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text that may be its JSON value, and for each part whether it is a fenced block."""
    # Reasoning models end their reasoning with this tag. Braces before the tag are not part of the answer.
    text = text.rpartition(_THINK_END)[2].strip()
    blocks = text.split("```", 2 * _FENCES_MAX)[1::2]
    # A text that starts with a brace is the value itself, even if it is broken. A fence in it is part of a string.
    for block in blocks if not text.startswith("{") else ():
        body = block[_end_of_info_string(block) :].strip()
        if body.startswith(("{", "[")):
            yield body, True
    brace, bracket = (text.find("{"), text.rfind("}")), (text.find("["), text.rfind("]"))
    spans = [brace]
    if brace[0] < 0 or (0 <= bracket[0] < brace[0] and brace[1] < bracket[1]):
        spans.insert(0, bracket)
    for first, last in spans:
        if 0 <= first < last:
            yield text[first : last + 1], False


def candidates(text: str) -> list[str]:
    """Return the parts of a reply that may be its JSON value, the likeliest first."""
    return [candidate for candidate, _ in _candidates(text.strip().strip("\ufeff").strip())]


def _end_of_info_string(block: str) -> int:
    matched = _INFO_STRING.match(block)
    return matched.end() if matched else 0


def _read_value(text: str, depth_max: int) -> Parsed | Unreadable:
    """Parse a text strictly, as JSON or, if that fails, as a Python literal."""
    result = _parse(text, depth_max)
    if isinstance(result, Parsed) or result.code is not ReplyCode.NOT_JSON:
        return result
    translated = _python_as_json(text)
    if translated is None:
        return result
    second = _parse(translated, depth_max)
    return result if isinstance(second, Unreadable) and second.code is ReplyCode.NOT_JSON else second


class _Stop(ValueError):
    """An exception with which the hooks of the JSON parser return an error. It is caught in this module."""

    def __init__(self, code: ReplyCode, message: str) -> None:
        self.result = Unreadable(code, message)
        super().__init__(message)


def _parse(text: str, depth_max: int) -> Parsed | Unreadable:
    """Parse one JSON text strictly (RFC 8259). Reject a text that other JSON parsers would read differently."""
    if has_more_values(text, VALUES_MAX):
        return Unreadable(ReplyCode.TOO_LARGE, f"The JSON has more than {VALUES_MAX:,} values; be briefer.")
    if _too_deep(text, depth_max):
        return Unreadable(ReplyCode.TOO_DEEP, f"The JSON is nested deeper than {depth_max} levels; flatten it.")
    try:
        value = _STRICT.decode(text)
    except _Stop as stop:
        return stop.result
    except json.JSONDecodeError as error:
        return Unreadable(ReplyCode.NOT_JSON, _syntax(error))
    except RecursionError:  # only if the caller's own stack is nearly used up
        return Unreadable(ReplyCode.TOO_DEEP, "The JSON is nested too deep to read here; flatten it.")
    if _SUSPECT_ESCAPE.search(text) and (bad := _bad_text(value)):
        return Unreadable(ReplyCode.BAD_TEXT, f"A string in the JSON holds {bad}; write plain Unicode text.")
    return Parsed(value)


def _too_deep(text: str, depth_max: int) -> bool:
    """Return whether brackets outside strings are nested too deep.

    This is checked first, because the parser is recursive.
    """
    if text.count("{") + text.count("[") <= depth_max:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        first = text[match.start()]
        if first in "[{":
            depth += 1
            if depth > depth_max:
                return True
        elif first in "]}":
            depth -= 1
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Stop(
                    ReplyCode.DUPLICATE_KEY, f"The key {_quote(key)} stands twice in one JSON object; write it once."
                )
            seen.add(key)
    return members


def _constant(name: str) -> NoReturn:
    raise _Stop(ReplyCode.NOT_FINITE, f"{name} is not a JSON number; write a finite number or null.")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Stop(ReplyCode.NOT_FINITE, f"The number {_quote(digits)} is too large; write a finite number.")
    return number


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads at most 4,300 digits (CVE-2020-10735)
        raise _Stop(
            ReplyCode.NOT_FINITE, f"An integer has {len(digits)} digits, too many to read; write a smaller number."
        ) from None


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)


def _bad_text(value: Any) -> str:
    """Return the error of a string in the value; empty if no string has an error."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str):
            if "\x00" in item:
                return "a NUL character"
            if any("\ud800" <= character <= "\udfff" for character in item):
                return "a lone surrogate"
    return ""


def _python_as_json(text: str) -> str | None:
    """Return the JSON form of a text that consists only of tokens of Python literals; None for any other text.

    Python and JSON differ only in strings and three names, so the text is translated token by token. Nothing is
    evaluated. The JSON parser decides whether the result is valid.
    """
    parts: list[str] = []
    at = 0
    while at < len(text):
        match = _PYTHON_TOKEN.match(text, at)
        if match is None or len(parts) > 3 * VALUES_MAX:
            return None
        if match["same"] is not None:
            parts.append(match["same"])
        elif match["name"] is not None:
            parts.append(_PYTHON_NAMES[match["name"]])
        else:
            inner = match["double"] if match["single"] is None else match["single"]
            parts.append(f'"{respell(inner)}"')
        at = match.end()
    return "".join(parts)


def respell(text: str) -> str:
    """Return the content of a Python string literal as the content of a JSON string."""
    return _RESPELLED.sub(_respell, text)


def _respell(match: re.Match[str]) -> str:
    if match["hex"] is not None:
        return "\\u00" + match["hex"]
    if match["apostrophe"] is not None:
        return "'"
    return match["escape"] or '\\"'


def _syntax(error: json.JSONDecodeError) -> str:
    if "{" not in error.doc and "[" not in error.doc:
        return "The reply holds no JSON; answer with one JSON object and nothing else."
    place = f"line {error.lineno}, column {error.colno}"
    what = error.msg.removesuffix(" at")
    near = error.doc[error.pos : error.pos + _QUOTE_MAX].strip()
    near = f", near {_quote(near)}" if near else ", where the text ends"
    return f"The reply is not valid JSON: {what} at {place}{near}."


def _quote(text: str) -> str:
    cut = text if len(text) <= _QUOTE_MAX else text[:_QUOTE_MAX] + "…"
    return json.dumps(cut, ensure_ascii=not cut.isprintable())
