"""Makes the faults of model requests from status codes, headers and exceptions.

The text of a fault never contains the API key. If a provider's text becomes part of a fault, it is cut and cleaned of
secrets. Only people read this text; the program never interprets it.
"""

import email.utils
import json
import math
import re
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.logs.redact import Redactor, written_forms
from runtime.models.port import Fault, FaultKind
from runtime.models.replies import has_more_values

MARK = "[key]"
"""The text that replaces a provider's API key, or a part of the key, in another text."""

SECRET_MIN = 4
"""The minimum length, in characters, of an API key that is removed from texts. Shorter keys are placeholders and occur
in ordinary texts."""

PART_MIN = 12
"""The minimum length, in characters, of a part of an API key that is removed. A key shorter than this is not removed
from a model's own words."""

_BLOCK = PART_MIN // 2
_HITS_MAX = 1000


def without_key(text: str, secret: str) -> str:
    """Return the text without the key in any form, and without parts of the key with at least `PART_MIN` characters.

    Takes linear time. A key shorter than `SECRET_MIN` is ignored.
    """
    if len(secret) < SECRET_MIN:
        return text
    raw = secret.encode()
    escaped = "".join(f"\\u{ord(character):04x}" for character in secret)
    forms = written_forms(secret) | {raw.hex(), raw.hex().upper(), escaped, secret[::-1]}
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        if len(form) >= SECRET_MIN:
            text = text.replace(form, MARK)
    for form in forms:
        text = _without_parts(text, form)
    return text


def _without_parts(text: str, form: str) -> str:
    # A part of PART_MIN characters or more holds at least one whole block, wherever it begins.
    for start in range(0, len(form) - _BLOCK + 1, _BLOCK) if len(form) >= PART_MIN else ():
        block = form[start : start + _BLOCK]
        parts, end, place = [], 0, text.find(block)
        for _ in range(_HITS_MAX):
            if place < 0:
                break
            first, last = _extent(text, place, form, start, end)
            if last - first >= PART_MIN:
                parts += [text[end:first], MARK]
                end = last
            place = text.find(block, max(end, place + 1))
        tail = text[end:] if place < 0 else text[end:].replace(block, MARK)  # So many equal blocks are no coincidence.
        text = "".join((*parts, tail))
    return text


def _extent(text: str, position: int, form: str, start: int, least: int) -> tuple[int, int]:
    """Extend two equal positions to the longest common part of `form` and a text, and return its start and end."""
    before = after = 0
    while before < min(start, position - least) and text[position - before - 1] == form[start - before - 1]:
        before += 1
    while after < min(len(form) - start, len(text) - position) and text[position + after] == form[start + after]:
        after += 1
    return position - before, position + after


MESSAGE_MAX = 300

_VALUES_MAX = 10_000
_SECRETS = Redactor()
_TIME_MIN = 10**9
"""If a server requests a wait of at least this number, the number is a time in seconds since 1970."""
_RETRY_LATER = frozenset({408, 409, 425, 429})
_FILTERED = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "bio_policy", "misalignment_policy_violation"}
)
"""The error codes of OpenAI, Azure and compatible servers for a prompt that a filter rejects."""
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
"""The error codes of OpenAI and of llama.cpp for a prompt that does not fit the model's context window."""
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_STATUSES = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "bio_policy": 400,
    "misalignment_policy_violation": 400,
    "data_residency_mismatch": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "insufficient_quota": 429,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "service_unavailable": 503,
    "model_overloaded": 503,
    "engine_overloaded": 503,
    "timeout_error": 504,
    "vector_store_timeout": 504,
    "overloaded_error": 529,
}
"""The HTTP status that each type or code of an error stands for. It is used if a server reports an error in an answer
with status 200."""


def provider_text(text: str, secret: str = "") -> str:
    """Return a provider's text as one short line, without the key and without anything that looks like a secret.

    The key is removed before the text is cut, so no part of the key remains.
    """
    text = _SECRETS.text(without_key(text, secret)[: 8 * MESSAGE_MAX])
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MESSAGE_MAX else line[: MESSAGE_MAX - 1] + "…"


_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,200})", re.IGNORECASE)


def _text_of(body: bytes) -> str:
    """Return the text of a body that is not JSON. For a web page, such as proxies send, return the title."""
    text = body.decode("utf-8", "replace")
    if not text.lstrip().startswith("<"):
        return text
    title = _TITLE.search(text[:10_000])
    return f"a web page: {title[1].strip()}" if title else "a web page"


def error_of(body: bytes) -> tuple[str, str]:
    """Return the message of an error body (with the parameter that the error names), and the error's code.

    For a body in another format, return its text, or the title of a web page, and no code. Gemini puts the error into a
    list. OpenRouter puts the error of the server behind it into `metadata` of its own error.
    """
    if has_more_values(body, _VALUES_MAX):
        return _text_of(body), ""
    try:
        plain: Any = json.loads(body)
    except (ValueError, RecursionError):
        return _text_of(body), ""
    plain = plain[0] if isinstance(plain, list) and plain and isinstance(plain[0], dict) else plain
    error = plain.get("error", plain) if isinstance(plain, dict) else plain
    if not isinstance(error, dict):
        return str(error), ""
    message, named = error.get("message", error.get("detail")), error.get("param")
    if isinstance(message, str) and isinstance(named, str) and named not in message:
        message = f"{message} ({named})"
    names = (error.get("code"), error.get("type"))  # A numeric code only repeats the status.
    code = next((name for name in names if name and isinstance(name, str)), "")
    message = message if isinstance(message, str) else json.dumps(error)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        behind, code_behind = error_of(metadata["raw"].encode("utf-8", "replace"))
        return f"{message}: {behind}", code_behind or code
    return message, code


def status_fault(status: int, headers: Mapping[str, str], body: bytes, *, now: float, secret: str) -> Fault:
    """Return the fault for an answer with a status outside 200-299.

    `now` is in UTC seconds since 1970; header names are in lower case.
    """
    message, code = error_of(body)
    text = provider_text(message, secret) or "no text"
    if 300 <= status < 400:
        text = "the server redirects to another address, and Replan follows no redirects: correct the base URL"
    return Fault(
        kind=_status_kind(status, code),
        message=f"status {status}: {text}",
        status=status,
        retry_after=retry_after(headers, now),
    )


def status_named_by(error: Any) -> int | None:
    """Return the HTTP status that an error in an answer with status 200 names; None if the error names no status.

    A server writes the status into the error's `code`, `status` or `type`, as a number or as a word of `_STATUSES`.
    """
    if not isinstance(error, dict):
        return None
    for name in ("code", "status", "type"):
        value = error.get(name)
        value = int(value) if isinstance(value, str) and len(value) == 3 and value.isdecimal() else value
        status = _STATUSES.get(value) if isinstance(value, str) else value
        if type(status) is int and 400 <= status < 600:
            return status
    return None


def error_fault(error: Any, *, begun: bool, secret: str) -> Fault:
    """Return the fault for an error in an answer with status 200, or in its event stream.

    `begun` tells whether the model has already written something. If so, the fault is a server error, because the
    provider may charge the written part. If not, the error counts like an answer with the status that the error names.
    """
    message, code = error_of(json.dumps({"error": error}).encode())
    status = None if begun else status_named_by(error)
    return Fault(
        kind=FaultKind.SERVER_ERROR if begun else _status_kind(status or 500, code),
        message=f"the reply broke off: {provider_text(message, secret) or 'no text'}",
        status=status or 200,
    )


def _status_kind(status: int, code: str) -> FaultKind:
    if status in {401, 402, 403} or code in _NO_CREDIT:
        return FaultKind.AUTH
    if status == 404 or 300 <= status < 400:
        return FaultKind.NOT_FOUND
    if status in _RETRY_LATER:
        return FaultKind.RATE_LIMITED
    if status >= 500:
        return FaultKind.SERVER_ERROR
    if code in _TOO_LONG:
        return FaultKind.PROMPT_TOO_LONG
    return FaultKind.CONTENT_REFUSED if code in _FILTERED else FaultKind.BAD_REQUEST


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the wait in seconds that the server requests in `retry-after-ms` or `retry-after` (RFC 9110, 10.2.3).

    Some servers send a time in seconds since 1970 (`_TIME_MIN`). A date is compared with the response's `date` header,
    if there is one, so that a wrong clock of this machine has no effect.
    """
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return exact / 1000
    text = headers.get("retry-after")
    if (seconds := _number(text)) is not None:
        return seconds if seconds < _TIME_MIN else max(0.0, seconds - now)
    until = _date(text)
    return None if until is None else max(0.0, until - (_date(headers.get("date")) or now))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(text: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp()
    except (ValueError, OverflowError):
        return None


def is_unresolved(error: BaseException) -> bool:
    """Return whether a connection failed because the host's name does not resolve."""
    return any(isinstance(cause, socket.gaierror) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting.extend((cause.__cause__, cause.__context__))
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(cause.exceptions)
