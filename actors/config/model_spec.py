"""Parses the text that names a model, such as the argument of `--model`, into a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from actors.files.suggestions import closest, describe_retired, nearest
from runtime.core.entry_points import PluginGroup, function_of
from runtime.core.errors import UsageProblem
from runtime.core.extras import EXTRAS
from runtime.core.names import RUN_ID
from runtime.models.providers import PROVIDERS, ProviderName


@dataclass(frozen=True, slots=True)
class Named:
    """A model of a provider, named as the provider's server names it."""

    name: str
    provider: ProviderName = "openai"
    reads_text: ClassVar[bool] = True
    """Whether the model reads the text of the problem. A model that fills a template does not read it."""

    @property
    def text(self) -> str:
        """The model in the form of `--model`."""
        return self.name if self.provider == "openai" else f"{self.provider}:{self.name}"


@dataclass(frozen=True, slots=True)
class TemplateSpec:
    """A shipped plan template as a model: deterministic and offline."""

    name: str
    reads_text: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Scripted:
    """A model whose replies are in a YAML or JSON file."""

    path: str
    reads_text: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """A model whose replies come from an earlier run."""

    run: str
    lenient: bool = False
    """Whether a recorded reply is used even if the prompt differs from the recorded prompt."""
    reads_text: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class RecordingSpec:
    """A model whose replies come from a file with recorded replies."""

    path: str
    lenient: bool = False
    missing: str = ""
    reads_text: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A model of a plug-in, which an installed distribution provides."""

    prefix: str
    rest: str
    """The text after the prefix, which only the plug-in reads."""
    reads_text: ClassVar[bool] = True

    @property
    def text(self) -> str:
        """The model in the form of `--model`, without the prefix that `pin_model` adds."""
        return f"{self.prefix}:{self.rest}"

    @property
    def is_ours(self) -> bool:
        """Whether a distribution of Replan provides the model.

        Such a model runs in this process, and its name has no path.
        """
        return self.prefix in OURS


ModelSpec = Named | TemplateSpec | Scripted | ReplaySpec | RecordingSpec | PluginSpec

GRAMMAR = (
    "NAME, PROVIDER:NAME such as ollama:NAME, template:NAME, scripted:FILE, "
    "replay:RUN[?lenient] or recorded:FILE[?lenient|?record=MODEL]"
)
"""The accepted forms of the option `--model`, as help texts and hints show them."""

NAME_MAX = 200

TEMPLATE_NAMES = ("bug", "feature", "refactoring", "performance", "decide")
"""The names of the shipped plan templates."""
TEMPLATES = tuple(f"template:{name}" for name in TEMPLATE_NAMES)
"""The shipped plan templates in the form that `--model` accepts, such as `template:bug`."""

OURS = tuple(prefix for groups in EXTRAS.values() for prefix in groups.get("models", ()))
"""The prefixes of the models that other distributions (packages) of Replan add.

No server's model has such a prefix, so runs store these models unchanged.
"""
_FREQUENT = ("anthropic", "openai-responses", "template", "scripted", "replay", "recorded", *OURS)
"""The prefixes that an error may suggest for a misspelt prefix. Other prefixes are not suggested, because they resemble
names of models such as `llama3:8b`.
"""
_PLUGIN = "plugin"
"""The prefix that a run adds to a plug-in's model, because `PREFIX:TEXT` may also be a server's name for a model."""
_PREFIXES = frozenset((*_FREQUENT, *PROVIDERS, _PLUGIN)) - {"openai", *OURS}
MODEL_PLUGINS = PluginGroup(
    "replan.models", "a function make(text, environment)", function_of(2), dict.fromkeys((*_PREFIXES, "openai"), "")
)
"""The plug-in models of installed Python distributions. A prefix identifies each plug-in.

`make(text, environment)` returns a `runtime.models.port.Model` for the text after the prefix, or raises `UsageProblem`.
The model opens nothing before its first call, since `make` is also called only to check the text.
"""
_FORMS = ("template:NAME", "scripted:FILE", "replay:RUN", "recorded:FILE")
_WITHOUT_MODEL = frozenset(form.partition(":")[0] for form in _FORMS)
_BUILT_IN = {form.partition(":")[0]: form for form in _FORMS} | {prefix: f"{prefix}:" for prefix in OURS}


def pin_model(text: str) -> str:
    """Return the text that a run stores for a model: `plugin:PREFIX:TEXT` if an installed plug-in has the prefix.

    Any other text is returned unchanged. So the text means the same model after other packages are installed.
    """
    text = text.strip()
    recording, record, model = text.partition("?record=") if text.startswith("recorded:") else ("", "", text)
    prefix, colon, _ = model.partition(":")
    if colon and prefix not in OURS and MODEL_PLUGINS.find(prefix) is not None:
        return f"{recording}{record}{_PLUGIN}:{model}"
    return text


def unpin_model(text: str) -> str:
    """Return the text of a model without the prefix that `pin_model` adds."""
    return text.removeprefix(f"{_PLUGIN}:")


def parse_model_spec(text: str, *, place: str = "--model") -> ModelSpec:
    """Return the model that a text names. The text has a form of `GRAMMAR`, or is a result of `pin_model`.

    A server's model names may contain colons and slashes (`llama3:8b`, `meta/llama-3`).

    Raises:
        UsageProblem: the text does not fit the grammar. The error has `place` as its place.
    """
    text = text.strip()
    if not text:
        raise UsageProblem("names no model", place=place, hint=GRAMMAR)
    if len(text) > NAME_MAX and not text.startswith(("scripted:", "recorded:", f"{_PLUGIN}:")):
        raise UsageProblem(f"the model's name is longer than {NAME_MAX} characters", place=place, hint=GRAMMAR)
    if retired_notice := describe_retired(text.partition(":")[0], "model"):
        raise UsageProblem(f"there is no model {text!r}", place=place, hint=retired_notice)
    prefix, colon, rest = text.partition(":")
    if colon and prefix in OURS:
        return _read_plugin(text, place)
    if prefix in _PREFIXES:
        return _read_prefixed(prefix, rest, place)
    if prefix == "openai" and rest:
        hint = f"write {rest}, and name the server in OPENAI_BASE_URL"
        raise UsageProblem("a server's model is written without the prefix `openai:`", place=place, hint=hint)
    if not text.isprintable() or " " in text:
        raise UsageProblem("a model's name must not contain spaces or control characters", place=place, hint=GRAMMAR)
    if colon and (near := closest(prefix, _FREQUENT, cutoff=0.8)):
        raise UsageProblem(f"unknown prefix `{prefix}:` of a model", place=place, hint=f"did you mean {near}:?")
    return Named(text)


def check_settings(model: str, fields: Mapping[str, Any]) -> None:
    """Check that a model's provider accepts the settings `fields` of the model's calls.

    Raises:
        UsageProblem: the provider refuses settings; the cause names them.
    """
    spec = parse_model_spec(model) if fields else None
    if isinstance(spec, Named) and (refused := PROVIDERS[spec.provider].refused_settings(fields)):
        names = " and ".join(refused)
        cause = f"the provider of {model!r} does not accept {names}"
        raise UsageProblem(cause, place="model_settings", hint=f"remove {names}")


def is_deterministic(model: str) -> bool:
    """Return whether a model in the form of `--model` always gives the same reply to the same prompt."""
    return model.strip().startswith("template:")


def is_author(model: str) -> bool:
    """Return whether a model in the form of `--model` writes new replies. Templates, scripts and recordings do not."""
    return model.strip().partition(":")[0] not in _WITHOUT_MODEL


def reads_text(model: str) -> bool:
    """Return whether a run's model, in the form of `--model`, reads the text of the problem. Never raises."""
    try:
        return parse_model_spec(model).reads_text
    except UsageProblem:  # What a journal holds may be any text.
        return True


def provider_name(model: str | None) -> ProviderName:
    """Return the provider of a model; `openai` for None and for a text that is not a model. Never raises."""
    try:
        spec = parse_model_spec(model or "")
    except UsageProblem:
        return "openai"
    return spec.provider if isinstance(spec, Named) else "openai"


def describe_model(model: str) -> str:
    """Return a model's name for web pages. Names of files and runs are removed: they concern only the server."""
    try:
        spec = parse_model_spec(model)
    except UsageProblem:  # What a journal holds may be any text.
        spec = None
    named = isinstance(spec, Named | TemplateSpec) or (isinstance(spec, PluginSpec) and spec.is_ours)
    return model if named else unpin_model(model).partition(":")[0]


def suggest_built_in(name: str) -> str:
    """Return the form of the built-in model whose prefix is most similar to `name`; empty if no prefix is similar."""
    return _BUILT_IN.get(closest(name.lower(), _BUILT_IN, cutoff=0.75), "")


def _read_prefixed(prefix: str, rest: str, place: str) -> ModelSpec:
    provider = next((name for name in PROVIDERS if name == prefix), None)
    if provider is not None:
        if not rest or not rest.isprintable() or " " in rest:
            hint = f"write one, such as {prefix}:{PROVIDERS[provider].model or 'NAME'}"
            raise UsageProblem(f"there is no valid model name after `{prefix}:`", place=place, hint=hint)
        return Named(rest, provider)
    if prefix == "template":
        if rest not in TEMPLATE_NAMES:
            hint = nearest(rest, TEMPLATE_NAMES, kind="there are")
            raise UsageProblem(f"there is no template {rest!r}", place=place, hint=hint)
        return TemplateSpec(rest)
    if prefix == "scripted":
        if not rest:
            hint = "write one, such as scripted:replies.yaml"
            raise UsageProblem("there is no file name after `scripted:`", place=place, hint=hint)
        return Scripted(rest)
    if prefix == "replay":
        run, lenient = rest.removesuffix("?lenient"), rest.endswith("?lenient")
        if RUN_ID.fullmatch(run) is None:
            hint = "write one, such as replay:k7m2x9qa"
            raise UsageProblem("there is no valid run id after `replay:`", place=place, hint=hint)
        return ReplaySpec(run, lenient)
    if prefix == "recorded":
        return _read_recording(rest, place)
    return _read_plugin(rest, place)


def _read_plugin(rest: str, place: str) -> PluginSpec:
    prefix, colon, text = rest.partition(":")
    if not prefix or not colon:
        hint = "write plugin:PREFIX:TEXT"
        raise UsageProblem("`plugin:` must be followed by a plug-in's prefix and a text", place=place, hint=hint)
    if len(text) > NAME_MAX or not text.isprintable():
        cause = f"the text after `{prefix}:` is longer than {NAME_MAX} characters, or has unprintable characters"
        raise UsageProblem(cause, place=place, hint="shorten the text, and write it on one line")
    return PluginSpec(prefix, text)


def _read_recording(rest: str, place: str) -> RecordingSpec:
    path, record, missing = rest.partition("?record=")
    lenient = not record and path.endswith("?lenient")
    path = path.removesuffix("?lenient") if lenient else path
    if not path:
        hint = "write one, such as recorded:replies.yaml"
        raise UsageProblem("there is no file name after `recorded:`", place=place, hint=hint)
    if "?" in path or bool(record) != bool(missing):
        hint = "write recorded:replies.yaml?lenient or recorded:replies.yaml?record=gpt-5-mini"
        raise UsageProblem(
            "`recorded:` accepts only the options `?lenient` and `?record=MODEL`", place=place, hint=hint
        )
    if missing and isinstance(parse_model_spec(missing, place=place), ReplaySpec | RecordingSpec):
        raise UsageProblem("`?record=` must name a model, not a recording or a replay", place=place, hint=GRAMMAR)
    return RecordingSpec(path, lenient, missing)
