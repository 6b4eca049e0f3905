"""The names that runs and kinds of runs may have, and the name of a process that drives a run. Pure."""

import re

RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The id of a run: safe as a file name, in a URL and in a request header."""

KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The name of a kind of runs."""


PARTS = 4


def parts_of(owner: str) -> list[str] | None:
    """Return host, PID namespace, PID and birth; None if the owner is no process. A host's name may contain slashes."""
    parts = owner.rsplit("/", PARTS - 1)
    return parts if len(parts) == PARTS and parts[2].isascii() and parts[2].isdigit() else None


def describe(owner: str) -> str:
    """Return `process PID on HOST` for the name of a process, and any other name unchanged."""
    parts = parts_of(owner)
    return owner if parts is None else f"process {parts[2]} on {parts[0]}"
