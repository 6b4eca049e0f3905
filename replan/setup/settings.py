"""Reads the user's settings in `$REPLAN_HOME/config.yaml`, and chooses the model and its price.

An option takes precedence over the environment (`REPLAN_MODEL`), and the environment over the config file.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, assert_never

from pydantic import Field, ValidationError, create_model, model_validator

from actors.config.model_spec import (
    TEMPLATES,
    ModelSpec,
    Named,
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
from actors.run.reminder_events import ReminderRule
from actors.values.model_settings import ModelSettings
from replan.setup.limit_fields import with_limits
from runtime.core.daily_budget import HOME, HomeBudget
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem
from runtime.core.extras import how_to_install
from runtime.core.ledger import FREE, ZERO, Limit, Price, micro_limit
from runtime.journal.port import Placement
from runtime.journal.validation import check_placement
from runtime.logs import log
from runtime.models.prices import find_price
from runtime.models.providers import PROVIDERS

DEFAULT = "default"
"""The name that clients use for the model in the settings of the home."""
CEILINGS = (*(name for name, spec in LIMITS.items() if spec.ceiling), "stop_below")
"""The names of the limits that a server's settings can have for clients. `stop_below` is a minimum, and all other
limits are maximum values."""


class PriceEntry(Config):
    """The user's price for a model, in dollars per million tokens."""

    input_usd_per_mtok: float = Field(ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input."""
    output_usd_per_mtok: float = Field(ge=0, allow_inf_nan=False)
    """Dollars per million tokens of output."""
    cache_read_usd_per_mtok: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input from the prompt cache; by default the price of other input."""
    cache_write_usd_per_mtok: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Dollars per million tokens of input written into the prompt cache; by default the price of other input."""

    def price(self, source: str) -> Price:
        """Return the price. `source` says where its numbers come from."""
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
    """The largest number of model calls in a UTC day; if missing, there is no limit."""
    usd: float | None = Field(default=None, gt=0, le=10**9, allow_inf_nan=False)
    """The largest cost in a UTC day, in dollars; if missing, there is no limit."""
    when_spent: Literal["wait", "end"] = "wait"
    """Whether a run that would exceed the budget waits for the next day, or ends."""

    @property
    def budget(self) -> HomeBudget:
        """The budget in the form that the journal uses."""
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
    """The largest number of calls in flight to a provider, by the name of its server."""
    model_calls_per_run_max: int = Field(default=16, ge=1)
    """The largest number of calls in flight for one run."""

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        for name, most in self.model_calls_max_by_provider.items():
            if most < 1:
                raise config_error(f"should be at least 1, not {most}", ("model_calls_max_by_provider", name))
        return self


class ClientTools(Config):
    """A tool set with which clients may execute plans."""

    file: str
    """The path of the tools file, relative to the config file's folder."""
    workspace: str
    """The folder that the tools work in, relative to the config file's folder."""
    approve: Literal["each", "risky", "none"] = "risky"
    """Which tool calls need a person's approval, on the command line or on the web page."""


@with_limits(CEILINGS, max_calls=200)
class ClientsEntry(Config):
    """What the clients of `replan serve` and `replan mcp` may choose, and their limits.

    Limits are ceilings, which a client may only lower. `stop_below` is a floor, which a client may only raise.
    """

    workflows: Mapping[str, str] = Field(default_factory=dict)
    """Workflow files in addition to the shipped files, by the names that clients use. Paths start at the config's
    folder.
    """
    policies: Mapping[str, str] = Field(default_factory=dict)
    """Policy files for forks in addition to the shipped files, by the names that clients use. Paths start at the
    config's folder.
    """
    models: Mapping[str, str] = Field(default_factory=dict)
    """Models in the form of `--model`, by the names that clients use. Templates and the home's own model are always
    offered.
    """
    tools: Mapping[str, ClientTools] = Field(default_factory=dict)
    """Tool sets, by the names that clients use. Clients execute plans only if the server allows it."""
    tenant: str = ""
    """The tenant of the runs that clients start; empty for no tenant. Clients cannot choose it."""
    runs_at_once: int = Field(default=4, ge=1)
    """The largest number of active runs of one client. Runs that wait for a person are not counted."""
    runs_per_day: int = Field(default=100, ge=1)
    """The largest number of runs that one client starts in 24 hours."""

    @property
    def offered_models(self) -> Mapping[str, str | None]:
        """The model behind each name that clients use; None for the home's own model."""
        return {DEFAULT: None, **{name: name for name in TEMPLATES}, **self.models}

    @property
    def ceilings(self) -> dict[str, Any]:
        """The ceilings and the floor for clients' runs, by the name of the limit; None for a limit that is not set."""
        return {name: getattr(self, name) for name in CEILINGS}

    def check_ceilings(self, limits: Mapping[str, Any]) -> None:
        """Raise `UsageProblem` with the limit as its `place` if a client wants more than the settings allow."""
        for name, most in self.ceilings.items():
            if LIMITS[name].ceiling and most is not None and name in limits and limits[name] > most:
                hint = (
                    f"clients.{name} in the server's config.yaml sets this maximum; the command line may go beyond it"
                )
                raise UsageProblem(f"clients may not set more than {most:,}", place=name, hint=hint)


class UserConfig(Config):
    """The user's config file."""

    secret_keys: ClassVar[tuple[str, ...]] = ()
    """The keys of this class whose values may contain a secret, or an address with a token."""

    model: str | None = None
    """The model in the form of `--model`."""
    prices: Mapping[str, PriceEntry] = Field(default_factory=dict)
    """Prices by model. They take precedence over the shipped list."""
    model_settings: Mapping[str, ModelSettings] = Field(default_factory=dict)
    """The settings of calls by model. Settings of workflows and options take precedence."""
    charge_gateway_errors: bool = True
    """Whether calls that a gateway answers with 502 or 504 stay charged. Calls to this machine never stay charged."""
    home_budget: HomeBudgetEntry = Field(default_factory=HomeBudgetEntry)
    """The amount that all runs of the home together may use in a UTC day; no limit if missing."""
    tenants: Mapping[str, HomeBudgetEntry] = Field(default_factory=dict)
    """The amount that each tenant's runs may use in a UTC day. A tenant without an entry has no limit of its own."""
    host: HostEntry = Field(default_factory=HostEntry)
    """The largest number of active runs and calls of one process."""
    clients: ClientsEntry = Field(default_factory=ClientsEntry)
    """What the clients of `replan serve` and `replan mcp` may choose, and their limits."""
    plugins: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Python files with guards and generators of the user's own. Relative paths start at the config file's folder."""

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

    @property
    def reminder_rules(self) -> tuple[ReminderRule, ...]:
        """The rules of reminders for new runs. The settings of an installed distribution may add rules."""
        return ()

    @property
    def budget(self) -> HomeBudget:
        """The daily budget of all runs, with the budgets of the tenants."""
        tenants = {
            name: replace(entry.budget, setting=f"tenants.{name} in config.yaml", whose=f"the budget of tenant {name}")
            for name, entry in self.tenants.items()
        }
        return replace(self.home_budget.budget, tenants=tenants)


class ConfiguredBudget:
    """The daily budget in the config file. After an edit of the file, the new budget is used."""

    def __init__(self, path: Path, config: UserConfig) -> None:
        """Store the path of the config file. `config` has the settings that were read from it."""
        self._path, self._budget, self._edited = path, config.budget, _edited(path)

    def current(self) -> HomeBudget:
        """Return the budget in the file.

        If the file cannot be read, or lacks an earlier limit, the budget does not change, and the log says why. The
        reason is that a file may be empty while an editor writes it. So a removed limit holds until the process ends.
        """
        edited = _edited(self._path)
        if edited != self._edited:
            self._edited = edited
            try:
                budget = read_user_config(self._path).budget
            except (UsageProblem, OSError) as problem:
                self._keep(str(problem))
            else:
                if _limits_set(self._budget) <= _limits_set(budget):
                    self._budget = budget
                else:
                    kept = "a limit was removed, so the old limits stay; to remove a limit, start the process again"
                    self._keep(f"{self._path}: {kept}")
        return self._budget

    def _keep(self, reason: str) -> None:
        log.get_logger("run").warning("budget.kept", reason=reason)


def _limits_set(budget: HomeBudget) -> set[tuple[str, Limit]]:
    """Return the limits that a budget sets, each with the name of its tenant."""
    budgets = {HOME: budget, **budget.tenants}
    return {(tenant, limit) for tenant, of in budgets.items() for limit, _, _ in of.uses(ZERO)}


def _edited(path: Path) -> tuple[int, int]:
    """Return the time of a file's last change, in nanoseconds, and its size; two zeros if the file does not exist."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


SETTINGS = PluginGroup(
    "replan.settings",
    "a subclass of UserConfig",
    lambda value: isinstance(value, type) and issubclass(value, UserConfig),
    dict.fromkeys(UserConfig.model_fields, ""),
)
"""The plug-in group of keys that installed distributions add to the config file. The name of an entry point is a key.
The value of the entry point is a subclass of `UserConfig` with a field for this key. One class may have several keys.
"""

C = TypeVar("C", bound=UserConfig)


def config_model(keys: Iterable[str]) -> type[UserConfig]:
    """Return the class of a config file with these keys: `UserConfig`, or a subclass with fields of distributions.

    For an unknown key, the model has the fields of all distributions, so the error of the validation can suggest them.
    Raises `UsageProblem` for a key whose distribution cannot be used.
    """
    others = [key for key in keys if key not in UserConfig.model_fields]
    added = [SETTINGS.get(key) for key in others]
    if None in added:
        added += [SETTINGS.get(key) for key, found in SETTINGS.installed.items() if not SETTINGS.problem(found)]
    return _join(tuple(dict.fromkeys(model for model in added if model is not None)))


@cache
def _join(models: tuple[type[UserConfig], ...]) -> type[UserConfig]:
    if not models:
        return UserConfig
    return create_model("UserConfig", __base__=models, __doc__=UserConfig.__doc__, __module__="")


def settings_of(config: UserConfig, model: type[C]) -> C:
    """Return the config as the settings class of a distribution. Missing keys have their defaults."""
    return config if isinstance(config, model) else model.model_construct(config.model_fields_set, **dict(config))


class NoModel(UsageProblem):
    """Raised if no model is named."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model of a run."""

    text: str
    """The model's name in the form that the run stores, a result of `pin_model`."""
    spec: ModelSpec
    """The name, parsed."""


def read_user_config(path: Path) -> UserConfig:
    """Return the user's config; an empty config if there is no file. Raises `UsageProblem` with file and line."""
    if not path.exists():
        return UserConfig()
    # Root may own it, because a system's configuration may provide it. Another user could choose what is run.
    if path.stat().st_uid not in {os.geteuid(), 0}:
        raise UsageProblem(
            "this file belongs to another user", place=str(path), hint="make yourself its owner, or move it away"
        )
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
    """If a model is in a file, make the path absolute, because a host in another folder may drive the run.

    Return the choice.
    """
    if isinstance(spec, RecordingSpec):
        option = text.removeprefix(f"recorded:{spec.path}")
        spec = replace(spec, path=str(Path(spec.path).absolute()))
        return ModelChoice(f"recorded:{spec.path}{option}", spec)
    if isinstance(spec, Scripted):
        spec = Scripted(str(Path(spec.path).absolute()))
        text = f"scripted:{spec.path}"
    return ModelChoice(text, spec)


def choose_model(flag: str | None, environment: Mapping[str, str], config: UserConfig) -> ModelChoice:
    """Return the model to use: the model of the option, else of `REPLAN_MODEL`, else of the config file.

    Raises: NoModel: no model is named. Replan guesses no model, because a call costs the user's money. UsageProblem:
    the model's name cannot be parsed.
    """
    for text, place in (
        (flag, "--model"),
        (environment.get("REPLAN_MODEL") or None, "REPLAN_MODEL"),
        (config.model, "config.yaml model"),
    ):
        if text is not None:
            pinned = pin_model(text)
            return _absolute(pinned, parse_model_spec(pinned, place=place))
    hint = "pass -m NAME, or -m template:NAME for a template; `replan doctor` lists the models that can be used here"
    raise NoModel("no model is named", place="--model", hint=hint)


def price_of(
    spec: ModelSpec, *, base_url: str | None = None, own: Mapping[str, Price] | None = None, at: float
) -> Price | None:
    """Return the price of a model.

    The price is zero for a model that runs in this process, and None if the price is unknown.
    """
    match spec:
        case RecordingSpec() if spec.missing:
            return price_of(parse_model_spec(spec.missing), base_url=base_url, own=own, at=at)
        case TemplateSpec() | Scripted() | ReplaySpec() | RecordingSpec():
            return FREE
        case PluginSpec():
            return (own or {}).get(spec.text)
        case Named():
            own_price = (own or {}).get(spec.text)
            return own_price or find_price(spec.name, base_url=base_url or PROVIDERS[spec.provider].url, at=at)
        case _:
            assert_never(spec)
