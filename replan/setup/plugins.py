"""Loads plug-ins: guards and generators from installed distributions, from files, and from a program's arguments.

An installed plug-in is loaded only for a workflow that names it, so a broken plug-in does not affect other runs.
"""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from actors.config.step_guards import BUILT_IN
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS
from actors.guards.port import AnyGuard, GuardFactory
from actors.handlers.generators import FunctionGenerator, Generator, Registry, TextMaker
from actors.values.plugin_marks import PlugInFile, mark_of
from replan.setup.installation import data_root
from runtime.core.entry_points import Installed, PluginGroup, accepts_arguments, function_of, reserved_name_error
from runtime.core.errors import UsageProblem


def _make_guard(
    factory: Callable[[Mapping[str, Any]], Any],
    config: Mapping[str, Any],
    *,
    place: str,
    failure: str,
    wrong: str,
    hint: str,
) -> AnyGuard:
    """Call a factory with the `guard_config` of a step, and return the guard.

    A `UsageProblem` of the factory is raised unchanged. Any other exception becomes a `UsageProblem` that begins with
    `failure`. A value that is not a guard causes a `UsageProblem` that begins with `wrong`, with the hint `hint`. The
    errors that are made here have the place `place`.
    """
    try:
        guard: Any = factory(config)
    except UsageProblem:
        raise
    except Exception as error:
        cause = f"{failure}: {type(error).__name__}: {error}"
        raise UsageProblem(cause, place=place, hint="repair the plug-in, or the step's `guard_config`") from error
    if not callable(guard):
        raise UsageProblem(f"{wrong} of type {type(guard).__name__}, not a guard", place=place, hint=hint)
    return cast("AnyGuard", guard)


FILE_BYTES_MAX = 1024 * 1024
_MARKS = "mark a function with @replan.guard or @replan.generator"


@dataclass(frozen=True, slots=True)
class PlugInFiles:
    """The plug-ins that were found in files."""

    guards: Mapping[str, GuardFactory] = field(default_factory=dict)
    generators: Mapping[str, TextMaker] = field(default_factory=dict)
    sources: Mapping[str, PlugInFile] = field(default_factory=dict)
    """The file of each plug-in, by the plug-in's kind and name, such as `guard 'small'`."""


def _load_plugin_files(paths: Iterable[str | Path]) -> PlugInFiles:
    """Run Python files, each only once in a process, and return the functions that the files mark as plug-ins.

    Raises `UsageProblem`, with file and line, for a file that cannot be read or run, or that has no plug-in. Also
    raises `UsageProblem` for a plug-in that has a wrong signature, or the name of a plug-in in another file.
    """
    guards: dict[str, GuardFactory] = {}
    generators: dict[str, TextMaker] = {}
    sources: dict[str, PlugInFile] = {}
    for path in dict.fromkeys(Path(item).expanduser().absolute() for item in paths):
        data = _read(path)
        digest = hashlib.sha256(data).hexdigest()[:32]
        for (kind, name), function in _load_marked(path, digest, data).items():
            key, line = f"{kind} {name!r}", function.__code__.co_firstlineno if hasattr(function, "__code__") else 1
            place = f"{path}:{line}"
            if key in sources:
                raise UsageProblem(f"{key} is also in {sources[key].file}", place=place, hint="rename one of them")
            sources[key] = PlugInFile(plugin=key, file=str(path), hash=digest)
            if kind == "guard":
                guards[name] = _factory(function, key, place)
            elif accepts_arguments(function, 1):
                generators[name] = function
            else:
                raise UsageProblem(
                    f"{key} does not take a context", place=place, hint="write async def make(context) -> str"
                )
    return PlugInFiles(guards, generators, sources)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        cause = "there is no such file" if isinstance(error, FileNotFoundError) else (error.strerror or "").lower()
        raise UsageProblem(cause, place=str(path), hint="name a Python file with your plug-ins") from None
    if path.suffix != ".py" or len(data) > FILE_BYTES_MAX:
        cause = (
            "this is not a Python file" if path.suffix != ".py" else f"the file has more than {FILE_BYTES_MAX:,} bytes"
        )
        raise UsageProblem(cause, place=str(path), hint="name a file that ends in .py")
    return data


@lru_cache(maxsize=64)
def _load_marked(path: Path, digest: str, data: bytes) -> Mapping[tuple[str, str], Callable[..., Any]]:
    name = f"_replan_plugins_{path.stem}_{digest}"
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    sys.modules[name] = module  # Dataclasses look their module up.
    try:
        exec(compile(data, str(path), "exec"), module.__dict__)  # noqa: S102 -- the user has named this file to be run
    except Exception as error:
        del sys.modules[name]
        raise _file_error(path, error) from error
    functions: dict[tuple[str, str], Callable[..., Any]] = {}
    for value in vars(module).values():
        mark = mark_of(value)
        if mark is None or getattr(value, "__module__", name) != name:  # One that is imported belongs elsewhere.
            continue
        if functions.setdefault((mark.kind, mark.name), value) is not value:
            raise UsageProblem(
                f"two functions are marked as {mark.kind} {mark.name!r}", place=str(path), hint="rename one"
            )
    if not functions:
        raise UsageProblem("there is no plug-in in this file", place=str(path), hint=_MARKS)
    return MappingProxyType(functions)


def _file_error(path: Path, error: Exception) -> UsageProblem:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return UsageProblem(
            f"the file is not valid Python: {error.msg}", place=f"{path}:{error.lineno}", hint="repair the file"
        )
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return UsageProblem(f"cannot be run: {type(error).__name__}: {error}", place=place, hint="repair the file")


def _factory(function: Callable[..., Any], key: str, place: str) -> GuardFactory:
    """Return a factory of guards for a marked function. The function itself is a guard or a factory of guards."""
    if accepts_arguments(function, 2):

        def without_settings(config: Mapping[str, Any]) -> AnyGuard:
            if config:
                hint = f"leave {', '.join(map(str, config))} out, or mark a factory: def make(config) returns the guard"
                raise UsageProblem(f"{key} takes no settings", place="guard_config", hint=hint)
            return function

        return without_settings
    if not accepts_arguments(function, 1):
        hint = "write def guard(artifact, context) -> Verdict, or def make(config) that returns such a guard"
        raise UsageProblem(f"{key} does not have the parameters of a guard", place=place, hint=hint)

    def with_settings(config: Mapping[str, Any]) -> AnyGuard:
        failure, wrong = f"{key} cannot be made", f"{key} makes a value"
        hint = "return a function: guard(artifact, context) -> Verdict"
        return _make_guard(function, config, place=place, failure=failure, wrong=wrong, hint=hint)

    return with_settings


BUILT_IN_GENERATORS = MODEL_GENERATORS | FREE_GENERATORS


_FACTORY = "make(config) returns guard(artifact, context)"
GUARD_PLUGINS = PluginGroup(
    "replan.guards",
    "a function make(config) that returns guard(artifact, context)",
    function_of(1),
    dict.fromkeys(BUILT_IN, ""),
)
"""The group of guards in installed distributions. An entry point names a factory: `make(config)` returns
`guard(artifact, context)`.
"""
GENERATOR_PLUGINS = PluginGroup(
    "replan.generators", "a function make(context)", function_of(1), dict.fromkeys(BUILT_IN_GENERATORS, "")
)
"""The group of generators in installed distributions. An entry point names a function `async def make(context) -> str`.
"""


def registry(
    guards: Mapping[str, AnyGuard] | None = None,
    generators: Mapping[str, TextMaker] | None = None,
    files: Sequence[str | Path] = (),
) -> Registry:
    """Return the registry of all guards and generators: built-in, installed, in `files`, and in the other arguments.

    If several plug-ins have the same name, a plug-in in `guards` or `generators` replaces a plug-in in a file. A
    plug-in in a file replaces an installed plug-in.

    An installed plug-in that cannot be used raises `UsageProblem` when the guard is made or the generator is looked up.

    Raises: UsageProblem: a plug-in in an argument or in a file has a built-in name. If such a name were allowed, a
    resume that lacks the plug-in would silently use the built-in one. Also the errors of `_load_plugin_files`.
    """
    own = _load_plugin_files(files)
    for group, plugins in (
        (GUARD_PLUGINS, {**own.guards, **(guards or {})}),
        (GENERATOR_PLUGINS, {**own.generators, **(generators or {})}),
    ):
        for name in plugins:
            if name in group.built_in:
                raise reserved_name_error(f"{group.name} {name}")
    factories: dict[str, GuardFactory] = {
        **BUILT_IN,
        **{name: _Factory(point) for name, point in GUARD_PLUGINS.installed.items()},
        **own.guards,
    }
    factories.update({name: _constant(guard) for name, guard in (guards or {}).items()})
    functions = _Generators(GENERATOR_PLUGINS.installed, {**own.generators, **(generators or {})})
    templates = data_root() / "configs" / "templates"
    return Registry(guards=factories, generators=functions, templates=templates, sources=own.sources)


@dataclass(frozen=True, slots=True)
class _Factory:
    """A factory of guards that is loaded at its first call."""

    installed: Installed

    def __call__(self, config: Mapping[str, Any]) -> AnyGuard:
        place, failure, wrong = self.installed.place, "makes no guard", "makes a value"
        return _make_guard(
            GUARD_PLUGINS.load(self.installed), config, place=place, failure=failure, wrong=wrong, hint=_FACTORY
        )


@dataclass(frozen=True, slots=True)
class _Generators(Mapping[str, Generator]):
    """The generators of plug-ins, by name. An installed generator is loaded when it is looked up."""

    installed: Mapping[str, Installed]
    passed: Mapping[str, TextMaker]

    def __getitem__(self, name: str) -> Generator:
        if name in self.passed:
            return FunctionGenerator(self.passed[name], name)
        return FunctionGenerator(GENERATOR_PLUGINS.load(self.installed[name]), name)

    def __contains__(self, name: object) -> bool:
        return name in self.passed or name in self.installed

    def __iter__(self) -> Iterator[str]:
        return iter({**self.installed, **self.passed})

    def __len__(self) -> int:
        return len({**self.installed, **self.passed})


def _constant(guard: AnyGuard) -> GuardFactory:
    return lambda _: guard
