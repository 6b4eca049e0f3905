"""Which texts stored events name, whatever their kind, so that those of deleted runs can be found. Pure.

A process may delete runs beside others whose kinds it does not know; so the names are read off the stored bytes. What
only looks like a name keeps a text, and never removes one that is needed.
"""

import base64
import re
from collections.abc import Iterable

_NAME = re.compile(rb'(?<=")[A-Za-z0-9_-]{43}(?=")')
"""A SHA-256 in base64 without padding, as a whole JSON string (`runtime.core.events`)."""


def named_texts(bodies: Iterable[bytes]) -> set[bytes]:
    """Return the hashes of all texts that stored events may name, 32 bytes each."""
    return {_hash(name) for body in bodies for name in _NAME.findall(body)}


def _hash(name: bytes) -> bytes:
    return base64.urlsafe_b64decode(name + b"=")
