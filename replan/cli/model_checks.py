"""The checks of `doctor` about the model: who chose it, the key of its provider, and its server."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson
import trio

from actors.config.model_spec import Named
from actors.files.suggestions import nearest
from replan.runs.models import check_model, open_named
from replan.setup.command_name import program
from replan.setup.found_models import choices_text, find_models
from replan.setup.home_folder import locate_home
from replan.setup.settings import NoModel, choose_model, read_user_config
from runtime.core.clock import SystemClock
from runtime.core.errors import ReplanError
from runtime.models.providers import ANTHROPIC_VERSION, PROVIDERS, check_base_url

REACH_SECONDS = 5.0
"""How long `--online` waits for the model's server."""


def describe_model(environment: Mapping[str, str], model: str | None) -> str:
    """Return the model of new runs, and what names it. Raises `UsageProblem` for one that cannot be opened."""
    config = locate_home(environment).config
    try:
        choice = choose_model(model, environment, read_user_config(config))
    except NoModel:
        return f"none is named; `{program()} run` takes {choices_text(find_models(environment))}"
    check_model(choice.spec, environment)
    if model is not None:
        return f"{choice.text} (--model)"
    if environment.get("REPLAN_MODEL"):
        return f"{choice.text} (REPLAN_MODEL)"
    return f"{choice.text} ({config})"


def describe_key(environment: Mapping[str, str], model: str | None) -> str:
    """Return whether the environment has the key of the model's provider, and how long it is."""
    variable = PROVIDERS[_needed_model(environment, model).provider].key
    key = environment.get(variable, "")
    if not key:
        return f"{variable} is not set"
    return f"{variable} is set (********, {len(key)} characters)"


def describe_server(environment: Mapping[str, str], model: str | None, *, online: bool) -> str:
    """Return the address of the model's server, and with `online` what it answers.

    Raises `UsageProblem` for a wrong address, and `OSError` as `_probe` does.
    """
    chosen = _needed_model(environment, model)
    provider = PROVIDERS[chosen.provider]
    configured = environment.get(provider.address)
    url = check_base_url(provider.url_in(environment), place=provider.address) if configured else provider.url
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    source = provider.address if configured else "the default"
    if not online:
        return f"{place} ({source}; --online tries to reach it)"
    return f"{place} ({source}) {_probe(chosen, environment, url)}"


def _needed_model(environment: Mapping[str, str], model: str | None) -> Named:
    """Return the model that the server must have; its name is empty where the chosen model needs no server."""
    try:
        spec = choose_model(model, environment, read_user_config(locate_home(environment).config)).spec
    except ReplanError:  # `describe_model` raises it too, so it is shown there.
        return Named("")
    return spec if isinstance(spec, Named) else Named("")


def _probe(chosen: Named, environment: Mapping[str, str], url: str) -> str:
    """Ask the server for its list of models, which costs nothing, and return what it says about the chosen one.

    Raises `OSError` if the server cannot be reached, refuses the key, or has a list without the model.
    """
    import httpx2

    model, key = chosen.name, environment.get(PROVIDERS[chosen.provider].key, "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    path = "/models"
    if PROVIDERS[chosen.provider].interface == "anthropic":
        url = url.removesuffix("/v1")
        path, headers = "/v1/models?limit=1000", {**headers, "anthropic-version": ANTHROPIC_VERSION}
    try:
        response = httpx2.get(f"{url}{path}", headers=headers, timeout=REACH_SECONDS)
    except httpx2.HTTPError as error:
        raise OSError(f"{url} cannot be reached: {type(error).__name__}: {error}") from None
    status = response.status_code
    if status in (401, 403):
        raise OSError(f"{url} refuses the key (status {status})")
    answers = "answers, and takes the key" if status == 200 and key else f"answers (status {status})"
    listed = _model_names(response.content) if status == 200 and model else frozenset[str]()
    if not model or not listed:
        return answers
    if model not in listed and f"{model}:latest" not in listed:
        raise OSError(
            f"{url} {answers}, but does not list the model {model!r} ({nearest(model, listed, kind='it has')})"
        )
    window = trio.run(_window, chosen, environment)
    return f"{answers}; it has the model {model!r}" + (f", with {window}" if window else "")


async def _window(chosen: Named, environment: Mapping[str, str]) -> str:
    """Return the context window of a model in words; empty where it is not known."""
    async with open_named(chosen, environment, SystemClock()) as opened:
        window = await opened.context_window()
    return "" if window is None else f"a context window of {window.tokens:,} tokens ({window.source})"


def _model_names(content: bytes) -> frozenset[str]:
    """Return the names in a server's list of models; empty where the list has another form."""
    try:
        models = orjson.loads(content)["data"]
        return frozenset(model["id"] for model in models if isinstance(model["id"], str))
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return frozenset()
