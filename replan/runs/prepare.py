"""Prepares a run with the user's settings, for the command line and for Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from actors.config.model_profiles import read_profile
from actors.config.model_spec import Named, PluginSpec, parse_model_spec, unpin_model
from actors.handlers.generators import Registry
from actors.run.kind import PreparedRun, Setup
from actors.values.model_settings import ModelSettings
from replan.runs.models import check_model, check_server, make_plugin_model, server_of
from replan.setup.home_folder import database_url, locate_home
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.settings import ModelChoice, UserConfig, choose_model, price_of, read_user_config
from runtime.core.clock import SystemClock
from runtime.core.ledger import Price
from runtime.journal.port import FIRST_KIND
from runtime.models.providers import PROVIDERS, call_seconds


@dataclass(frozen=True, slots=True)
class RunOrder:
    """An order of a person or a program for a run of some kind."""

    task: Any
    """The input for the kind's `prepare`, such as an `actors.planning.prepare.PlanningInput`."""
    model: str | None = None
    """The model in the form of `--model`; None for the model of `REPLAN_MODEL` or the config file."""
    kind: str = FIRST_KIND
    """The name of the run's kind; by default planning."""


R_co = TypeVar("R_co", bound=PreparedRun, covariant=True)


@dataclass(frozen=True, slots=True)
class Prepared(Generic[R_co]):
    """A prepared run, and the model that was chosen for it."""

    request: R_co
    choice: ModelChoice
    environment: Mapping[str, str]
    """The environment variables with keys and addresses of servers."""
    remarks: tuple[str, ...] = ()
    """Notices for the user about files that were read during the preparation, such as a tools file."""

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user before the run starts."""
        return (*self.remarks, *self.request.notices)

    def check_model(self) -> None:
        """Raise `UsageProblem` if the run's model or a model of its steps cannot be opened."""
        check_model(self.choice.spec, self.environment, others=self.request.other_models)

    def check_settings(self) -> None:
        """Check all settings that the run needs, except for the model's key. Raises `UsageProblem`."""
        if isinstance(self.choice.spec, Named):
            check_server(self.choice.spec, self.environment)
        database_url(self.environment)


def prepare(
    order: RunOrder,
    *,
    registry: Registry,
    environment: Mapping[str, str],
    config: UserConfig | None = None,
    kinds: Kinds | None = None,
    now: float | None = None,
) -> Prepared[Any]:
    """Prepare the run of an order with the user's settings. Nothing is written.

    `config` replaces the home's config file, and `kinds` replaces the installed kinds. `now` is the time from which
    limits count, in UTC seconds since 1970; None for the time of the call. Raises the errors of the kind's `prepare`.
    Raises `UsageProblem` for a wrong config file, and if no model is named.
    """
    config = read_user_config(locate_home(environment).config) if config is None else config
    choice = choose_model(order.model, environment, config)
    setup = setup_for(
        choice,
        config=config,
        registry=registry,
        root=data_root(),
        environment=environment,
        now=SystemClock().now() if now is None else now,
    )
    return Prepared((kinds or Kinds()).named(order.kind).prepare(order.task, setup), choice, environment)


def setup_for(
    choice: ModelChoice,
    *,
    config: UserConfig,
    registry: Registry,
    root: Path,
    environment: Mapping[str, str],
    now: float,
) -> Setup:
    """Return the `Setup` that the kind's `prepare` gets with an order."""
    return Setup(
        model=choice.text,
        price=price_for(choice, config, environment, now),
        registry=registry,
        root=root,
        environment=environment,
        now=now,
        daily_usd=config.home_budget.usd,
        call_seconds=call_seconds_of(choice, environment),
        call_seconds_of=lambda name: call_seconds_of(ModelChoice(name, parse_model_spec(name)), environment),
        price_of=lambda name: price_for(ModelChoice(name, parse_model_spec(name)), config, environment, now),
        profile_of=lambda name: read_profile(name, locate_home(environment).model_profiles),
        settings_of=lambda name: config.model_settings.get(unpin_model(name)) or ModelSettings(),
    )


def call_seconds_of(choice: ModelChoice, environment: Mapping[str, str]) -> float:
    """Return the default time limit of a call to the model's server, in seconds."""
    return call_seconds(_url_of(choice, environment) or "")


def _url_of(choice: ModelChoice, environment: Mapping[str, str]) -> str | None:
    return PROVIDERS[choice.spec.provider].url_in(environment) if isinstance(choice.spec, Named) else None


def price_for(choice: ModelChoice, config: UserConfig, environment: Mapping[str, str], now: float) -> Price | None:
    """Return the price of a model; None if it is unknown."""
    own = {name: entry.price("config.yaml") for name, entry in config.prices.items()}
    if isinstance(choice.spec, PluginSpec):
        return own.get(choice.spec.text) or make_plugin_model(choice.spec, environment).price
    return price_of(choice.spec, base_url=_url_of(choice, environment), own=own, at=now)


def model_change(model: str | None, environment: Mapping[str, str], config: UserConfig, now: float) -> dict[str, Any]:
    """Return the part of a settings change that gives a run another model. Raises `UsageProblem`.

    `model` is in the form of `--model`; None for the home's own model.
    """
    choice = choose_model(model, environment, config)
    check_model(choice.spec, environment)
    price = price_for(choice, config, environment, now)
    plain = None if price is None else price.model_dump(mode="json")
    change = {"model": choice.text, "price": plain, "call_seconds": call_seconds_of(choice, environment)}
    return change | {"server": server} if (server := server_of(choice.text, environment)) else change
