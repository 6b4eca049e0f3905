"""What the interfaces ask of a kind: how its runs are ordered, what they may cost, and how its questions are shown.

The command line, HTTP, MCP and the web page have no code for a kind. A kind names its `Faces` (`Kind.faces`), and the
interfaces derive bodies, arguments and forms from the model of its order.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pkgutil import resolve_name
from typing import Any

from pydantic import BaseModel

from actors.handlers.registry import Registry
from actors.run.kind import PreparedRun
from actors.run.result import RunResult
from actors.values.lines import Line
from replan.runs.loaded import Loaded
from replan.runs.orders import KindOrder, Offer
from replan.runs.prepare import RunOrder, prepare
from replan.setup.kinds import Kinds
from runtime.core.entry_points import PluginGroup


@dataclass(frozen=True, slots=True)
class Ordering:
    """What a kind needs to prepare a run that a client has ordered."""

    offer: Offer
    """The choices of clients, with the settings of the home."""
    registry: Registry
    environment: Mapping[str, str]
    """The environment variables of the process."""
    may_take_long: bool = False
    """Whether the caller has a thread for it, so that it may read many files."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that clients may use as the value of one field of an order."""

    key: str
    """The key under which the offer lists them, such as `profiles`."""
    thing: str
    """The word for one of them in messages."""
    setting: str
    """The key of the config file that gives such names."""
    find: Callable[[Offer], Mapping[str, str]]
    """Returns what each name stands for, such as a path."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Further values that only the web form offers, each with its label."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Keeps:
    """Something that runs make as text, and that people may edit and keep in the home, such as a profile."""

    word: str
    """The word for it, which is also the field of the order that names a kept one."""
    about: str
    """A sentence about the text, for the page on which people edit it."""
    text: Callable[[RunResult], str | None]
    """Returns the text that a run has made and a person has approved; None if there is none."""
    outline: Callable[[str], Sequence[Line]]
    """Returns the outline of a text. Raises `UsageProblem` for an invalid one."""
    is_kept: Callable[[Offer, str], bool]
    """Tells whether one of the same name as a valid text's is kept."""
    keep: Callable[[Offer, str, bool], str]
    """Keeps a text and returns its name; with True it replaces one of that name. Raises `UsageProblem`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Faces:
    """What the interfaces ask of a kind."""

    kind: str
    """The name of the kind, from which the addresses and operations have their names."""
    order: type[BaseModel]
    """The fields of an order beside its model and its limits.

    Its descriptions are shown in forms. A mapping of texts is a field with a line `NAME = VALUE` for each.
    """
    title: str
    """What such a run does, in two or three words, such as `Fill a schema`."""
    summary: str
    """What the operation does that starts such a run, in a sentence."""
    tool: str
    """The name of the MCP tool that starts such a run."""
    calls: Callable[[Mapping[str, Any]], int]
    """Returns the usual limit of model calls for the values of an order's fields, or for their texts in a form."""
    prepare_order: Callable[[KindOrder, Ordering], PreparedRun] | None = None
    """Returns the run that a client has ordered; None if the kind's `prepare` does so, for a `KindOrder`.

    Raises `UsageProblem`, whose place is the field.
    """
    names: Mapping[str, Names] = field(default_factory=dict)
    """The names that clients may use, by the field of the order."""
    without: Collection[str] = ()
    """The keys of the ledger's limits that such runs do not have, such as `stop_below`; forms leave them out."""
    like: Callable[[Loaded], Mapping[str, str] | None] = lambda _: None
    """Returns the texts of a form that orders a run like this one; None for a run that the form does not start."""
    outline: Callable[[Any], Sequence[Line]] = lambda _: ()
    """Returns the outline of the JSON value of an artifact under review; empty for a value that is not of the kind."""
    result: type | None = None
    """The `TypedDict` of the keys that the results of such runs have beside those of all runs."""
    keeps: Keeps | None = None
    """What its runs make for people to keep; None for nothing."""
    plugins: Sequence[PluginGroup] = ()
    """The groups of plug-ins that only its runs use, which `replan doctor` checks."""

    @property
    def plural(self) -> str:
        """The last part of the addresses where such runs are started."""
        return f"{self.kind}s"

    def prepare(self, order: KindOrder, ordering: Ordering) -> PreparedRun:
        """Return the run that a client has ordered, within the limits of clients.

        Raises `UsageProblem`, whose place is the field.
        """
        if self.prepare_order is not None:
            return self.prepare_order(order, ordering)
        offer = ordering.offer
        for name in self.names.keys() & order.fields.model_fields_set:
            self.choose(offer, name, getattr(order.fields, name))
        limits = offer.limits_of(order, self.calls(dict(order.fields)))
        prepared = prepare(
            RunOrder(replace(order, limits=limits), offer.model_of(order), self.kind),
            registry=ordering.registry,
            environment=ordering.environment,
            config=offer.config,
        )
        prepared.check_model()
        request: PreparedRun = prepared.request
        return request

    def choose(self, offer: Offer, place: str, name: str) -> str:
        """Return what a name stands for. Raises `UsageProblem`, whose place is the field."""
        names = self.names[place]
        return offer.choose(name, names.find(offer), place, thing=names.thing, things=names.key, setting=names.setting)


def installed_faces() -> Sequence[Faces]:
    """Return the faces of all installed kinds that have some, by the kinds' names. A broken one is left out."""
    return tuple(_faces(Kinds()))


def _faces(kinds: Kinds) -> Iterator[Faces]:
    return (_load_faces(kind.faces) for kind in kinds.usable() if kind.faces)


@cache
def _load_faces(name: str) -> Faces:
    """Return the faces with an import path `MODULE:OBJECT`."""
    faces = resolve_name(name)
    assert isinstance(faces, Faces)
    return faces


def outline_of(value: Any) -> Sequence[Line]:
    """Return the outline of the JSON value of an artifact, from the first kind that knows such a value."""
    return next((lines for faces in installed_faces() if (lines := faces.outline(value))), ())


def made_to_keep(result: RunResult) -> Iterator[tuple[Keeps, str]]:
    """Yield each text that a run has made for people to keep."""
    for faces in installed_faces():
        if faces.keeps is not None and (text := faces.keeps.text(result)) is not None:
            yield faces.keeps, text


def offered_names(offer: Offer) -> dict[str, list[str]]:
    """Return the names of all kinds that clients may use, by the keys of the offer."""
    return {names.key: list(names.find(offer)) for faces in installed_faces() for names in faces.names.values()}
