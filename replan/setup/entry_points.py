"""Installed entry points: what other distributions have registered here, loaded when it is used and not before."""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from runtime.core.errors import UsageProblem


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed entry points of one name in a group: one, or several, which is an error."""

    points: tuple[EntryPoint, ...]
    """The entry points of this name."""
    reserved: bool = False
    """Whether the name is built in, so that no distribution may take it."""

    @property
    def place(self) -> str:
        """Return the group, the name, and the distributions that it comes from."""
        sources = " and ".join(sorted({_distribution(point) for point in self.points}))
        return f"{self.points[0].group} {self.points[0].name} (from {sources})"

    def load(self) -> Any:
        """Return the object that the entry point names. Raises `UsageProblem`, whose place is `place`."""
        if self.reserved:
            raise reserved_name(self.place)
        if len(self.points) > 1:
            raise UsageProblem("several have this name", place=self.place, hint="uninstall all but one")
        try:
            return self.points[0].load()
        except Exception as error:  # the distribution's own code runs here, and may fail in any way
            cause = f"cannot be loaded: {type(error).__name__}: {error}"
            raise UsageProblem(cause, place=self.place, hint="uninstall or repair it") from error


def installed(group: str, reserved: Collection[str] = ()) -> dict[str, Installed]:
    """Return what is installed in a group, by name. Nothing of it is loaded."""
    by_name: dict[str, list[EntryPoint]] = {}
    for point in _points(group, tuple(sys.path)):
        by_name.setdefault(point.name, []).append(point)
    return {name: Installed(tuple(points), name in reserved) for name, points in by_name.items()}


def reserved_name(place: str) -> UsageProblem:
    """Return the error about a plug-in whose name is built in."""
    return UsageProblem("the name is built in", place=place, hint="rename the plug-in")


@cache
def _points(group: str, _: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group on this path. Reading them opens every distribution, so it is done once."""
    return tuple(entry_points(group=group))


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"
