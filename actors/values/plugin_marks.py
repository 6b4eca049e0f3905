"""The decorators that mark plug-ins in a user's file, and the record of the plug-ins that a run uses."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, overload

from pydantic import BaseModel, ConfigDict

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__replan_plugin__"


class PlugInMark(NamedTuple):
    """The mark on a decorated function: the plug-in's kind, and the plug-in's name in workflows."""

    kind: Literal["guard", "generator"]
    name: str


class PlugInFile(BaseModel):
    """A plug-in of a user's file, as the start of a run records it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plugin: str
    """The plug-in's kind and name, such as `guard 'small'`."""
    file: str
    """The absolute path of the file at the start of the run."""
    hash: str
    """The first 128 bits of the hash of the file's content, in hex."""


@overload
def guard(function: F) -> F: ...


@overload
def guard(*, name: str) -> Callable[[F], F]: ...


def guard(function: F | None = None, *, name: str = "") -> F | Callable[[F], F]:
    """Mark a function as a guard: `guard(artifact, context) -> Verdict`, sync or async.

    A function with only one parameter is a factory: it takes the step's `guard_config` and returns the guard. The
    guard's name is the function's name, unless the decorator gets another name. The decorator returns the function
    unchanged.
    """
    return _mark_plugin(function, "guard", name)


@overload
def generator(function: F) -> F: ...


@overload
def generator(*, name: str) -> Callable[[F], F]: ...


def generator(function: F | None = None, *, name: str = "") -> F | Callable[[F], F]:
    """Mark a function as a generator: `async def make(context) -> str`.

    The generator's name is the function's name, unless the decorator gets another name.
    """
    return _mark_plugin(function, "generator", name)


def mark_of(value: object) -> PlugInMark | None:
    """Return the mark on a value; None if the value has no mark."""
    mark = getattr(value, _ATTRIBUTE, None) if callable(value) else None
    return mark if isinstance(mark, PlugInMark) else None


def _mark_plugin(function: F | None, kind: Literal["guard", "generator"], name: str) -> F | Callable[[F], F]:
    def mark(marked: F) -> F:
        setattr(marked, _ATTRIBUTE, PlugInMark(kind, name or marked.__name__))
        return marked

    return mark if function is None else mark(function)
