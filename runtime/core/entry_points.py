"""Plug-ins of installed distributions. Plug-ins are found by their entry points, and loaded at their first use.

Reading the entry points opens every installed distribution, so built-in names are looked up without entry points.
"""

import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed entry points with one name in a group. More than one entry point is an error."""

    points: "tuple[EntryPoint, ...]"
    reserved: bool = False

    @property
    def place(self) -> str:
        """The text that names these entry points in messages: group, name and distributions."""
        return f"{self.points[0].group} {self.points[0].name} (from {self.distribution})"

    @property
    def distribution(self) -> str:
        """The names of the distributions of the entry points, joined by `and`."""
        return " and ".join(sorted({_distribution(point) for point in self.points}))

    def the_one(self) -> "EntryPoint":
        """Return the only entry point.

        Raises `UsageProblem` for several entry points, and for a wrong name or version.
        """
        if self.reserved:
            raise reserved_name_error(self.place)
        if len(self.points) > 1:
            raise UsageProblem(
                "several packages have a plug-in of this name", place=self.place, hint="uninstall all but one"
            )
        (point,) = self.points
        if (needed := _needed_version(point)) and needed != (present := _version()):
            cause = f"needs replan {needed}, but replan {present} is installed"
            raise UsageProblem(cause, place=self.place, hint="install both packages in the same version")
        return point

    def load(self) -> Any:
        """Return the object that the entry point names. Raises `UsageProblem` if the object cannot be loaded."""
        point = self.the_one()
        try:
            return point.load()
        except Exception as error:  # the distribution's own code runs here, and may fail in any way
            cause = f"cannot be loaded: {type(error).__name__}: {error}"
            raise UsageProblem(cause, place=self.place, hint="repair or uninstall the plug-in") from error


def find_installed(group: str, reserved: Collection[str] = ()) -> dict[str, Installed]:
    """Return the installed entry points of a group by name, without loading them. `reserved` are the built-in names."""
    by_name: dict[str, list[EntryPoint]] = {}
    for point in _points(group, tuple(sys.path)):
        by_name.setdefault(point.name, []).append(point)
    return {name: Installed(tuple(points), name in reserved) for name, points in by_name.items()}


def reserved_name_error(place: str) -> UsageProblem:
    """Return the error for a plug-in that has the name of a built-in object."""
    return UsageProblem("a plug-in cannot have a built-in name", place=place, hint="rename the plug-in")


def _points(group: str, path: tuple[str, ...]) -> "tuple[EntryPoint, ...]":
    return tuple(_all_points(path).select(group=group))


@cache
def _all_points(_: tuple[str, ...]) -> "EntryPoints":
    """Return the entry points of all installed distributions.

    The entry points are read once for each value of `sys.path`, because reading them opens every distribution's
    metadata.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 -- slow to load, and most commands need no plug-in

    points: Any = entry_points()
    found: EntryPoints = points  # Before Python 3.12 it has another type with the same `select`.
    return found


_PIN = re.compile(r"replan\s*(?:\(\s*)?==\s*([\w.+!-]+)")


def _needed_version(point: "EntryPoint") -> str:
    requirements = (point.dist.requires or ()) if point.dist is not None else ()
    return next((match[1] for text in requirements if (match := _PIN.match(text))), "")


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 -- as above

    return version("replan")


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else "an unknown package"


def accepts_arguments(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function can be called with `count` positional arguments.

    Return True for a function without a signature.
    """
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _describe(value: object) -> str:
    if inspect.isfunction(value):
        return f"the function {value.__name__}({', '.join(inspect.signature(value).parameters)})"
    return f"of type {type(value).__name__}"


def function_of(count: int) -> Callable[[Any], bool]:
    """Return a validator: a function that checks whether a plug-in can be called with `count` positional arguments."""
    return lambda value: callable(value) and accepts_arguments(value, count)


@dataclass(frozen=True, slots=True)
class PluginGroup:
    """The plug-ins of one entry point group."""

    name: str
    form: str
    """The required form of a plug-in, as messages show it, such as `open(url)`."""
    fits: Callable[[Any], bool]
    built_in: Mapping[str, str] = field(default_factory=dict)
    """The objects with built-in names, which no plug-in may have. A value is `MODULE:OBJECT`, or empty if `get` cannot
    load the object.
    """

    @property
    def installed(self) -> Mapping[str, Installed]:
        """The installed plug-ins by name. They are not loaded yet."""
        return find_installed(self.name, self.built_in)

    def find(self, name: str) -> Installed | None:
        """Return the installed plug-in with a name, without loading it; None for built-in and unknown names."""
        return None if name in self.built_in else self.installed.get(name)

    @property
    def names(self) -> list[str]:
        """The sorted names of the installed plug-ins, without built-in names."""
        return sorted(name for name, found in self.installed.items() if not found.reserved)

    def get(self, name: str) -> Any | None:
        """Load the built-in object or the plug-in with a name; None for an unknown name.

        Raises `UsageProblem`, which names the distribution of a plug-in that cannot be used.
        """
        if name in self.built_in:
            value = self.built_in[name]
            return resolve_name(value) if value else None
        found = self.find(name)
        return None if found is None else self.load(found)

    def load(self, found: Installed) -> Any:
        """Load a plug-in. Raises the errors of `get`."""
        value = found.load()
        if not self.fits(value):
            cause = f"is {_describe(value)}, and should be {self.form}"
            raise UsageProblem(cause, place=found.place, hint="repair or uninstall the plug-in")
        return value

    def problems(self) -> list[str]:
        """Load every plug-in, and return one line for each that cannot be used."""
        return [line for found in self.installed.values() if (line := self.problem(found))]

    def problem(self, found: Installed) -> str:
        """Load a plug-in, and return why it cannot be used, or an empty text."""
        try:
            self.load(found)
        except UsageProblem as problem:
            return str(problem)
        return ""
