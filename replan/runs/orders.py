"""The orders of clients for runs of installed kinds: their names and limits are checked by the settings.

A client gives texts and names. Names refer to models and other things in the server's config file; a path, an address,
a plug-in or a prompt is never taken from a client.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from actors.files.suggestions import nearest
from actors.run.limits import LIMITS, RunLimits, check_limits, least_value
from actors.values.model_settings import EXTRAS
from replan.runs.changes import Changes
from replan.setup.settings import DEFAULT, ModelChoice, UserConfig, choose_model
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
    """The settings of the home."""
    folder: Path
    """The folder that relative paths in the settings start from."""

    @property
    def models(self) -> Mapping[str, str | None]:
        """The model behind each name that clients use; None for the home's own model."""
        return self.config.clients.offered_models

    def model_of(self, order: ModelAndLimits) -> str | None:
        """Return the model of an order in the form of `--model`; None for the home's own model.

        Raises `UsageProblem`.
        """
        return choose(order.model, self.models, "model")

    def choice_of(self, name: str, environment: Mapping[str, str] = os.environ) -> ModelChoice:
        """Return the model behind a name. Raises `UsageProblem`."""
        return choose_model(choose(name, self.models, "model"), environment, self.config)

    def check_changes(self, changes: Changes) -> None:
        """Raise `UsageProblem`, whose place is the field, if a client wants a limit beyond the server's."""
        self._check_limits(changes.limits)

    def limits_of(self, order: ModelAndLimits, calls: int | None) -> RunLimits:
        """Return the limits of an order within the ceilings. `calls` is the default limit of calls; None sets none."""
        self._check_limits(order.limits)
        ceilings = self.config.clients.ceilings
        usual = {name: most for name, most in ceilings.items() if LIMITS[name].ceiling and name != "max_calls"}
        if calls is not None:
            usual["max_calls"] = min(calls, ceilings["max_calls"])
        return cast("RunLimits", usual | check_limits(order.limits))

    def _check_limits(self, order_limits: RunLimits) -> None:
        """Check that the limits of an order are valid, and within those that the server allows to clients.

        Raises `UsageProblem`; its place is the name of the limit.
        """
        limits: Mapping[str, Any] = check_limits(order_limits)
        self.config.clients.check_ceilings(limits)
        for extra in limits.get("model_settings", {}).keys() & EXTRAS:
            hint = "model_settings in the server's config.yaml may have it"
            raise UsageProblem(f"clients may not set {extra}", place="model_settings", hint=hint)
        least, worth = self.config.clients.ceilings["stop_below"], least_value(order_limits)
        if worth is not None and least is not None and worth < least:
            hint = "clients.stop_below in the server's config.yaml; the command line may go below it"
            raise UsageProblem(f"the least that clients may ask for is {least:g}", place="stop_below", hint=hint)


def choose(
    name: str, choices: Mapping[str, _Choice], place: str, *, thing: str = "", things: str = "", setting: str = ""
) -> _Choice:
    """Return the choice with a name. Raises `UsageProblem`, whose place is the field of the order.

    `thing` and `things` are the words for one choice and for several; the default is the name of the field. `setting`
    is the key of the config file that names the choices.
    """
    if name not in choices:
        thing, things = thing or place, things or f"{place}s"
        hint = nearest(name[:100], choices, kind=things)
        hint = hint or f"{setting or f'clients.{things}'} in the server's config.yaml gives them names"
        raise UsageProblem(f"there is no {thing} {name[:100]!r} here", place=place, hint=hint)
    return choices[name]
