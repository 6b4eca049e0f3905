"""Bringing a SQLite journal to this release."""

import time
from pathlib import Path

from runtime.journal.sqlite.schema import version_of
from runtime.journal.sqlite.transfer import open_transfer


def upgrade(path: Path, use_another: str) -> int:
    """Upgrade a file that exists and return its version. Raises as `open_transfer` does."""
    with open_transfer(path, time.time(), use_another, make=False) as transfer, transfer.changing() as connection:
        return version_of(connection, path)
