"""Validation of data before it is written to a journal: run ids, texts, and events.

Texts must be valid Unicode of limited size. Every journal validates data before it writes.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from runtime.core.errors import RunNotFound, UsageProblem
from runtime.core.events import Codec
from runtime.core.names import KIND, RUN_ID
from runtime.journal.port import Fact, Placement

E = TypeVar("E")

FORMAT_MAX = 2**31 - 1
"""The highest format version that a kind of runs can have. Every store must be able to store this number."""

PRIORITY_MAX = 100
"""The highest priority of a run. The lowest priority is `-PRIORITY_MAX`."""

TEXT_BYTES_MAX = 64 * 1024 * 1024
"""The largest size of one text or event, in bytes of UTF-8. It is far above any prompt, and far below SQLite's limit of
1 GB.
"""


class Entry(NamedTuple, Generic[E]):
    """An encoded event that is to be appended."""

    event: E
    body: bytes
    """The JSON of the event, with hashes in place of texts."""
    texts: Mapping[str, bytes]
    inbox: int | None
    """The id of the posted message that the event consumes; None if it consumes none."""


def _check_run(run: str) -> str:
    if RUN_ID.fullmatch(run) is None:
        hint = "use 1 to 64 of a-z, 0-9, dot, underscore and hyphen, and begin with a letter or a digit"
        raise UsageProblem(f"{run!r} is not a valid run id", hint=hint)
    return run


def check_new(run: str, title: str, kind: str, format: int, *, owner: str | None, placement: Placement) -> None:
    """Raise `UsageProblem` if one of these values is not allowed for a new run."""
    _check_run(run)
    check_placement(placement)
    check_text(title, "title")
    _check_kind(kind, format)
    check_text(owner or "", "owner")


def check_placement(placement: Placement) -> None:
    """Raise `UsageProblem` if this tenant's name or this priority is not allowed."""
    if placement.tenant and RUN_ID.fullmatch(placement.tenant) is None:
        hint = "use 1 to 64 of a-z, 0-9, dot, underscore and hyphen, and begin with a letter or a digit"
        raise UsageProblem(f"{placement.tenant!r} is not a valid name of a tenant", hint=hint)
    if abs(placement.priority) > PRIORITY_MAX:
        raise UsageProblem(
            f"{placement.priority} is not a valid priority", hint=f"use -{PRIORITY_MAX} to {PRIORITY_MAX}"
        )


def _check_kind(kind: str, format: int) -> None:
    if KIND.fullmatch(kind) is None:
        hint = "use 1 to 64 of a-z, 0-9 and underscore, and begin with a letter"
        raise UsageProblem(f"{kind!r} is not a valid name of a kind of runs", hint=hint)
    if not 1 <= format <= FORMAT_MAX:
        raise UsageProblem(f"{format} is not a valid format version", hint=f"use 1 to {FORMAT_MAX:,}")


def check_known_run(run: str) -> str:
    """Return the id unchanged. Raises `RunNotFound` if it is not valid, because then no run has this id."""
    if RUN_ID.fullmatch(run) is None:
        raise RunNotFound(run)
    return run


def check_text(text: str, place: str) -> str:
    """Return the text unchanged. Raises `UsageProblem` if it cannot be written as UTF-8 or exceeds `TEXT_BYTES_MAX`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        hint = f"character {error.start + 1} is a lone surrogate"
        raise UsageProblem("the text is not valid Unicode", place=place, hint=hint) from error
    check_size(size, place)
    return text


def check_size(size: int, place: str) -> None:
    """Raise `UsageProblem` if a text or an event of this many bytes is too large to be written."""
    if size > TEXT_BYTES_MAX:
        raise UsageProblem(
            f"{size:,} bytes are too many for the journal", place=place, hint=f"at most {TEXT_BYTES_MAX:,}"
        )


def encode_facts(codec: Codec[E], facts: Sequence[Fact[E]]) -> list[Entry[E]]:
    """Encode the facts. Raises `UsageProblem` if a fact cannot be written."""
    return [_encode_fact(codec, fact) for fact in facts]


def _encode_fact(codec: Codec[E], fact: Fact[E]) -> Entry[E]:
    place = f"event {type(fact.event).__name__}"
    try:
        encoded = codec.encode(fact.event)
    except (ValueError, TypeError) as error:
        # A lone surrogate fails in pydantic, in UTF-8 or in orjson, depending on its field.
        raise UsageProblem("the event cannot be written", place=place, hint=_first_line(error)) from error
    texts = {digest: text.encode() for digest, text in encoded.texts.items()}
    for stored in (encoded.body, *texts.values()):
        check_size(len(stored), place)
    return Entry(fact.event, encoded.body, texts, fact.inbox)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
