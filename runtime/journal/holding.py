"""Who may drive a run, as every journal decides it from the lease in the run's row. Pure.

A run that was moved to another journal has a lease that never ends, whose owner says where it was moved.
"""

from runtime.core.errors import Fenced, Held, RunMoved
from runtime.journal.port import Dead

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


def check_free(run: str, owner: str | None, end: float, now: float, dead: Dead) -> None:
    """Raise `RunMoved`, or `Held` if a lease that ends at `end` is alive and its owner not proved to be gone."""
    check_here(run, owner)
    if owner is not None and end > now and not dead(owner):
        raise Held(run, owner, end)


def check_driver(run: str, owner: str | None, current: int, epoch: int) -> None:
    """Raise `Fenced` unless the run was taken under this epoch and has not been released since."""
    if current != epoch or owner is None:
        raise Fenced(run, epoch, current)


def check_movable(run: str, owner: str | None, end: float, now: float, dead: Dead, *, place: str) -> bool:
    """Tell whether a run is marked as moved to this place. Raises `RunMoved` for another place, `Held`."""
    if place_moved_to(owner) == place:
        return True
    check_free(run, owner, end, now, dead)
    return False
