"""Checks and opens the models of runs. Sends each request of a run to the model that the request names."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never
from urllib.parse import urlsplit

import trio

from actors.config.model_spec import (
    MODEL_PLUGINS,
    ModelSpec,
    Named,
    PluginSpec,
    RecordingSpec,
    ReplaySpec,
    Scripted,
    TemplateSpec,
    parse_model_spec,
    suggest_built_in,
)
from actors.config.step_guards import PlugInFailed, attribute_errors
from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied
from actors.run.ids import call_of
from replan.setup.installation import data_root, program
from replan.setup.kinds import Kinds
from replan.setup.provider_table import read_refusals
from runtime.core.clock import Clock
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.extras import how_to_install
from runtime.core.ledger import Price
from runtime.journal.port import Journal
from runtime.logs.redact import Redactor, secrets_in
from runtime.models.port import Fault, Model, ModelRequest, Reply
from runtime.models.provider_state import Askable
from runtime.models.providers import PROVIDERS, check_base_url, prompt_cache_of, server_address
from runtime.models.servers import RateLimiter, Servers

if TYPE_CHECKING:
    from actors.run.views import Views
    from runtime.models.anthropic_client import AnthropicModel
    from runtime.models.openai_client import OpenAIModel
    from runtime.models.recording import RecordedAnswer, RecordingFile


@asynccontextmanager
async def open_model(
    text: str,
    *,
    journal: Journal[Any],
    environment: Mapping[str, str],
    root: Path,
    clock: Clock,
    used: Mapping[str, int],
    kinds: Kinds | None = None,
    servers: Servers | None = None,
) -> AsyncIterator[Model]:
    """Open the model with the name `text`, in the form of `--model`, and yield it. It is closed after the block.

    `used` has the number of the run's replies so far, by purpose. From these numbers, a scripted model finds its next
    reply. `kinds` are the kinds whose recorded runs can be replayed; None for the installed kinds. `servers` is what
    the home knows about servers; None if it knows nothing.

    Raises:
        UsageProblem: the model cannot be opened.
    """
    spec = parse_model_spec(text)
    check_model(spec, environment)
    match spec:
        case TemplateSpec(name):
            from actors.templates.model import TemplateModel  # noqa: PLC0415 - not needed by real models
            from actors.templates.template_files import load_templates  # noqa: PLC0415 - as above

            yield TemplateModel(name, load_templates(root / "configs" / "templates")[name])
        case Scripted(path):
            from runtime.models.scripted import ScriptedModel  # noqa: PLC0415

            yield ScriptedModel.from_file(path, clock=clock, used=used)
        case ReplaySpec(run, lenient):
            from runtime.models.recording import RecordingMode, RecordingModel  # noqa: PLC0415

            mode = RecordingMode.LENIENT if lenient else RecordingMode.STRICT
            yield RecordingModel(await _recorded_answers(journal, run, kinds or Kinds()), mode, name=text)
        case RecordingSpec():
            opening = partial(
                open_model,
                journal=journal,
                environment=environment,
                root=root,
                clock=clock,
                used=used,
                kinds=kinds,
                servers=servers,
            )
            async with _open_recording(text, spec, environment, opening) as model:
                yield model
        case Named():
            async with open_named(spec, environment, clock, servers) as model:
                yield model
        case PluginSpec():
            plugged_in = make_plugin_model(spec, environment)
            try:
                yield plugged_in
            finally:
                await plugged_in.aclose()
        case _:
            assert_never(spec)


def open_named(
    spec: Named, environment: Mapping[str, str], clock: Clock, servers: Servers | None = None
) -> AbstractAsyncContextManager["OpenAIModel | AnthropicModel"]:
    """Return a context that opens a provider's model.

    Entering it raises `UsageProblem` for a wrong key, address or proxy.
    """
    provider, cache = PROVIDERS[spec.provider], prompt_cache_of(environment)
    servers = servers or Servers(refusals=read_refusals(data_root()))
    key, url = environment.get(provider.key, ""), provider.url_in(environment)
    interface = provider.interface_of(spec.name, environment)
    match interface:
        case "chat" | "responses":
            from runtime.models.open_models import open_openai  # noqa: PLC0415

            return open_openai(
                spec.name,
                api_key=key,
                base_url=url,
                clock=clock,
                prompt_cache=cache,
                servers=servers,
                responses=interface == "responses",
            )
        case "messages":
            from runtime.models.open_models import open_anthropic  # noqa: PLC0415

            return open_anthropic(
                spec.name, api_key=key, base_url=url, clock=clock, prompt_cache=cache, servers=servers
            )
        case _:
            assert_never(interface)


def provider_of(text: str, environment: Mapping[str, str]) -> str | None:
    """Return the host name of a model's server; None if the model runs in this process."""
    spec = parse_model_spec(text)
    if isinstance(spec, RecordingSpec) and spec.missing:
        return provider_of(spec.missing, environment)
    return urlsplit(PROVIDERS[spec.provider].url_in(environment)).hostname or "" if isinstance(spec, Named) else None


def server_of(text: str, environment: Mapping[str, str]) -> str:
    """Return the host and the port of a model's server; empty if the model runs in this process or no server is set.

    Raises the errors of `check_base_url`.
    """
    spec = parse_model_spec(text)
    if isinstance(spec, RecordingSpec) and spec.missing:
        return server_of(spec.missing, environment)
    if not isinstance(spec, Named):
        return ""
    provider = PROVIDERS[spec.provider]
    url = provider.url_in(environment)
    return server_address(url, place=provider.address) if url else ""


def servers_of(models: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from each model that has a server to the server's address."""
    return {name: address for name in models if (address := server_of(name, environment))}


def check_servers(run: str, models: Iterable[str], recorded: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Check that the servers of a run's models are the servers that the run has recorded.

    Without this check, the prompts of the run and a key could be sent to a server that the user did not choose for it.

    Raises: UsageProblem: the environment names another server. The hint says how to continue the run.
    """
    for name in models:
        before, address = recorded.get(name, ""), server_of(name, environment)
        if before and address != before:
            spec = parse_model_spec(name)
            missing = parse_model_spec(spec.missing) if isinstance(spec, RecordingSpec) else spec
            variable = PROVIDERS[missing.provider].address if isinstance(missing, Named) else ""
            cause = f"the model of run {run} was at {before}, and is now at {address or 'no server'}"
            other = f"use the other server with `{program()} resume {run} -m {name}`"
            hint = f"set this variable to {before} again, such as http://{before}/v1, or {other}"
            raise UsageProblem(cause, place=variable, hint=hint)


def rate_limiter_of(text: str, environment: Mapping[str, str], servers: Servers) -> RateLimiter | None:
    """Return the rate limiter of a model's server.

    Return None for a model that runs in this process. Also return None for a recording, because replies from a file
    need no rate limit.
    """
    spec = parse_model_spec(text)
    if not isinstance(spec, Named):
        return None
    provider = PROVIDERS[spec.provider]
    return servers.rate_limiter(provider.url_in(environment), environment.get(provider.key, ""))


def is_stateless(text: str) -> bool:
    """Return whether all runs can share a model: it keeps nothing of one run that affects another run."""
    return isinstance(parse_model_spec(text), Named | TemplateSpec)


class Shared:
    """The models that all runs of a process share.

    Each model is opened when it is first needed. Closing `stack` closes all of them.
    """

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack, self._lock = stack, trio.Lock()
        self._models: dict[str, Model] = {}

    async def get(self, text: str, opening: AbstractAsyncContextManager[Model]) -> Model:
        """Return the model with the name `text`. The first call for a name enters `opening` to open the model."""
        async with self._lock:
            if text not in self._models:
                self._models[text] = await self._stack.enter_async_context(opening)
            return self._models[text]


def check_model(spec: ModelSpec, environment: Mapping[str, str], *, others: Iterable[str] = ()) -> None:
    """Check the model of a run before anything is written. Raises `UsageProblem` if it cannot be opened.

    `others` are the names of models that steps of the run use. These models are checked too.
    """
    for name in others:
        other = parse_model_spec(name)
        if isinstance(other, Named) and not PROVIDERS[other.provider].is_configured(environment):
            provider = PROVIDERS[other.provider]
            hint = f"set {provider.key}, or {provider.address} for a server of your own, or remove the step's `model`"
            raise UsageProblem(f"model {name!r} of a step needs a key", place=provider.key, hint=hint)
        check_model(other, environment)
    match spec:
        case Named() if not PROVIDERS[spec.provider].is_configured(environment):
            raise _no_key(spec, environment)
        case Named():
            check_server(spec, environment)
        case Scripted(path):
            from runtime.models.scripted import ScriptedModel  # noqa: PLC0415

            ScriptedModel.from_file(path)
        case RecordingSpec():
            file = _recording_file(spec, environment)
            if spec.missing:
                check_model(parse_model_spec(spec.missing), environment)
                file.check_writable()
            file.read(may_be_missing=bool(spec.missing))
        case PluginSpec():
            make_plugin_model(spec, environment)
        case _:
            pass


def _no_key(spec: Named, environment: Mapping[str, str]) -> UsageProblem:
    provider, near = PROVIDERS[spec.provider], suggest_built_in(spec.name)
    names = " and ".join(filter(None, (provider.key, provider.region)))
    hint = f"set {names}, or {provider.address} for a server of your own"
    if (
        spec.provider == "openai"
        and spec.name.startswith("claude")
        and PROVIDERS["anthropic"].is_configured(environment)
    ):
        near = f"anthropic:{spec.name}"
    hint = f"did you mean {near}? Otherwise {hint}" if near else hint
    return UsageProblem(f"model {spec.text!r} needs a key", place=provider.key, hint=hint)


def check_server(spec: Named, environment: Mapping[str, str]) -> None:
    """Check the settings of the model's server, except for the key, and check that the client library is installed.

    Raises `UsageProblem`.
    """
    provider = PROVIDERS[spec.provider]
    prompt_cache_of(environment)
    if environment.get(provider.address):
        check_base_url(provider.url_in(environment), place=provider.address)
    if provider.interface == "messages":
        from runtime.models.open_models import check_extra  # noqa: PLC0415

        check_extra()


def _recording_file(spec: RecordingSpec, environment: Mapping[str, str]) -> "RecordingFile":
    """Return the file of a recording.

    Before a text is written to the file, known secrets and texts that look like secrets are removed.
    """
    from runtime.models.recording import RecordingFile  # noqa: PLC0415 -- as above

    return RecordingFile(Path(spec.path), Redactor(secrets_in(environment)).text)


@asynccontextmanager
async def _open_recording(
    text: str,
    spec: RecordingSpec,
    environment: Mapping[str, str],
    opening: Callable[[str], AbstractAsyncContextManager[Model]],
) -> AsyncIterator[Model]:
    from runtime.models.recording import RecordingMode, RecordingModel  # noqa: PLC0415 -- as above

    file = _recording_file(spec, environment)
    answers = file.read(may_be_missing=bool(spec.missing))
    redacted = file.redacted
    if not spec.missing:
        mode = RecordingMode.LENIENT if spec.lenient else RecordingMode.STRICT
        yield RecordingModel(answers, mode, name=text, redacted=redacted)
        return
    async with opening(spec.missing) as missing:
        record = RecordingMode.RECORD
        yield RecordingModel(answers, record, name=text, redacted=redacted, missing=missing, add=file.add)


async def _recorded_answers(journal: Journal[Any], run: str, kinds: Kinds) -> "list[RecordedAnswer]":
    """Return the model's answers that a run has recorded, in order, each with the hash of its prompt.

    If the driver was killed during a try, this try has no answer. Here it gets the answer of the next try, because a
    replay makes only the first try.
    """
    from runtime.models.recording import RecordedAnswer  # noqa: PLC0415 -- as above

    records, row = await journal.read(run), await journal.row(run)
    views = kinds.get(run, row.kind, row.format).views
    answers: list[RecordedAnswer] = []
    hashes, unanswered, known = dict[str, str](), dict[str, list[str]](), set[str]()

    def answered(request_id: str, call: str, answer: Reply | Fault) -> None:
        for name in [request_id, *unanswered.pop(call, [])]:
            if name not in known:
                known.add(name)
                answers.append(
                    RecordedAnswer(name, hashes.get(name, ""), answer, partial(_prompt, views, records, name))
                )

    for record in records:
        match record.event:
            case CallRequested() as event:
                hashes[event.request_id] = event.prompt_hash
                unanswered.setdefault(event.call, []).append(event.request_id)
            case CallReissued() as event:
                hashes[event.again.request_id] = event.again.prompt_hash
                unanswered.setdefault(event.again.call, []).append(event.again.request_id)
            case Replied() as event:
                answered(event.request_id, call_of(event.request_id), event.reply)
            case CallFailed() as event:
                answered(event.request_id, event.call, event.fault)
            case _:
                pass
    return answers


def _prompt(views: "Views[Any, Any]", records: Sequence[Record[Any]], request_id: str) -> tuple[str, str] | None:
    """Return the system and the user message of a recorded call; None if this release renders other texts."""
    if views.prompt is None:
        return None
    try:
        sent = views.prompt(records, request_id, None)
    except UsageProblem:
        return None
    texts = dict(sent.messages)
    return (texts.get("system", ""), texts.get("user", "")) if sent.verified else None


def make_plugin_model(spec: PluginSpec, environment: Mapping[str, str]) -> "PluggedInModel":
    """Make a model of an installed distribution, and return it. Raises `UsageProblem` if the model cannot be made."""
    installed = MODEL_PLUGINS.find(spec.prefix)
    if installed is None:
        hint = how_to_install("models", spec.prefix) or "install the plug-in, or name another model"
        raise UsageProblem(f"no installed plug-in provides the model {spec.text!r}", place="--model", hint=hint)
    place, make = installed.place, MODEL_PLUGINS.load(installed)
    try:
        model: Any = make(spec.rest, environment)
    except UsageProblem:
        raise
    except Exception as error:
        cause = f"the plug-in cannot make the model {spec.rest!r}: {type(error).__name__}: {error}"
        raise UsageProblem(cause, place=place, hint="uninstall or repair it") from error
    if not all(hasattr(model, name) for name in ("name", "complete", "aclose")):
        cause = f"the plug-in returned a value of type {type(model).__name__}, not a model"
        raise UsageProblem(cause, place=place, hint="uninstall or repair it")
    return PluggedInModel(model, spec.prefix)


class PluggedInModel:
    """A model of an installed distribution. An exception of the model becomes `PlugInFailed`."""

    def __init__(self, model: Model, prefix: str) -> None:
        self._model, self._plugin = model, f"model {prefix}"

    @property
    def name(self) -> str:
        """The name of the model for records."""
        return self._model.name

    @property
    def price(self) -> Price | None:
        """The price of the model, from the plug-in's optional attribute `price`; None if the attribute is missing."""
        return getattr(self._model, "price", None)

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the plug-in's reply or fault.

        Raises `PlugInFailed` if the plug-in raises an exception, or returns another value.
        """
        with attribute_errors(self._plugin):
            answer: object = await self._model.complete(request)
        if not isinstance(answer, Reply | Fault):
            raise PlugInFailed(f"{self._plugin} returned {type(answer).__name__}, not a Reply or a Fault")
        return answer

    async def aclose(self) -> None:
        """Close the connections of the model."""
        with attribute_errors(self._plugin):
            await self._model.aclose()


class RoutedModel:
    """A model that sends each request to the run's own model or to the model of a step."""

    def __init__(self, own: Model, others: Mapping[str, Model]) -> None:
        self._own, self._others = own, others

    @property
    def name(self) -> str:
        """The name of the run's own model."""
        return self._own.name

    @property
    def probed_model(self) -> Model:
        """The model that is probed after an outage: the first model that can be probed, else the run's own model."""
        models = (self._own, *self._others.values())
        return next((model for model in models if isinstance(model, Askable)), self._own)

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply or the fault of the model that the request names."""
        model = self._others[request.model] if request.model else self._own
        return await model.complete(request)

    async def aclose(self) -> None:
        """Close the run's own model and all other models."""
        for model in (self._own, *self._others.values()):
            await model.aclose()
