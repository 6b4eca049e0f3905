"""The version of a journal (docs/explanation/versions.md): one number for its tables and for what its records may say.

A release opens journals up to its own `VERSION`; those of a newer one it refuses. A release that adds an event, a
field or a column raises the number, and adds a step to the `UPGRADES` of each store, which may be empty: records are
never rewritten, since their hashes chain.
"""

from runtime.core.errors import JournalNewer, JournalUnreadable

VERSION = 1
"""The version that this release writes; 1 is the first."""

BEFORE_FIRST = "written by an older development version, whose journals this one does not open"
"""Why a journal is refused whose tables are from before version 1."""


def check_version(place: str, version: int) -> None:
    """Raise `JournalNewer` for a version that a newer release has written."""
    if version > VERSION:
        raise JournalNewer(place, version, VERSION)


def before_first(place: str) -> JournalUnreadable:
    """Return the error for a journal of an older development version."""
    return JournalUnreadable(place, BEFORE_FIRST, "begin another home or database, or go on with that version")
