"""Describes how the command line, HTTP, MCP and the web page start and show the runs of a kind.

These interfaces contain no code that is only for one kind. A kind names its `KindInterface` in `Kind.interface`. The
interfaces derive request bodies, arguments and forms from `KindInterface.order`, the pydantic model of the kind's
order.

A client's order contains only texts and names. A name refers to an entry of the server's config file, such as a model.
So a client can never choose a path, an address, a plug-in or a prompt.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from actors.files.suggestions import nearest
from actors.handlers.generators import Registry
from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS, RunLimits, check_limits, least_value
from actors.run.result import RunResult
from actors.values.lines import Line
from actors.values.model_settings import EXTRAS
from replan.runs.changes import Changes
from replan.runs.loaded import Loaded
from replan.runs.prepare import RunOrder, prepare
from replan.setup.kinds import Kinds
from replan.setup.settings import DEFAULT, ModelChoice, NoModel, UserConfig, choose_model
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem

_Choice = TypeVar("_Choice")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAndLimits:
    """The model and the limits that a client wants for a run."""

    model: str = DEFAULT
    limits: RunLimits = field(default_factory=RunLimits)
    """The limits. For a missing limit, the server's ceiling or the default is used."""


@dataclass(frozen=True, slots=True)
class KindOrder(ModelAndLimits):
    """A client's order for a run of an installed kind."""

    fields: BaseModel
    """The other fields of the order, already checked: an instance of `KindInterface.order`."""


@dataclass(frozen=True)
class Offer:
    """The models and other choices that a server offers its clients."""

    config: UserConfig
    folder: Path
    """The folder from which relative paths in the settings are resolved."""

    @property
    def models(self) -> Mapping[str, str | None]:
        """The model for each name that clients use; None for the home's own model."""
        return self.config.clients.offered_models

    def model_of(self, order: ModelAndLimits, environment: Mapping[str, str]) -> str | None:
        """Return the model of an order in the form of `--model`; None for the home's own model.

        Raises `UsageProblem` for an unknown model, and `NoModel` if the home's own model is not set.
        """
        self.choice_of(order.model, environment)
        return self.models[order.model]

    def choice_of(self, name: str, environment: Mapping[str, str]) -> ModelChoice:
        """Return the offered model with the name `name`.

        Raises `UsageProblem` for an unknown name, and `NoModel` if the home's own model is not set.
        """
        chosen = choose(name, self.models, "model")
        try:
            return choose_model(chosen, environment, self.config)
        except NoModel:
            hint = "name a model in the server's config.yaml, or choose a model that this server offers"
            raise NoModel("no model is set", place="model", hint=hint) from None

    def names_model(self, environment: Mapping[str, str]) -> bool:
        """Return whether the home's own model is set. Its name may be wrong."""
        try:
            self.choice_of(DEFAULT, environment)
        except NoModel:
            return False
        except UsageProblem:
            pass
        return True

    def check_changes(self, changes: Changes) -> None:
        """Raise `UsageProblem` with the field as its `place` if a limit is beyond the server's limit for clients."""
        self._check_limits(changes.limits)

    def limits_of(self, order: ModelAndLimits, calls: int | None) -> RunLimits:
        """Return the limits of an order. A limit that the order lacks is set to the server's ceiling.

        `calls` is the default limit of model calls; None if there is no default.
        """
        self._check_limits(order.limits)
        ceilings = self.config.clients.ceilings
        usual = {name: most for name, most in ceilings.items() if LIMITS[name].ceiling and name != "max_calls"}
        if calls is not None:
            usual["max_calls"] = min(calls, ceilings["max_calls"])
        return cast("RunLimits", usual | check_limits(order.limits))

    def _check_limits(self, order_limits: RunLimits) -> None:
        """Check that the limits of an order are valid, and within the server's limits for clients."""
        limits: Mapping[str, Any] = check_limits(order_limits)
        self.config.clients.check_ceilings(limits)
        for extra in limits.get("model_settings", {}).keys() & EXTRAS:
            hint = "set it under model_settings in the server's config.yaml"
            raise UsageProblem(f"clients may not set {extra}", place="model_settings", hint=hint)
        least, worth = self.config.clients.ceilings["stop_below"], least_value(order_limits)
        if worth is not None and least is not None and worth < least:
            hint = "clients.stop_below in the server's config.yaml sets this minimum; the command line may go below it"
            raise UsageProblem(f"clients may not set less than {least:g}", place="stop_below", hint=hint)


def choose(
    name: str, choices: Mapping[str, _Choice], place: str, *, thing: str = "", things: str = "", setting: str = ""
) -> _Choice:
    """Return the entry of `choices` with the name `name`. Raises `UsageProblem` if there is none.

    `place` is the field of the order that has the name. `thing` and `things` are the singular and the plural noun for
    the choices, by default made from `place`. `setting` is the key of the config file under which the choices are
    defined.
    """
    if name not in choices:
        thing, things = thing or place, things or f"{place}s"
        hint = nearest(name[:100], choices, kind=things)
        hint = hint or f"add it under {setting or f'clients.{things}'} in the server's config.yaml"
        raise UsageProblem(f"this server offers no {thing} {name[:100]!r}", place=place, hint=hint)
    return choices[name]


@dataclass(frozen=True, slots=True)
class OrderContext:
    """The objects that are needed to prepare a run that a client has ordered."""

    offer: Offer
    registry: Registry
    environment: Mapping[str, str]
    may_take_long: bool = False
    """Whether the preparation may take long, for example because it reads many files. If so, the caller runs it in a
    thread.
    """


@dataclass(frozen=True, slots=True)
class Names:
    """The names that clients may use as the value of one field of an order."""

    key: str
    """The plural noun under which interfaces list the names, such as `profiles`."""
    thing: str
    """The singular noun for messages, such as `profile`."""
    setting: str
    """The key of the config file that defines the names."""
    find: Callable[[Offer], Mapping[str, str]]
    """A function that returns the value of each name, such as a path."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """A mapping from further values, which only the web form offers, to their labels."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptText:
    """A type of text, such as a profile, that runs of a kind write.

    People may edit such a text and keep it in the home.
    """

    word: str
    """The noun for such a text. It is also the name of the order's field that names a kept text."""
    about: str
    """A sentence about texts of this type, for the page on which people edit them."""
    text: Callable[[RunResult], str | None]
    """A function that returns the text that a person has approved in a run; None if the run has no such text."""
    outline: Callable[[str], Sequence[Line]]
    """A function that returns the outline of a text. It raises `UsageProblem` for an invalid text."""
    is_kept: Callable[[Offer, str], bool]
    """A function that returns whether the home already keeps a text with the same name."""
    keep: Callable[[Offer, str, bool], str]
    """A function that stores a text in the home and returns its name. With True, it replaces a kept text with the same
    name.

    Raises `UsageProblem`.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class KindInterface:
    """The description with which the interfaces start and show the runs of one kind."""

    kind: str
    """The name of the kind. Addresses, operations and the command contain this name."""
    order: type[BaseModel]
    """The fields of an order besides its model and its limits.

    Forms show the descriptions of the fields. If a field maps texts to texts, people write one line `NAME = VALUE` for
    each entry.
    """
    title: str
    """The purpose of such a run, in two or three words, such as `Fill a schema`."""
    summary: str
    """A sentence about the operation that starts such a run."""
    tool: str
    """The name of the MCP tool that starts such a run."""
    calls: Callable[[Mapping[str, Any]], int]
    """A function that returns the default limit of model calls. Its argument has the fields of an order, or the texts
    of these fields in a form.
    """
    prepare_order: Callable[[KindOrder, OrderContext], PreparedRun] | None = None
    """A function that prepares the run of an order. If it is None, the kind's `prepare` is called with the `KindOrder`.

    Raises `UsageProblem` with the field as its `place`.
    """
    names: Mapping[str, Names] = field(default_factory=dict)
    """A mapping from a field of the order to the names that clients may use in this field."""
    without: Collection[str] = ()
    """The keys of limits that such runs do not have, such as `stop_below`. Forms do not show these limits."""
    like: Callable[[Loaded], Mapping[str, str] | None] = lambda _: None
    """A function that returns the texts with which a form orders the same run again; None for a run of another kind."""
    outline: Callable[[Any], Sequence[Line]] = lambda _: ()
    """A function that returns the outline of an artifact under review (a JSON value); empty for an artifact of another
    kind.
    """
    takes_templates: bool = True
    """Whether a template can be the model of such a run."""
    result: type | None = None
    """A `TypedDict` of the keys that results of such runs have in addition to the keys of all results."""
    kept_text: KeptText | None = None
    """The type of text that such runs write for people to keep; None if they write none."""
    plugins: Sequence[PluginGroup] = ()
    """The groups of plug-ins that only such runs use. `replan doctor` checks these plug-ins."""

    @property
    def plural(self) -> str:
        """The last part of the HTTP address with which a client starts such runs."""
        return f"{self.kind}s"

    def prepare(self, order: KindOrder, context: OrderContext) -> PreparedRun:
        """Prepare the run of a client's order, within the limits for clients.

        Raises `UsageProblem` with the field as its `place`.
        """
        if self.prepare_order is not None:
            return self.prepare_order(order, context)
        offer = context.offer
        for name in self.names.keys() & order.fields.model_fields_set:
            self.choose(offer, name, getattr(order.fields, name))
        limits = offer.limits_of(order, self.calls(dict(order.fields)))
        prepared = prepare(
            RunOrder(replace(order, limits=limits), offer.model_of(order, context.environment), self.kind),
            registry=context.registry,
            environment=context.environment,
            config=offer.config,
        )
        prepared.check_model()
        request: PreparedRun = prepared.request
        return request

    def choose(self, offer: Offer, place: str, name: str) -> str:
        """Return the value of `name` in `Names.find`, for the field `place` of the order.

        Raises `UsageProblem` for an unknown name.
        """
        names = self.names[place]
        return choose(name, names.find(offer), place, thing=names.thing, things=names.key, setting=names.setting)


def installed_interfaces() -> Sequence[KindInterface]:
    """Return the interfaces of the installed kinds, ordered by the kinds' names. A kind need not have an interface.

    The result lacks interfaces that cannot be loaded; `interface_problems` returns a line about each of them.
    """
    return tuple(found for found in _load_interfaces() if isinstance(found, KindInterface))


def interface_problems() -> list[str]:
    """Return a line for each interface of an installed kind that cannot be loaded."""
    return [found for found in _load_interfaces() if isinstance(found, str)]


def _load_interfaces() -> Iterator[KindInterface | str]:
    return (_load_interface(kind.name, kind.interface) for kind in Kinds().usable() if kind.interface)


@cache
def _load_interface(kind: str, path: str) -> KindInterface | str:
    """Return the interface at the import path `MODULE:OBJECT`, or a line that says why it cannot be loaded."""
    try:
        found = resolve_name(path)
    except Exception as error:  # noqa: BLE001 -- the code of an installed distribution runs here
        cause = f"cannot be loaded: {type(error).__name__}: {error}"
    else:
        if isinstance(found, KindInterface):
            return found
        cause = f"the object is of type {type(found).__name__}, not a KindInterface"
    return str(UsageProblem(cause, place=f"{path} (the interface of the kind {kind})", hint="uninstall or repair it"))


def outline_of(value: Any) -> Sequence[Line]:
    """Return the outline of a JSON value (an artifact) by the first kind that can outline it; empty if no kind can."""
    return next((lines for interface in installed_interfaces() if (lines := interface.outline(value))), ())


def texts_to_keep(result: RunResult) -> Iterator[tuple[KeptText, str]]:
    """Yield each text that a run has written for people to keep, together with its `KeptText`."""
    for interface in installed_interfaces():
        kept = interface.kept_text
        if kept is not None and (text := kept.text(result)) is not None:
            yield kept, text


def offered_names(offer: Offer) -> dict[str, list[str]]:
    """Return the names that clients may use in orders of all kinds: a mapping from each `Names.key` to its names."""
    return {
        names.key: list(names.find(offer)) for interface in installed_interfaces() for names in interface.names.values()
    }
