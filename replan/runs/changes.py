"""Changes of a run that exists: its limits, those of its calls, its model and `strict`, as its inbox takes them."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from actors.planning.prepare import LIMIT_MOST
from actors.run.result import RunResult
from replan.runs.engine import Engine
from replan.runs.models import check_model
from replan.runs.prepare import price_for
from replan.setup.home_folder import locate_home
from replan.setup.settings import choose_model, read_user_config
from runtime.core.cost import micro_limit
from runtime.core.errors import UsageProblem
from runtime.journal.port import Posted


@dataclass(frozen=True, slots=True)
class Changes:
    """What a person changes, from the command line or from Python; None leaves it as it is."""

    max_calls: int | None = None
    """Model calls at most, those already made included."""
    max_tokens: int | None = None
    """Tokens at most, likewise."""
    max_cost_usd: float | None = None
    """Dollars at most, likewise."""
    deadline_seconds: float | None = None
    """Seconds from now until the run ends, whatever happens."""
    active_seconds: float | None = None
    """Seconds in which models or guards work, at most, those already used included."""
    patience_seconds: float | None = None
    """Seconds of pauses in which a process stays for the provider."""
    stop_below: float | None = None
    """The least chance of success per call that a move of a belief policy must have."""
    keep_trying: bool = False
    """Whether the run goes on while a move is allowed, whatever it is worth: the same as `stop_below` 0."""
    timeout_seconds: float | None = None
    """The time limit of a call."""
    output_tokens: int | None = None
    """The token limit of a reply, of every step."""
    model: str | None = None
    """The model, as after `--model`."""
    strict: bool = False
    """Whether plans that leave a demand of the text in no step are rejected from now on."""

    @property
    def raises_limits(self) -> bool:
        """Whether a limit is among them."""
        return self.keep_trying or any(getattr(self, name) is not None for name in _LIMITS)

    @property
    def least_value(self) -> float | None:
        """The limit `stop_below` that they set; None where it stays. Raises `UsageProblem` if both say one."""
        if self.keep_trying and self.stop_below is not None:
            raise UsageProblem("it says the same as stop_below 0", place="keep_trying", hint="give one of the two")
        return 0.0 if self.keep_trying else self.stop_below

    def __bool__(self) -> bool:
        """Tell whether anything changes."""
        values = [getattr(self, field.name) for field in fields(self)]
        return any(value is not None and value is not False for value in values)


_LIMITS = {
    "max_calls": "calls",
    "max_tokens": "tokens",
    "max_cost_usd": "micro_usd",
    "deadline_seconds": "deadline",
    "active_seconds": "active_seconds",
    "patience_seconds": "patience_seconds",
    "stop_below": "stop_below",
}
"""The keys of the message by the names in Python."""


async def post_changes(
    engine: Engine, run: str, changes: Changes, environment: Mapping[str, str] = os.environ, *, key: str = ""
) -> Posted:
    """Post changes to a run. Raises `UsageProblem`, whose place is the name in Python, for those that are not valid.

    `key` is as for `Engine.tell`; a deadline that is counted from now does not make a conflict.
    """
    try:
        body = _message_of(changes, await engine.result(run), engine.journal.now(), environment)
        posted = await engine.change(run, body, key=key)
    except UsageProblem as problem:
        raise UsageProblem(problem.cause, place=_name_of(problem.place), hint=problem.hint) from None
    known = json.loads(posted.body)
    if posted.result == "conflict" and known | {"deadline": 0} == {"kind": "change", **body} | {"deadline": 0}:
        return replace(posted, result="duplicate")
    return posted


def _message_of(changes: Changes, result: RunResult, now: float, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return changes as the run's inbox takes them. Raises `UsageProblem`, whose place is the name in Python."""
    body: dict[str, Any] = {}
    for name, key in _LIMITS.items():
        value = changes.least_value if name == "stop_below" else getattr(changes, name)
        if value is None:
            continue
        if not 0 <= value <= LIMIT_MOST.get(name, 10**12):
            raise UsageProblem(f"{value:,.12g} is no sensible limit", place=name)
        body[key] = value
    if changes.deadline_seconds is not None:
        body["deadline"] = now + changes.deadline_seconds
    if changes.timeout_seconds is not None:
        body["timeout_seconds"] = changes.timeout_seconds
    if changes.output_tokens is not None:
        body["output_tokens_max"] = changes.output_tokens
    if changes.strict:
        body["strict"] = True
    price_known = result.cost_usd is not None
    if changes.model is not None:
        config = read_user_config(locate_home(environment).config)
        choice = choose_model(changes.model, environment, config)
        check_model(choice.spec, environment)
        price = price_for(choice, config, environment, now)
        price_known = price is not None
        body |= {"model": choice.text, "price": None if price is None else price.model_dump(mode="json")}
    if changes.max_cost_usd is not None:
        if not price_known:
            hint = "give its price under prices in config.yaml, or limit calls or tokens"
            raise UsageProblem("the price of the model is not known", place="max_cost_usd", hint=hint)
        body["micro_usd"] = micro_limit(changes.max_cost_usd)
    return body


def _name_of(place: str) -> str:
    """Return the name in Python of a key of the message; any other place as it is."""
    names = {**_LIMITS, "output_tokens": "output_tokens_max"}
    return next((name for name, key in names.items() if key == place), place)
