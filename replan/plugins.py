"""Plug-ins: guards and generators of others, by installed entry points or by passing functions."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from actors.artifacts import Context
from actors.config.workflow import MODEL_GENERATORS
from actors.guards.catalogue import BUILT_IN
from actors.guards.port import Guard, GuardFactory
from actors.hands.generators import FunctionGenerator, Generator
from actors.hands.team import Registry
from runtime.errors import UsageProblem

GUARDS = "replan.guards"
"""The entry point group of guard factories: `make(config) -> guard(artifact, context) -> Verdict`."""
GENERATORS = "replan.generators"
"""The entry point group of generators: `async def make(context) -> str`."""


def registry(
    guards: Mapping[str, Guard] | None = None,
    generators: Mapping[str, Callable[[Context], Awaitable[str]]] | None = None,
) -> Registry:
    """Return the built-in guards and generators with those installed, and those passed here, which win.

    Raises:
        UsageProblem: a plug-in takes a built-in name, so that a resume without it would silently do something else; or
            an installed one cannot be loaded.
    """
    for group, taken, given in ((GUARDS, BUILT_IN, guards), (GENERATORS, MODEL_GENERATORS, generators)):
        for name in given or {}:
            if name in taken:
                raise _built_in(group, name)
    known: dict[str, GuardFactory] = {**BUILT_IN, **_installed(GUARDS, BUILT_IN)}
    known.update({name: _constant(guard) for name, guard in (guards or {}).items()})
    makers: dict[str, Callable[[Context], Awaitable[str]]] = {
        **_installed(GENERATORS, dict.fromkeys(MODEL_GENERATORS)),
        **(generators or {}),
    }
    functions: dict[str, Generator] = {name: FunctionGenerator(maker, name) for name, maker in makers.items()}
    return Registry(guards=known, generators=functions)


def _constant(guard: Guard) -> GuardFactory:
    return lambda _: guard


def _installed(group: str, taken: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for point in _points(group):
        if point.name in taken:
            raise _built_in(group, point.name)
        try:
            found[point.name] = point.load()
        except Exception as error:  # the plug-in's own code runs here, and may fail in any way
            cause = f"cannot be loaded: {type(error).__name__}: {error}"
            raise UsageProblem(cause, place=f"{group} {point.name}", hint="uninstall or repair it") from error
    return found


@cache
def _points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; looking reads every installed distribution, so once is enough."""
    return tuple(entry_points(group=group))


def _built_in(group: str, name: str) -> UsageProblem:
    return UsageProblem("the name is built in", place=f"{group} {name}", hint="rename the plug-in")
