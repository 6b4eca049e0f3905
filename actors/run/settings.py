"""The settings that a person can change during a run, such as its limits, its model and the time limit of a call. Pure.

A change is a message in the inbox: `{"kind": "change", ...}` with new values for keys of `Limits`, and for `model`,
`price`, `call_seconds`, `server`, `timeout_seconds`, `output_tokens_max`, `model_settings` and `strict`. A run with a
final end accepts no change.
"""

import operator
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from actors.run.limits import LIMITS, spec_of
from actors.run.waits import StoredLimits, TimedEvent
from actors.values.model_settings import KEY as MODEL_SETTINGS
from actors.values.model_settings import ModelSettings, check_settings
from runtime.core.copies import changed
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable
from runtime.core.ledger import Ledger, Limit, Limits, Price
from runtime.models.providers import CALL_SECONDS, LOCAL_CALL_SECONDS

MODEL_MAX = 300

MODEL_KEYS = frozenset({"model", "price", "call_seconds", "server"})
_OWN = MODEL_KEYS | {"kind", "timeout_seconds", "output_tokens_max", "strict", MODEL_SETTINGS}
NEVER_STRICT = "strict is only for runs that make a plan from a text"
"""The reason for refusing the setting `strict` in a run that makes no plan from a text."""


class SettingsChanged(TimedEvent):
    """A person changed the run's limits, its model, or the limits or settings of its calls, or made it `strict`."""

    added_fields: ClassVar[tuple[str, ...]] = ("model_settings",)
    kind: Literal["settings_changed"] = "settings_changed"
    limits: StoredLimits | None = None
    """All limits from now on; None if they do not change."""
    model: str | None = None
    """The new model, in the form of `--model`; None if it does not change."""
    price: Price | None = None
    """The price of the new model (`model`); None if it is unknown."""
    call_seconds: float | None = Field(default=None, gt=0)
    """The default time limit in seconds of a call to the new model's server."""
    server: str = Field(default="", exclude_if=operator.not_)
    """The address of the new model's server, as in `Started.servers`; empty for a model in this process."""
    timeout_seconds: float | None = Field(default=None, gt=0)
    """The new time limit of a call in seconds; None if the person did not set it."""
    output_tokens_max: int | None = Field(default=None, ge=1)
    """The new token limit of a reply; None if it does not change."""
    strict: bool = False
    """Whether plans with a demand in no step are rejected from now on."""
    model_settings: Mapping[str, Any] = Field(default_factory=dict, exclude_if=operator.not_)
    """For each changed setting of calls: the new value; None removes a setting."""

    @property
    def precedes_takeover(self) -> bool:
        """True: the change comes before the takeover, because calls depend on the settings."""
        return True


def change_of(
    ledger: Ledger, body: Mapping[str, Any], at: float, mono: float | None = None, *, never_strict: str = NEVER_STRICT
) -> SettingsChanged:
    """Return the change in a message. `never_strict` is the reason why the run cannot be `strict`; empty if it can be.

    Raises `UsageProblem` with the key as its place if the change is not valid.
    """
    changes = {key: value for key, value in body.items() if key not in _OWN}
    unknown = changes.keys() - Limits.model_fields.keys()
    if unknown:
        raise UsageProblem("there is no such limit", place=min(unknown))
    if ledger.limits.stop_below is None and changes.get("stop_below") == 0 and len(body.keys() - {"kind"}) > 1:
        del changes["stop_below"]  # A run without a belief never stops early.
    if "stop_below" in changes and ledger.limits.stop_below is None:
        raise UsageProblem("the run's policy has no belief, so `stop_below` has no effect", place="stop_below")
    if "stop_below" in changes and changes["stop_below"] is None:
        raise UsageProblem("the value must be a number from 0 to 1", place="stop_below")
    model, timeout, usual = body.get("model"), body.get("timeout_seconds"), body.get("call_seconds")
    if model is not None and not (isinstance(model, str) and 0 < len(model) <= MODEL_MAX):
        raise UsageProblem(f"a model's name must have 1 to {MODEL_MAX} characters", place="model")
    server = body.get("server", "")
    if not (isinstance(server, str) and len(server) <= MODEL_MAX):
        raise UsageProblem(f"an address may have at most {MODEL_MAX} characters", place="server")
    output = body.get("output_tokens_max")
    for place, name, value in (
        ("timeout_seconds", "timeout", timeout),
        ("call_seconds", "timeout", usual),
        ("output_tokens_max", "output_tokens_max", output),
    ):
        if value is not None and not LIMITS[name].fits(value):
            raise UsageProblem(LIMITS[name].expected(value), place=place)
    strict = body.get("strict")
    if strict is not None and strict is not True:
        raise UsageProblem("`strict` cannot be switched off", place="strict")
    if strict and never_strict:
        raise UsageProblem(never_strict, place="strict")
    settings = check_settings(body[MODEL_SETTINGS]) if body.get(MODEL_SETTINGS) else {}
    if not changes and model is None and timeout is None and output is None and not strict and not settings:
        raise UsageProblem("the message changes nothing")
    try:
        price = None if body.get("price") is None else Price.model_validate(body["price"])
        limits = Limits.model_validate({**dict(ledger.limits), **changes}) if changes else None
    except ValidationError as error:
        first = error.errors()[0]
        place = str(first["loc"][0]) if first["loc"] else ""
        raise UsageProblem(first["msg"], place=place) from None
    if limits is not None:
        _refuse_reached(ledger, limits, changes, at)
    return SettingsChanged(
        at=at,
        mono=mono,
        limits=limits,
        model=None if model is None else make_storable(model),
        price=price,
        call_seconds=None if model is None else usual,
        server="" if model is None else make_storable(server),
        timeout_seconds=timeout,
        output_tokens_max=output,
        strict=bool(strict),
        model_settings=settings,
    )


def timeout_after(seconds: float, event: SettingsChanged) -> float:
    """Return the time limit of a call after a change: the newly set limit, or else the new server's default.

    `seconds` is the limit before the change. A limit that is not a default is kept, because the user or a file has set
    it.
    """
    usual = event.call_seconds if seconds in (CALL_SECONDS, LOCAL_CALL_SECONDS) else None
    return event.timeout_seconds or usual or seconds


def call_fields(event: SettingsChanged, seconds: float, settings: ModelSettings) -> dict[str, Any]:
    """Return the changed fields of a configuration for calls.

    `seconds` and `settings` are the values before the change.
    """
    fields: dict[str, Any] = {} if event.model is None else {"model": event.model, "price": event.price}
    if (limit := timeout_after(seconds, event)) != seconds:
        fields["timeout_seconds"] = limit
    if event.output_tokens_max is not None:
        fields["output_tokens_max"] = event.output_tokens_max
    if event.model_settings:
        fields[MODEL_SETTINGS] = settings.apply_patch(event.model_settings)
    return fields


def message_for_children(changes: Mapping[str, Any], before: Ledger, event: SettingsChanged) -> Mapping[str, Any]:
    """Return the message that sends all changes to child runs. `before` is the ledger before the event.

    The message has no limits of calls and money, because reservations limit these in child runs.
    """
    message: dict[str, Any] = {"kind": "change", **changes}
    if event.model is not None:
        message |= {"model": event.model, "price": None if event.price is None else event.price.model_dump(mode="json")}
        message |= {} if event.call_seconds is None else {"call_seconds": event.call_seconds}
        message |= {"server": event.server} if event.server else {}
    if event.timeout_seconds is not None:
        message["timeout_seconds"] = event.timeout_seconds
    if event.output_tokens_max is not None:
        message["output_tokens_max"] = event.output_tokens_max
    if event.model_settings:
        message[MODEL_SETTINGS] = {**changes.get(MODEL_SETTINGS, {}), **event.model_settings}
    if event.limits is not None:
        ends_at, patience = changed(before, limits=event.limits).ends_at, event.limits.patience_seconds
        message |= {} if ends_at == before.ends_at else {"deadline": ends_at}
        message |= {} if patience == before.limits.patience_seconds else {"patience_seconds": patience}
        if event.limits.stop_below == 0.0 != before.limits.stop_below:
            message["stop_below"] = 0.0
    return message if len(message) > 1 else {}


def _refuse_reached(ledger: Ledger, limits: Limits, changes: Mapping[str, Any], at: float) -> None:
    """Refuse a limit that the run has already reached, because the run could do nothing with this limit."""
    for limit in Limit:
        most, used = limit.of(limits), at if limit is Limit.DEADLINE else ledger.committed_of(limit)
        if limit.key in changes and most is not None and most <= used:
            cause = f"the run has already used {used:,.10g} {spec_of(limit).noun}s, and the new limit is {most:,.10g}"
            cause = "the deadline has passed already" if limit is Limit.DEADLINE else cause
            raise UsageProblem(cause, place=limit.key)
