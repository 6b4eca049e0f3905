"""The key that seals what a client hands back with its answers: in the home, so that it outlives the server."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mcp.server.request_state import RequestStateSecurity

from runtime.core.errors import UsageProblem

NAME = "mcp.key"
"""The name of the file in the home; it is private, and made when it is needed first."""
BYTES = 32
"""Random bytes of the key."""
SECONDS = 30 * 24 * 3600.0
"""How long a client may keep what was sealed: people take days to answer."""


def security(folder: Path) -> RequestStateSecurity:
    """Return how state is sealed, with the key of a home, whose folder exists. Raises `UsageProblem`."""
    return RequestStateSecurity(keys=[_key(folder / NAME)], ttl=SECONDS)


def _key(path: Path) -> bytes:
    hint = "remove it: forms that clients still show are refused then, and asked again"
    with suppress(FileExistsError):
        _make(path)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise UsageProblem("others than you may read or change this key", place=str(path), hint=hint)
        key = file.read(BYTES + 1)
    if len(key) != BYTES:
        raise UsageProblem(f"a key has {BYTES} bytes, this one {len(key)}", place=str(path), hint=hint)
    return key


def _make(path: Path) -> None:
    """Write a new key. Raises `FileExistsError` where there is one; a file with half a key is never at the path."""
    if path.exists():
        raise FileExistsError
    draft = path.with_name(f".{NAME}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        draft.unlink()
