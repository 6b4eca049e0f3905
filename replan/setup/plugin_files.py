"""Plug-ins in files of the user's own: `--plugins FILE.py`, or `plugins` in the config file.

A workflow only names the guards and generators that it needs; the code comes from files that the user has named.
"""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from actors.guards.port import AnyGuard, GuardFactory
from actors.handlers.generators import TextMaker
from actors.values.plugin_marks import PlugInFile, mark_of
from replan.setup.guard_factories import make_guard
from replan.setup.signatures import takes
from runtime.core.errors import UsageProblem

FILE_BYTES_MAX = 1024 * 1024
"""The largest file; plug-ins are written by hand."""
_MARKS = "mark a function with @replan.guard or @replan.generator"


@dataclass(frozen=True, slots=True)
class PlugInFiles:
    """What some files mark as plug-ins, all files together."""

    guards: Mapping[str, GuardFactory] = field(default_factory=dict)
    """Factories of guards by name."""
    generators: Mapping[str, TextMaker] = field(default_factory=dict)
    """Generators by name."""
    sources: Mapping[str, PlugInFile] = field(default_factory=dict)
    """The file of each plug-in, by kind and name, such as `guard 'small'`."""


def load_plugin_files(paths: Iterable[str | Path]) -> PlugInFiles:
    """Run the files, each once in a process, and return what they mark as plug-ins.

    Raises `UsageProblem` with file and line for a file that cannot be read or run, that marks nothing, or that has a
    plug-in whose signature is wrong or whose name another file has.
    """
    guards: dict[str, GuardFactory] = {}
    generators: dict[str, TextMaker] = {}
    sources: dict[str, PlugInFile] = {}
    for path in dict.fromkeys(Path(each).expanduser().absolute() for each in paths):
        data = _read(path)
        digest = hashlib.sha256(data).hexdigest()[:32]
        for (kind, name), function in _marked(path, digest, data).items():
            key, line = f"{kind} {name!r}", function.__code__.co_firstlineno if hasattr(function, "__code__") else 1
            place = f"{path}:{line}"
            if key in sources:
                raise UsageProblem(f"{key} is in {sources[key].file} too", place=place, hint="rename one of them")
            sources[key] = PlugInFile(plugin=key, file=str(path), hash=digest)
            if kind == "guard":
                guards[name] = _factory(function, key, place)
            elif takes(function, 1):
                generators[name] = function
            else:
                raise UsageProblem(f"{key} does not take a context", place=place, hint="async def make(context) -> str")
    return PlugInFiles(guards, generators, sources)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        cause = "there is no such file" if isinstance(error, FileNotFoundError) else (error.strerror or "").lower()
        raise UsageProblem(cause, place=str(path), hint="name a Python file with your plug-ins") from None
    if path.suffix != ".py" or len(data) > FILE_BYTES_MAX:
        cause = "this is no Python file" if path.suffix != ".py" else f"more than {FILE_BYTES_MAX:,} bytes"
        raise UsageProblem(cause, place=str(path), hint="name a file that ends in .py")
    return data


@lru_cache(maxsize=64)
def _marked(path: Path, digest: str, data: bytes) -> Mapping[tuple[str, str], Callable[..., Any]]:
    """Run a file as a module of its own, and return the functions that it marks, by kind and name."""
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
        raise _broken(path, error) from error
    functions: dict[tuple[str, str], Callable[..., Any]] = {}
    for value in vars(module).values():
        mark = mark_of(value)
        if mark is None or getattr(value, "__module__", name) != name:  # One that is imported belongs elsewhere.
            continue
        if functions.setdefault((mark.kind, mark.name), value) is not value:
            raise UsageProblem(f"two functions are {mark.kind} {mark.name!r}", place=str(path), hint="rename one")
    if not functions:
        raise UsageProblem("there is no plug-in in this file", place=str(path), hint=_MARKS)
    return MappingProxyType(functions)


def _broken(path: Path, error: Exception) -> UsageProblem:
    """Return the error about a file that raised, with the line in it where it did."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return UsageProblem(f"not Python: {error.msg}", place=f"{path}:{error.lineno}", hint="repair the file")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return UsageProblem(f"cannot be run: {type(error).__name__}: {error}", place=place, hint="repair the file")


def _factory(function: Callable[..., Any], key: str, place: str) -> GuardFactory:
    """Return the factory of a marked guard: the function itself, or one that returns it and takes no settings."""
    if takes(function, 2):

        def without_settings(config: Mapping[str, Any]) -> AnyGuard:
            if config:
                hint = f"leave {', '.join(map(str, config))} out, or mark a factory: def make(config) returns the guard"
                raise UsageProblem(f"{key} takes no settings", place="guard_config", hint=hint)
            return function

        return without_settings
    if not takes(function, 1):
        hint = "def guard(artifact, context) -> Verdict, or def make(config) that returns such a guard"
        raise UsageProblem(f"{key} takes other values than a guard", place=place, hint=hint)

    def with_settings(config: Mapping[str, Any]) -> AnyGuard:
        failure, wrong = f"{key} cannot be made", f"{key} makes a value"
        hint = "return a function: guard(artifact, context) -> Verdict"
        return make_guard(function, config, place=place, failure=failure, wrong=wrong, hint=hint)

    return with_settings
