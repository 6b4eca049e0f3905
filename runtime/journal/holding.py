"""The mark of a run that was moved to another journal. Pure.

Such a run has a lease that never ends, whose owner says where it was moved.
"""

from runtime.core.errors import RunMoved

_MOVED = "moved to "

MOVED_UNTIL = 253_402_300_799.0
"""When the lease of a moved run ends: with the year 9999."""


def moved_to(place: str) -> str:
    """Return the owner of a run that was moved to a place."""
    return f"{_MOVED}{place}"


def place_moved_to(owner: str | None) -> str | None:
    """Return where a run was moved; None for one that was not."""
    return owner.removeprefix(_MOVED) if owner is not None and owner.startswith(_MOVED) else None


def check_here(run: str, owner: str | None) -> None:
    """Raise `RunMoved` if the run was moved to another journal."""
    place = place_moved_to(owner)
    if place is not None:
        raise RunMoved(run, place)
