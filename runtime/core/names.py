"""The names of runs, kinds and drivers, and the ids of traces, which are computed from names. Pure."""

import re

RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""A pattern for the id of a run. Such an id is safe as a file name, in a URL and in a request header."""

KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A pattern for the name of a kind of runs."""


PARTS = 4


def parts_of(owner: str) -> list[str] | None:
    """Return the host, PID namespace, PID and start time from a process's name; None for the name of anything else.

    A host's name may contain slashes.
    """
    parts = owner.rsplit("/", PARTS - 1)
    return parts if len(parts) == PARTS and parts[2].isascii() and parts[2].isdigit() else None


def describe(owner: str) -> str:
    """Return `process PID on HOST` for the name of a process, and any other name unchanged."""
    parts = parts_of(owner)
    return owner if parts is None else f"process {parts[2]} on {parts[0]}"


def trace_id(run: str) -> int:
    """Return the id of a run's trace. The id stays the same when the run is resumed."""
    return _hash_number(f"replan trace\n{run}", 16)


def span_id(run: str, seq: int, part: str = "") -> int:
    """Return the id of the span that begins with a record; `part` distinguishes several spans of one record.

    The span of the whole run begins with its first record.
    """
    return _hash_number(f"replan span\n{run}\n{seq}\n{part}", 8)


def _hash_number(text: str, size: int) -> int:
    from hashlib import sha256  # noqa: PLC0415 -- `--help` is quick without it

    return int.from_bytes(sha256(text.encode()).digest()[:size]) or 1  # Zero is not a valid id.
