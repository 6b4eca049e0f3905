"""The user's settings: the config file `$REPLAN_HOME/config.yaml`, its proxy, and the choice of the model.

A flag wins over the environment (`REPLAN_MODEL`), and the environment over the config file.
"""

import ipaddress
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, assert_never
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, create_model, model_validator

from actors.config.model_spec import (
    ModelSpec,
    Named,
    PlannerSpec,
    PluginSpec,
    RecordingSpec,
    ReplaySpec,
    Scripted,
    TemplateSpec,
    parse_model_spec,
    pin_model,
)
from actors.files.validation_errors import Config, config_error, keys_of, usage_problem
from actors.files.yaml_document import read_document
from actors.run.limits import LIMITS
from actors.values.model_settings import ModelSettings
from replan.setup.limit_fields import with_limits
from replan.setup.notifications import Answering, AnswerLinks, PersonEntry, ReminderEntry, SenderEntry, WebhookEntry
from runtime.core.daily_budget import HomeBudget
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem
from runtime.core.extras import how_to_install
from runtime.core.ledger import FREE, Price, micro_limit
from runtime.journal.port import Placement
from runtime.journal.validation import check_placement
from runtime.models.prices import find_price
from runtime.models.providers import PROVIDERS

EVERYBODY = "*"
"""The name for every user that the proxy lets through."""

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?")
_LOOPBACK = ("127.0.0.1", "localhost")
_TAKEN = frozenset(
    ("authorization", "connection", "content-length", "content-type", "cookie", "host", "origin", "referer")
)


class ProxyEntry(Config):
    """A proxy that authenticates users. It is the only way to the server."""

    public: Annotated[str, Field(max_length=300)]
    """The address under which browsers reach it, such as `https://replan.example.org`, without a path."""
    user_header: Annotated[str, Field(max_length=64)]
    """The header in which it names the user. It must remove this header from what clients send."""
    trusted: Annotated[tuple[str, ...], Field(min_length=1, max_length=100)]
    """The addresses or networks that it connects from; connections from others are closed unread."""
    users: Annotated[Mapping[str, Literal["read", "answer", "control"]], Field(min_length=1)]
    """What each user may do, by the name in the header; `*` stands for all others that the proxy lets through."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        parts = urlsplit(self.public)
        if parts.scheme not in ("https", "http") or not _HOST.fullmatch(parts.netloc) or parts.path not in ("", "/"):
            raise config_error(f"{self.public[:100]!r} is no public address", ("public",), "such as https://HOST")
        if parts.query or parts.fragment:
            raise config_error("an address with a query", ("public",), "such as https://HOST")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise config_error("http would send pages in the clear", ("public",), "such as https://HOST")
        if not _HEADER.fullmatch(self.user_header) or self.user_header.lower() in _TAKEN:
            raise config_error(
                f"{self.user_header[:60]!r} cannot name the user", ("user_header",), "such as X-Remote-User"
            )
        for text in self.trusted:
            try:
                network = ipaddress.ip_network(text)
            except ValueError:
                raise config_error(f"{text[:60]!r} is no address", ("trusted",), "such as 10.0.0.5") from None
            if network.prefixlen == 0:
                raise config_error(f"{text} is every address", ("trusted",), "name the proxy's own addresses")
        return self

    @property
    def origin(self) -> str:
        """The origin of its pages, as browsers send it."""
        parts = urlsplit(self.public)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def host(self) -> str:
        """The value of `Host` in requests through it: the public name, and the port if it is not the default."""
        return urlsplit(self.public).netloc

    def trusts(self, address: str) -> bool:
        """Tell whether an address is one of the proxy's."""
        try:
            peer = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
            peer = peer.ipv4_mapped
        return any(peer in ipaddress.ip_network(text) for text in self.trusted)


CEILINGS = (*(name for name, spec in LIMITS.items() if spec.ceiling), "stop_below")
"""The limits that the server bounds for clients: ceilings, and the floor `stop_below`."""


class PriceEntry(Config):
    """A model's own price, in dollars per million tokens."""

    input_usd_per_mtok: float = Field(ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input."""
    output_usd_per_mtok: float = Field(ge=0, allow_inf_nan=False)
    """Dollars per million tokens of output."""
    cache_read_usd_per_mtok: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input that come from the prompt cache; without it they cost what input costs."""
    cache_write_usd_per_mtok: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input written into the prompt cache; without it they cost what input costs."""

    def price(self, source: str) -> Price:
        """Return the price, with the source of its numbers."""
        return Price.per_mtok(
            self.input_usd_per_mtok,
            self.output_usd_per_mtok,
            source,
            cache_read_usd=self.cache_read_usd_per_mtok,
            cache_write_usd=self.cache_write_usd_per_mtok,
        )


class HomeBudgetEntry(Config):
    """The budget of all runs of the home together for a UTC day."""

    calls: int | None = Field(default=None, ge=1)
    """The largest number of model calls in a UTC day; without it there is no limit."""
    usd: float | None = Field(default=None, gt=0, le=10**9, allow_inf_nan=False)
    """The largest cost in a UTC day, in dollars; without it there is no limit."""
    when_spent: Literal["wait", "end"] = "wait"
    """Whether a run that would use more waits for the next day, or ends."""

    @property
    def budget(self) -> HomeBudget:
        """The budget in the form of the journal."""
        micro_usd = None if self.usd is None else micro_limit(self.usd)
        setting = "home_budget in config.yaml"
        return HomeBudget(self.calls, micro_usd, waits=self.when_spent == "wait", setting=setting)


class HostEntry(Config):
    """The largest number of runs and calls of one process at a time."""

    runs_max: int = Field(default=1000, ge=1)
    """The largest number of runs that a host drives at once."""
    model_calls_max: int = Field(default=64, ge=1)
    """The largest number of calls in flight to one provider."""
    model_calls_max_by_provider: Mapping[str, int] = Field(default_factory=dict)
    """The same for some providers, by the name of their server."""
    model_calls_per_run_max: int = Field(default=16, ge=1)
    """The largest number of calls in flight for one run."""

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        for name, most in self.model_calls_max_by_provider.items():
            if most < 1:
                raise config_error(f"{most} calls are none", ("model_calls_max_by_provider", name), "1 or more")
        return self


class ClientTools(Config):
    """A tool set that clients may execute plans with."""

    file: str
    """The path of the tools file; it begins at the config's folder."""
    workspace: str
    """The folder that the tools work in; its path begins at the config's folder."""
    approve: Literal["each", "risky", "none"] = "risky"
    """Which calls of tools a person approves first: on the command line or on the web page."""


@with_limits(CEILINGS, max_calls=200)
class ClientsEntry(Config):
    """The choices and limits of clients of `replan serve` and `replan mcp`.

    Limits are ceilings, which a client may only lower; `stop_below` is a floor, which a client may only raise.
    """

    workflows: Mapping[str, str] = Field(default_factory=dict)
    """Workflow files by the name that clients use, beside the shipped ones; a path begins at the config's folder."""
    policies: Mapping[str, str] = Field(default_factory=dict)
    """Policy files for forks, by the name that clients use, beside the shipped ones; paths as for `workflows`."""
    models: Mapping[str, str] = Field(default_factory=dict)
    """Models by the name that clients use, in the form of `--model`, beside the templates and the home's own model."""
    tools: Mapping[str, ClientTools] = Field(default_factory=dict)
    """Tool sets by the name that clients use; clients execute plans only if the server allows it."""
    tenant: str = ""
    """The tenant of runs that clients start, which they cannot choose; empty for none."""
    runs_at_once: int = Field(default=4, ge=1)
    """The largest number of runs of one client that are under way; those that wait for a person are not counted."""
    runs_per_day: int = Field(default=100, ge=1)
    """The largest number of runs that one client starts in 24 hours."""

    @property
    def ceilings(self) -> dict[str, Any]:
        """The ceilings and the floor of a run by the limit's name; None for one that is not set."""
        return {name: getattr(self, name) for name in CEILINGS}


WebhookName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
PersonName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]


class UserConfig(Config):
    """The user's config file."""

    secret_keys: ClassVar[tuple[str, ...]] = ("answer_links", "senders", "webhooks")
    """The keys of this class whose values may contain a secret, or an address with a token."""

    model: str | None = None
    """The model in the form of `--model`."""
    prices: Mapping[str, PriceEntry] = Field(default_factory=dict)
    """Prices by model; they win over the shipped list."""
    model_settings: Mapping[str, ModelSettings] = Field(default_factory=dict)
    """The settings of calls by model; those of workflows and of options win over them."""
    charge_gateway_errors: bool = True
    """Whether calls that a gateway answers with 502 or 504 stay charged; on this machine they never do."""
    home_budget: HomeBudgetEntry = Field(default_factory=HomeBudgetEntry)
    """What all runs of the home together may use in a UTC day; without it there is no limit."""
    tenants: Mapping[str, HomeBudgetEntry] = Field(default_factory=dict)
    """What the runs of each tenant may use in a UTC day; one that is not named has no limit of its own."""
    host: HostEntry = Field(default_factory=HostEntry)
    """How many runs and calls one process has under way at most."""
    clients: ClientsEntry = Field(default_factory=ClientsEntry)
    """The choices and limits of clients of `replan serve` and `replan mcp`."""
    proxies: Mapping[str, ProxyEntry] = Field(default_factory=dict)
    """The authenticating proxies by name; `replan serve --proxy NAME` serves other machines through one."""
    webhooks: Mapping[WebhookName, WebhookEntry] = Field(default_factory=dict)
    """Addresses that a host posts signed messages to, by name."""
    senders: Mapping[WebhookName, SenderEntry] = Field(default_factory=dict)
    """The senders of installed distributions that a host tells about runs, by the names of their entry points."""
    people: Mapping[PersonName, PersonEntry] = Field(default_factory=dict)
    """Who may answer questions through links in messages, by name."""
    answer_links: AnswerLinks | None = None
    """The signing keys of these links, and how long a link is valid."""
    reminders: Annotated[tuple[ReminderEntry, ...], Field(max_length=20)] = ()
    """Rules of reminders about unanswered questions of new runs. The first rule that fits a question counts."""
    plugins: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Python files with guards and generators of the user's own; a relative path begins at the config file's folder."""

    @model_validator(mode="after")
    def _names_of_tenants(self) -> Self:
        places = {("tenants", name): name or " " for name in self.tenants} | {
            ("clients", "tenant"): self.clients.tenant
        }
        for place, name in places.items():
            try:
                check_placement(Placement(name))
            except UsageProblem as problem:
                raise config_error(problem.cause, place, problem.hint) from None
        return self

    @model_validator(mode="after")
    def _webhooks_of_people(self) -> Self:
        if self.people and self.answer_links is None:
            raise config_error("nothing signs the links of people", ("people",), "set answer_links with secrets")
        for name, person in self.people.items():
            for webhook in person.webhooks:
                if webhook not in self.webhooks:
                    hint = "name one of webhooks"
                    raise config_error(f"there is no webhook {webhook!r}", ("people", name, "webhooks"), hint)
                if self.webhooks[webhook].page is None:
                    hint = "set it to the address of `replan serve`, as people reach it"
                    raise config_error("links of people need the page", ("webhooks", webhook, "page"), hint)
        return self

    @model_validator(mode="after")
    def _people_of_reminders(self) -> Self:
        covered: set[str] = set()
        for place, reminder in enumerate(self.reminders):
            questions = {"approvals", "ordinary"} if reminder.questions == "all" else {reminder.questions}
            if questions <= covered:
                cause, hint = "earlier entries are for all of these questions", "put it before them, or leave it out"
                raise config_error(cause, ("reminders", place, "questions"), hint)
            covered |= questions
            reminder.check_people(self.people, place)
        return self

    @property
    def answering(self) -> Answering | None:
        """The people who get links that answer questions, and the signing keys; None for nobody."""
        return None if self.answer_links is None else Answering(self.people, self.answer_links)

    @property
    def budget(self) -> HomeBudget:
        """The daily budget of all runs, with the budgets of the tenants."""
        tenants = {
            name: replace(entry.budget, setting=f"tenants.{name} in config.yaml", whose=f"the budget of tenant {name}")
            for name, entry in self.tenants.items()
        }
        return replace(self.home_budget.budget, tenants=tenants)


SETTINGS = PluginGroup(
    "replan.settings",
    "a subclass of UserConfig",
    lambda value: isinstance(value, type) and issubclass(value, UserConfig),
    dict.fromkeys(UserConfig.model_fields, ""),
)
"""The keys of the config file that installed distributions read.

The name of an entry point is a key. It names the subclass of `UserConfig` that has this field; one class may have
several keys.
"""

C = TypeVar("C", bound=UserConfig)


def config_model(keys: Iterable[str]) -> type[UserConfig]:
    """Return the model of a config file with these keys: `UserConfig`, or one with the fields of distributions.

    Unknown keys are left to the validation. Raises `UsageProblem` for a key whose distribution cannot be used.
    """
    added = [SETTINGS.get(key) for key in keys if key not in UserConfig.model_fields]
    return _joined(tuple(dict.fromkeys(model for model in added if model is not None)))


@cache
def _joined(models: tuple[type[UserConfig], ...]) -> type[UserConfig]:
    if not models:
        return UserConfig
    return create_model("UserConfig", __base__=models, __doc__=UserConfig.__doc__, __module__="")


def settings_of(config: UserConfig, model: type[C]) -> C:
    """Return the settings of a distribution: its defaults if the config file has none of its keys."""
    return config if isinstance(config, model) else model.model_construct(config.model_fields_set, **dict(config))


class NoModel(UsageProblem):
    """Raised if no model is named."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model of a run."""

    text: str
    """Its name as the run stores it, a result of `pin_model`."""
    spec: ModelSpec
    """The parsed name."""


def read_user_config(path: Path) -> UserConfig:
    """Return the user's config; an empty one if there is no file. Raises `UsageProblem` with file and line."""
    if not path.exists():
        return UserConfig()
    # Root may own it, as where a system's configuration provides it; another user would choose what is run.
    if path.stat().st_uid not in {os.geteuid(), 0}:
        raise UsageProblem("this file belongs to another user", place=str(path), hint="make it yours, or move it away")
    document = read_document(path)
    model = config_model(document.value)
    for key in document.value:
        if key not in keys_of(model) and (hint := how_to_install("settings", key)):
            raise document.problem(f"the key {key!r} belongs to a package that is not installed", (key,), hint)
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        secret = {key for part in model.__mro__ for key in getattr(part, "secret_keys", ())}
        raise usage_problem(error, document, secret_sections=secret) from None


def _absolute(text: str, spec: ModelSpec) -> ModelChoice:
    """Return the choice with the absolute path of its file, because a host in another folder may drive the run."""
    if isinstance(spec, RecordingSpec):
        option = text.removeprefix(f"recorded:{spec.path}")
        spec = replace(spec, path=str(Path(spec.path).absolute()))
        return ModelChoice(f"recorded:{spec.path}{option}", spec)
    if isinstance(spec, Scripted):
        spec = Scripted(str(Path(spec.path).absolute()))
        text = f"scripted:{spec.path}"
    return ModelChoice(text, spec)


def choose_model(flag: str | None, environment: Mapping[str, str], config: UserConfig) -> ModelChoice:
    """Return the model to use: that of the flag, of `REPLAN_MODEL`, or of the config file.

    Raises:
        NoModel: no model is named; a guess would spend the user's money.
        UsageProblem: a name cannot be read.
    """
    for text, place in (
        (flag, "--model"),
        (environment.get("REPLAN_MODEL") or None, "REPLAN_MODEL"),
        (config.model, "config.yaml model"),
    ):
        if text is not None:
            pinned = pin_model(text)
            return _absolute(pinned, parse_model_spec(pinned, place=place))
    hint = "pass -m NAME, or -m template:NAME for a template; `replan doctor` lists what can be used here"
    raise NoModel("no model is named", place="--model", hint=hint)


def price_of(
    spec: ModelSpec, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return a model's price: zero for a model in this process, None if it is unknown."""
    match spec:
        case RecordingSpec() if spec.missing:
            return price_of(parse_model_spec(spec.missing), base_url=base_url, own=own, at=at)
        case TemplateSpec() | PlannerSpec() | Scripted() | ReplaySpec() | RecordingSpec():
            return FREE
        case PluginSpec():
            return (own or {}).get(spec.text)
        case Named():
            own_price = (own or {}).get(spec.text)
            return own_price or find_price(spec.name, base_url=base_url or PROVIDERS[spec.provider].url, at=at)
        case _:
            assert_never(spec)
