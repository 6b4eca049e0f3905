"""How the interfaces start and show the runs of a kind.

The command line, HTTP, MCP and the web page have no code for a kind. A kind names its `KindInterface`
(`Kind.interface`). The interfaces derive bodies, arguments and forms from the model of the kind's order.

In an order, a client gives texts and names. Names refer to models and other things in the server's config file. A path,
an address, a plug-in or a prompt is never taken from a client.
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
    """The limits. A missing limit gets the server's value, or else the default."""


@dataclass(frozen=True, slots=True)
class KindOrder(ModelAndLimits):
    """An order of a client for a run of an installed kind (`replan.runs.kind_interface.KindInterface`)."""

    fields: BaseModel
    """The other fields of the order, checked: an instance of `KindInterface.order`."""


@dataclass(frozen=True)
class Offer:
    """The choices that a server offers its clients."""

    config: UserConfig
    folder: Path
    """The folder that relative paths in the settings start from."""

    @property
    def models(self) -> Mapping[str, str | None]:
        """The model behind each name that clients use; None for the home's own model."""
        return self.config.clients.offered_models

    def model_of(self, order: ModelAndLimits, environment: Mapping[str, str]) -> str | None:
        """Return the model of an order in the form of `--model`; None for the home's own model.

        Raises `UsageProblem`; `NoModel` if the home names no model.
        """
        self.choice_of(order.model, environment)
        return self.models[order.model]

    def choice_of(self, name: str, environment: Mapping[str, str]) -> ModelChoice:
        """Return the model behind a name. Raises `UsageProblem`; `NoModel` if the home names no model."""
        chosen = choose(name, self.models, "model")
        try:
            return choose_model(chosen, environment, self.config)
        except NoModel:
            hint = "name a model in the server's config.yaml, or choose a model that this server offers"
            raise NoModel("no model is set", place="model", hint=hint) from None

    def names_model(self, environment: Mapping[str, str]) -> bool:
        """Return whether the home names a model of its own. A wrong name counts too."""
        try:
            self.choice_of(DEFAULT, environment)
        except NoModel:
            return False
        except UsageProblem:
            pass
        return True

    def check_changes(self, changes: Changes) -> None:
        """Raise `UsageProblem` with the field as its `place` if a client wants a limit beyond the server's."""
        self._check_limits(changes.limits)

    def limits_of(self, order: ModelAndLimits, calls: int | None) -> RunLimits:
        """Return the limits of an order within the ceilings.

        `calls` is the default limit of calls; None if there is no default.
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
            raise UsageProblem(f"clients may not go below {least:g}", place="stop_below", hint=hint)


def choose(
    name: str, choices: Mapping[str, _Choice], place: str, *, thing: str = "", things: str = "", setting: str = ""
) -> _Choice:
    """Return the choice with a name. Raises `UsageProblem` with the field of the order as its `place`.

    `thing` and `things` are the words for one choice and for several. By default, they are the name of the field and
    its plural. `setting` is the key of the config file that names the choices.
    """
    if name not in choices:
        thing, things = thing or place, things or f"{place}s"
        hint = nearest(name[:100], choices, kind=things)
        hint = hint or f"add it under {setting or f'clients.{things}'} in the server's config.yaml"
        raise UsageProblem(f"this server offers no {thing} {name[:100]!r}", place=place, hint=hint)
    return choices[name]


@dataclass(frozen=True, slots=True)
class OrderContext:
    """The inputs for preparing a run that a client has ordered."""

    offer: Offer
    registry: Registry
    environment: Mapping[str, str]
    may_take_long: bool = False
    """Whether the caller runs the preparation in a thread, because it may read many files."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that clients may use as the value of one field of an order."""

    key: str
    """The key under which the offer lists the names, such as `profiles`."""
    thing: str
    """The noun for such a name in messages, such as `profile`."""
    setting: str
    """The key of the config file that defines such names."""
    find: Callable[[Offer], Mapping[str, str]]
    """Returns the value of each name, such as a path."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Further values of the field that only the web form offers, with their labels."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptText:
    """A type of text that runs make, and that people may edit and keep in the home, such as a profile."""

    word: str
    """The noun for such a text. The field of the order that names a kept text has the same name."""
    about: str
    """A sentence about the text, for the page on which people edit it."""
    text: Callable[[RunResult], str | None]
    """Returns the text that a person has approved in a run; None if the run has no such text."""
    outline: Callable[[str], Sequence[Line]]
    """Returns the outline of a text. Raises `UsageProblem` for an invalid text."""
    is_kept: Callable[[Offer, str], bool]
    """Returns whether the home already keeps a text with the name of this valid text."""
    keep: Callable[[Offer, str, bool], str]
    """Stores a text and returns its name. With True, the text replaces a kept text with the same name.

    Raises `UsageProblem`.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class KindInterface:
    """How the interfaces start and show the runs of a kind."""

    kind: str
    """The name of the kind. Addresses, operations and the command are named after it."""
    order: type[BaseModel]
    """The fields of an order besides its model and its limits.

    Forms show the descriptions of the fields. For a field that maps texts to texts, people write one line
    `NAME = VALUE` for each entry.
    """
    title: str
    """The purpose of such a run, in two or three words, such as `Fill a schema`."""
    summary: str
    """A sentence about the operation that starts such a run."""
    tool: str
    """The name of the MCP tool that starts such a run."""
    calls: Callable[[Mapping[str, Any]], int]
    """Returns the default limit of model calls. Its argument is the fields of an order, or their texts in a form."""
    prepare_order: Callable[[KindOrder, OrderContext], PreparedRun] | None = None
    """Returns the run that a client has ordered. If this field is None, the kind's `prepare` gets the `KindOrder`.

    Raises `UsageProblem` with the field as its `place`.
    """
    names: Mapping[str, Names] = field(default_factory=dict)
    """The names that clients may use, by the field of the order."""
    without: Collection[str] = ()
    """The keys of the ledger's limits that such runs do not have, such as `stop_below`. Forms do not show them."""
    like: Callable[[Loaded], Mapping[str, str] | None] = lambda _: None
    """Returns the texts with which the form orders such a run again; None for a run that the form does not start."""
    outline: Callable[[Any], Sequence[Line]] = lambda _: ()
    """Returns the outline of an artifact under review (a JSON value); empty for a value of another kind."""
    takes_templates: bool = True
    """Whether a template can be the model of such a run."""
    result: type | None = None
    """The `TypedDict` of the keys that results of such runs have besides the keys of all results."""
    kept_text: KeptText | None = None
    """The texts that its runs make for people to keep; None if they make no texts."""
    plugins: Sequence[PluginGroup] = ()
    """The groups of plug-ins that only its runs use, which `replan doctor` checks."""

    @property
    def plural(self) -> str:
        """The last part of the address that starts such runs."""
        return f"{self.kind}s"

    def prepare(self, order: KindOrder, context: OrderContext) -> PreparedRun:
        """Return the run that a client has ordered, within the limits of clients.

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
        """Return the value of a name. Raises `UsageProblem` with the field as its `place`."""
        names = self.names[place]
        return choose(name, names.find(offer), place, thing=names.thing, things=names.key, setting=names.setting)


def installed_interfaces() -> Sequence[KindInterface]:
    """Return the interfaces of the installed kinds, ordered by the names of the kinds. Some kinds have no interface.

    An interface that cannot be loaded is left out. `interface_problems` names it.
    """
    return tuple(found for found in _load_interfaces() if isinstance(found, KindInterface))


def interface_problems() -> list[str]:
    """Return a line for each interface of an installed kind that cannot be loaded."""
    return [found for found in _load_interfaces() if isinstance(found, str)]


def _load_interfaces() -> Iterator[KindInterface | str]:
    return (_load_interface(kind.name, kind.interface) for kind in Kinds().usable() if kind.interface)


@cache
def _load_interface(kind: str, path: str) -> KindInterface | str:
    """Return the interface with an import path `MODULE:OBJECT`, or a line that says why it cannot be loaded."""
    try:
        found = resolve_name(path)
    except Exception as error:  # noqa: BLE001 -- the code of an installed distribution runs here
        cause = f"cannot be loaded: {type(error).__name__}: {error}"
    else:
        if isinstance(found, KindInterface):
            return found
        cause = f"is of type {type(found).__name__}, not a KindInterface"
    return str(UsageProblem(cause, place=f"{path} (the interface of the kind {kind})", hint="uninstall or repair it"))


def outline_of(value: Any) -> Sequence[Line]:
    """Return the outline of the JSON value of an artifact, from the first kind that has an outline of it."""
    return next((lines for interface in installed_interfaces() if (lines := interface.outline(value))), ())


def texts_to_keep(result: RunResult) -> Iterator[tuple[KeptText, str]]:
    """Yield each text that a run has made for people to keep."""
    for interface in installed_interfaces():
        kept = interface.kept_text
        if kept is not None and (text := kept.text(result)) is not None:
            yield kept, text


def offered_names(offer: Offer) -> dict[str, list[str]]:
    """Return the names of all kinds that clients may use, by the keys of the offer."""
    return {
        names.key: list(names.find(offer)) for interface in installed_interfaces() for names in interface.names.values()
    }
