"""Bringing a SQLite journal to this release."""

from pathlib import Path

from runtime.journal.sqlite.raw import open_writer, transaction
from runtime.journal.sqlite.schema import version_of


def upgrade(path: Path, use_another: str) -> int:
    """Upgrade a file that exists and return its version. Raises as `open_raw` does."""
    with open_writer(path, use_another, make=False) as (connection, _), transaction(connection):
        return version_of(connection, path)
