"""Finds the kinds of runs: built-in kinds, kinds of installed distributions, and kinds that a program passes.

A kind is loaded only when one of its runs is used. So a kind that is broken or missing does not affect runs of other
kinds.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from runtime.core.entry_points import Installed, find_installed, reserved_name_error
from runtime.core.errors import KindUnknown, UsageProblem
from runtime.core.events import Codec
from runtime.journal.port import FIRST_KIND, Formats

if TYPE_CHECKING:
    from actors.run.kind import Kind

GROUP = "replan.kinds"
"""The entry point group for kinds of runs. The name of an entry point is the name of a kind. Its value is the import
path of an `actors.run.kind.Kind`.
"""

_BUILT_IN = {
    FIRST_KIND: "actors.planning.kind:PLANNING",
    "execution": "actors.execution.kind:EXECUTION",
}
"""A mapping from the name of each built-in kind to the kind's import path. These kinds are known even in a checkout
that is not installed."""


class Kinds:
    """The known kinds, by name. A kind that the program passes replaces an installed kind with the same name."""

    def __init__(self, passed: "Iterable[Kind[Any, Any]]" = ()) -> None:
        self._loaded: dict[str, Kind[Any, Any]] = {kind.name: kind for kind in passed}

    def get(self, run: str, name: str, format: int) -> "Kind[Any, Any]":
        """Return the kind of a run. `name` and `format` are the kind and the format in the run's row.

        Raises `KindUnknown` if no known kind has this name and format. Raises `UsageProblem` if the kind's entry point
        cannot be used; the error names the distribution.
        """
        kind = self._load(name)
        if kind is None or kind.format < format:
            raise KindUnknown(run, name, format, None if kind is None else kind.format)
        return kind

    def named(self, name: str) -> "Kind[Any, Any]":
        """Return the kind with a name. Raises `UsageProblem` if it is unknown or cannot be used."""
        kind = self._load(name)
        if kind is None:
            known = ", ".join(sorted(self.names))
            raise UsageProblem(f"there is no kind {name!r} of agent", place="kind", hint=f"known kinds: {known}")
        return kind

    @property
    def names(self) -> "frozenset[str]":
        """The names of all kinds, loaded or not."""
        return frozenset({*self._loaded, *self._entries})

    def usable(self) -> "Iterator[Kind[Any, Any]]":
        """Yield the kinds that can be loaded, in the order of their names.

        The second value of `formats` names the kinds that cannot be loaded.
        """
        for name in sorted(self.names):
            try:
                yield self.named(name)
            except UsageProblem:
                continue

    def formats(self) -> tuple[Formats, list[str]]:
        """Load all kinds.

        Return a mapping from kinds' names to formats, and a line about each kind that cannot be used.
        """
        problems = []
        for name, entry in self._entries.items():
            if entry.reserved:
                problems.append(str(reserved_name_error(entry.place)))
            try:
                self._load(name)
            except UsageProblem as problem:
                problems.append(str(problem))
        return {name: kind.format for name, kind in self._loaded.items()}, problems

    @property
    def codecs(self) -> Mapping[str, Codec[Any]]:
        """The codecs of the kinds by name, for a journal. A kind is loaded when its codec is looked up."""
        return _Codecs(self)

    @cached_property
    def _entries(self) -> dict[str, Installed]:
        entries = {
            name: Installed(tuple(point for point in item.points if point.value != _BUILT_IN.get(name)), item.reserved)
            for name, item in find_installed(GROUP, _BUILT_IN).items()
        }
        plugged_in = {name: entry for name, entry in entries.items() if entry.points}
        return {**{name: _built_in(name) for name in _BUILT_IN}, **plugged_in}

    def _load(self, name: str) -> "Kind[Any, Any] | None":
        if name in self._loaded:
            return self._loaded[name]
        # Installed distributions are read only for a name that is not built in, because reading takes time.
        entry = _built_in(name) if name in _BUILT_IN else self._entries.get(name)
        if entry is None:
            return None
        from actors.run.kind import Kind  # noqa: PLC0415 -- not needed to list runs

        kind = entry.load()
        if not isinstance(kind, Kind):
            raise UsageProblem(f"the object is of type {type(kind).__name__}, not a Kind", place=entry.place)
        if kind.name != name:
            raise UsageProblem(
                f"the kind is named {kind.name!r}", place=entry.place, hint="give the entry point the same name"
            )
        self._loaded[name] = kind
        return kind


class _Codecs(Mapping[str, Codec[Any]]):
    """The codecs of the kinds, by name. A kind is loaded when its codec is looked up."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def __getitem__(self, name: str) -> Codec[Any]:
        try:
            kind = self._kinds._load(name)  # noqa: SLF001 -- a view of the class above
        except UsageProblem:
            kind = None
        if kind is None:
            raise KeyError(name)
        return kind.codec

    def __iter__(self) -> Iterator[str]:
        return iter({**self._kinds._entries, **self._kinds._loaded})  # noqa: SLF001 -- as above

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _built_in(name: str) -> Installed:
    from importlib.metadata import EntryPoint  # noqa: PLC0415 -- slow to load, and a list of runs needs no kind

    return Installed((EntryPoint(name, _BUILT_IN[name], GROUP),))
