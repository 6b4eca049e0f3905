"""What may enter a journal: run ids, texts of a bounded size that are valid Unicode, and events that encode.

Every adapter asks here before it writes, so that nothing half-acceptable ever reaches a store.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from runtime.core.errors import JournalError, RunNotFound, UsageProblem
from runtime.core.events import Codec
from runtime.core.machine import Summary
from runtime.core.names import KIND, RUN_ID
from runtime.journal.port import Fact

E = TypeVar("E")

FORMAT_MAX = 2**31 - 1
"""The highest format version that a store has to hold."""

TEXT_BYTES_MAX = 64 * 1024 * 1024
"""The largest single text or event, in bytes of UTF-8; far above any prompt, far below SQLite's own limit of 1 GB."""


class Entry(NamedTuple, Generic[E]):
    """An event on its way in: the value, its stored body, the texts it names by hash, the message it consumes."""

    event: E
    body: bytes
    texts: Mapping[str, bytes]
    inbox: int | None


def admit_run(run: str) -> str:
    """Return the id of a new run. Raises `UsageProblem` if it is not one."""
    if RUN_ID.fullmatch(run) is None:
        hint = "1 to 64 of a-z, 0-9, dot, underscore and hyphen, starting with a letter or a digit"
        raise UsageProblem(f"{run!r} is not a run id", hint=hint)
    return run


def admit_kind(kind: str, format: int) -> None:
    """Raise `UsageProblem` unless a run may be of this kind and format version."""
    if KIND.fullmatch(kind) is None:
        hint = "1 to 64 of a-z, 0-9 and underscore, starting with a letter"
        raise UsageProblem(f"{kind!r} is not the name of a kind of runs", hint=hint)
    if not 1 <= format <= FORMAT_MAX:
        raise UsageProblem(f"{format} is not a format version", hint=f"1 to {FORMAT_MAX:,}")


def known_run(run: str) -> str:
    """Return the id of a run that may exist. Raises `RunNotFound` if no run can be called that."""
    if RUN_ID.fullmatch(run) is None:
        raise RunNotFound(run)
    return run


def admit_text(text: str, place: str) -> str:
    """Return the text. Raises `UsageProblem` if it cannot be written as UTF-8 or is larger than `TEXT_BYTES_MAX`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        hint = f"character {error.start + 1} is a lone surrogate"
        raise UsageProblem("the text is not valid Unicode", place=place, hint=hint) from error
    admit_size(size, place)
    return text


def admit_summary(summary: Summary) -> None:
    """Raise `UsageProblem` if the status row cannot be written."""
    admit_text(summary.status, "status")
    admit_text(summary.detail, "detail")


def admit_size(size: int, place: str) -> None:
    """Raise `UsageProblem` if a text or an event of this many bytes is too large to be written."""
    if size > TEXT_BYTES_MAX:
        raise UsageProblem(
            f"{size:,} bytes are too large for the journal", place=place, hint=f"at most {TEXT_BYTES_MAX:,}"
        )


def admit_facts(codec: Codec[E], facts: Sequence[Fact[E]]) -> list[Entry[E]]:
    """Encode the facts. Raises `UsageProblem` if one holds something that cannot be written."""
    return [_admit_fact(codec, fact) for fact in facts]


def _admit_fact(codec: Codec[E], fact: Fact[E]) -> Entry[E]:
    place = f"event {type(fact.event).__name__}"
    try:
        encoded = codec.encode(fact.event)
    except (ValueError, TypeError) as error:
        # A lone surrogate fails in pydantic, in UTF-8 or in orjson, depending on the field it stands in.
        raise UsageProblem("the event cannot be written", place=place, hint=_first_line(error)) from error
    texts = {digest: text.encode() for digest, text in encoded.texts.items()}
    for stored in (encoded.body, *texts.values()):
        admit_size(len(stored), place)
    return Entry(fact.event, encoded.body, texts, fact.inbox)


def check_consumable(run: str, inbox: int, *, posted: bool, fresh: bool) -> None:
    """Raise `JournalError` unless the message was posted to the run and no record has consumed it yet."""
    if not posted:
        raise JournalError(f"run {run!r}: there is no posted message {inbox}")
    if not fresh:
        raise JournalError(f"run {run!r}: the posted message {inbox} was consumed already")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
