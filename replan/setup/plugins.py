"""Plug-ins: guards and generators of other distributions, by entry points, of files, and passed in by a program.

An installed one is loaded when a workflow that names it is used, and not before: one that is broken harms no other run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS
from actors.guards.built_in import BUILT_IN
from actors.guards.port import AnyGuard, GuardFactory
from actors.handlers.generators import FunctionGenerator, Generator, TextMaker
from actors.handlers.registry import Registry
from replan.setup.data_files import data_root
from replan.setup.entry_points import Installed, installed, reserved_name
from replan.setup.guard_factories import make_guard
from replan.setup.plugin_files import load_plugin_files
from replan.setup.signatures import takes
from runtime.core.errors import UsageProblem

GUARDS = "replan.guards"
"""The entry point group of guard factories: `make(config) -> guard(artifact, context) -> Verdict`."""
GENERATORS = "replan.generators"
"""The entry point group of generators: `async def make(context) -> str`."""
BUILT_IN_GENERATORS = MODEL_GENERATORS | FREE_GENERATORS

_BUILT_IN: Mapping[str, frozenset[str]] = {GUARDS: frozenset(BUILT_IN), GENERATORS: BUILT_IN_GENERATORS}
_FACTORY = "make(config) returns guard(artifact, context)"


def registry(
    guards: Mapping[str, AnyGuard] | None = None,
    generators: Mapping[str, TextMaker] | None = None,
    files: Sequence[str | Path] = (),
) -> Registry:
    """Return the built-in guards, generators and templates with those installed, of `files`, and passed here.

    One that is passed wins over one of a file, and that over an installed one.

    Making an installed guard, or looking up an installed generator, raises `UsageProblem` if it cannot be used.

    Raises:
        UsageProblem: one that is passed or of a file takes a built-in name, so that a resume without it would silently
            do something else; and as `load_plugin_files` does.
    """
    own = load_plugin_files(files)
    for group, plugins in (
        (GUARDS, {**own.guards, **(guards or {})}),
        (GENERATORS, {**own.generators, **(generators or {})}),
    ):
        for name in plugins:
            if name in _BUILT_IN[group]:
                raise reserved_name(f"{group} {name}")
    factories: dict[str, GuardFactory] = {
        **BUILT_IN,
        **{name: _Factory(point) for name, point in _installed(GUARDS).items()},
        **own.guards,
    }
    factories.update({name: _constant(guard) for name, guard in (guards or {}).items()})
    functions = _Generators(_installed(GENERATORS), {**own.generators, **(generators or {})})
    templates = data_root() / "configs" / "templates"
    return Registry(guards=factories, generators=functions, templates=templates, sources=own.sources)


def problems() -> list[str]:
    """Load every installed plug-in, and return one line for each that cannot be used."""
    loads: list[Callable[[], object]] = [_Factory(point).load for point in _installed(GUARDS).values()]
    loads += [partial(_load_generator, point) for point in _installed(GENERATORS).values()]
    lines = []
    for load in loads:
        try:
            load()
        except UsageProblem as problem:
            lines.append(str(problem))
    return lines


@dataclass(frozen=True, slots=True)
class _Factory:
    """A guard factory that is loaded when it is called."""

    installed: Installed

    def load(self) -> GuardFactory:
        """Return the factory itself. Raises `UsageProblem`, also for a guard in a factory's place."""
        make: GuardFactory = _load_function(self.installed)
        if not takes(make, 1):
            cause = "is a guard, not a factory that makes one" if takes(make, 2) else "does not take the settings"
            raise UsageProblem(cause, place=self.installed.place, hint=_FACTORY)
        return make

    def __call__(self, config: Mapping[str, Any]) -> AnyGuard:
        """Return the guard for these settings. Raises `UsageProblem`."""
        place, failure, wrong = self.installed.place, "makes no guard", "makes a value"
        return make_guard(self.load(), config, place=place, failure=failure, wrong=wrong, hint=_FACTORY)


@dataclass(frozen=True, slots=True)
class _Generators(Mapping[str, Generator]):
    """The plug-in generators by name; an installed one is loaded when it is looked up."""

    installed: Mapping[str, Installed]
    passed: Mapping[str, TextMaker]

    def __getitem__(self, name: str) -> Generator:
        if name in self.passed:
            return FunctionGenerator(self.passed[name], name)
        return FunctionGenerator(_load_generator(self.installed[name]), name)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is one, without loading it."""
        return name in self.passed or name in self.installed

    def __iter__(self) -> Iterator[str]:
        return iter({**self.installed, **self.passed})

    def __len__(self) -> int:
        return len({**self.installed, **self.passed})


def _load_generator(point: Installed) -> TextMaker:
    make: TextMaker = _load_function(point)
    if not takes(make, 1):
        raise UsageProblem("does not take a context", place=point.place, hint="async def make(context) -> str")
    return make


def _constant(guard: AnyGuard) -> GuardFactory:
    return lambda _: guard


def _installed(group: str) -> dict[str, Installed]:
    return installed(group, _BUILT_IN[group])


def _load_function(point: Installed) -> Any:
    """Return the function that an entry point names. Raises `UsageProblem`."""
    function = point.load()
    if not callable(function):
        raise UsageProblem(f"is of type {type(function).__name__}, not a function", place=point.place)
    return function
