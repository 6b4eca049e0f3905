"""Finds the models that this process can use: models with a key in the environment, and models of local servers.

Sends nothing to other machines: lists of models are requested only from servers on this machine, over loopback.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from actors.config.model_spec import TEMPLATE_NAMES, Named, parse_model_spec
from replan.setup.settings import NoModel
from runtime.core.errors import UsageProblem
from runtime.models.providers import PROVIDERS, Provider

PROBE_SECONDS = 0.3
"""The longest time, in seconds, that the program waits for the model lists of all local servers together."""
LIST_BYTES_MAX = 1_000_000
"""The largest number of bytes that are read from a local server's list of models."""
SHOWN_MAX = 3
"""The largest number of models that are shown for one local server."""
PORTS: Mapping[str, int] = {name: provider.port for name, provider in PROVIDERS.items() if provider.port}
"""A mapping from the name of a provider to the local port on which a server of this provider is asked for its
models."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that this process can use."""

    model: str
    """The model in the form of `--model`. It ends with `NAME` if the names of the server's models are not known."""
    place: str

    @property
    def named(self) -> bool:
        """Whether `model` names a model, and does not end with the placeholder `NAME`."""
        return self.model.rpartition(":")[2] != "NAME"

    @property
    def text(self) -> str:
        """A text for people with the name of the model and the place of its server."""
        name = parse_model_spec(self.model)
        return f"{name.name if isinstance(name, Named) else self.model} at {self.place}"


def find_models(environment: Mapping[str, str], ports: Mapping[str, int] | None = None) -> tuple[FoundModel, ...]:
    """Return the models of servers on this machine, then the models for which the environment has a key or an address.

    The default for `ports` is `PORTS`. This takes at most `PROBE_SECONDS`, and raises no errors.
    """
    servers = PORTS if ports is None else ports
    listed: dict[str, Sequence[str]] = {}
    threads = [
        threading.Thread(target=_list_into, args=(listed, name, port), daemon=True) for name, port in servers.items()
    ]
    end = time.monotonic() + PROBE_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    answered = dict(listed)  # A server that answers later changes nothing.
    found = [
        FoundModel(f"{name}:{model}", f"{provider.title} on this machine")
        for name, provider in PROVIDERS.items()
        for model in answered.get(name, ())
    ]
    return (
        *found,
        *(
            _of_environment(provider, elsewhere=bool(provider.url and environment.get(provider.address)))
            for provider in PROVIDERS.values()
            if _is_set(provider, environment)
        ),
    )


def choices_text(found: Sequence[FoundModel]) -> str:
    """Return one line with the command line options for the found models and for templates."""
    models = [f"-m {item.model} ({item.place})" for item in found]
    templates = f"-m template:NAME ({', '.join(TEMPLATE_NAMES)}) for a plan from a template, without a model"
    return ", ".join([*models, templates])


def with_choices(problem: UsageProblem, environment: Mapping[str, str]) -> UsageProblem:
    """Return an error like `problem`, with a hint that lists the models that can be used here."""
    return NoModel(problem.cause, place=problem.place, hint=f"pass {choices_text(find_models(environment))}")


def _is_set(provider: Provider, environment: Mapping[str, str]) -> bool:
    """Return whether the environment has a key or an address of a provider.

    For a local server, only an address counts.
    """
    if provider.port:
        return bool(environment.get(provider.address))
    return provider.interface != "responses" and provider.is_configured(environment)  # Its models are OpenAI's.


def _of_environment(provider: Provider, *, elsewhere: bool) -> FoundModel:
    """Return a model of a provider.

    `elsewhere` says whether the environment names another server than the provider's own.
    """
    prefix = "" if provider.name == "openai" else f"{provider.name}:"
    name = "" if elsewhere else provider.model
    return FoundModel(f"{prefix}{name or 'NAME'}", f"the server of {provider.address}" if elsewhere else provider.title)


def _list_into(listed: dict[str, Sequence[str]], name: str, port: int) -> None:
    import http.client  # noqa: PLC0415 -- a run with a model asks no server

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        if answer.status == http.client.OK:
            listed[name] = _names(orjson.loads(answer.read(LIST_BYTES_MAX)), name)
    except (OSError, http.client.HTTPException, orjson.JSONDecodeError):
        return
    finally:
        connection.close()


def _names(content: Any, provider: str) -> list[str]:
    models = content.get("data") if isinstance(content, Mapping) else None
    names = []
    for item in models if isinstance(models, list) else ():
        name = item.get("id") if isinstance(item, Mapping) else None
        if isinstance(name, str) and "embed" not in name.lower() and _is_name(f"{provider}:{name}"):
            names.append(name)
    return names[:SHOWN_MAX]


def _is_name(model: str) -> bool:
    try:
        parse_model_spec(model)
    except UsageProblem:
        return False
    return True
