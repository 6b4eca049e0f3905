"""The settings of a model's calls, such as temperature and effort. They come from files, options and programs. Pure.

A setting has the name of the field in the chat completions API that it sets. A setting without a value is not sent, so
the provider's default applies. Settings are stored with a run, so they must hold no secret.
"""

import json
import operator
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from actors.files.suggestions import near
from actors.files.validation_errors import Config, ParsedFile, config_error, usage_problem
from runtime.core.errors import UsageProblem

KEY = "model_settings"
"""The name of the model settings in files, options and programs."""
UNKNOWN = "unknown setting"
"""The first words of the error for an unknown setting."""
EXTRAS = frozenset({"extra_body", "extra_headers"})
"""The names of two settings, whose values are mappings. One adds fields to the body of a request, the other adds
headers to the request."""
OWN = frozenset({"context_window", "compact"})
"""The names of the settings that this program uses itself and does not send to the provider."""
EXTRA_BYTES_MAX = 16_000
NAME_SHOWN_MAX = 80
"""An error about a wrong value shows at most this number of characters of the path to the value."""
DEPTH_MAX = 20
HEADERS_MAX = 20

_CLIENT = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "response_format"),
        *("n", "best_of", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
        *("num_return_sequences", "num_generations", "use_beam_search"),
        *("system", "stop_sequences", "container", "cache_control"),
        *("input", "instructions", "include", "max_output_tokens", "background"),
        *("previous_response_id", "conversation"),
        *("models", "plugins", "modalities", "audio", "prediction", "mcp_servers"),
        *("web_search_options", "search_parameters", "search_options", "enable_search"),
        *("service_tier", "speed", "inference_geo"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    }
)
"""The fields of a request's body that the settings must not have. The client sets these fields itself, or they change
the number or the cost of replies."""
_SECRET_HEADER = re.compile(r"auth|cookie|secret|passw|credential|signature|token|key")
_SECRET_FIELD = re.compile(
    r"authori[sz]ation|secret|passw|credential|(?:api|access|private|secret|subscription)[-_]?key|^key$|^token$"
    r"|(?:auth|access|bearer|refresh|session|api)[-_]?token"
)
_CLIENT_HEADERS = re.compile(
    r"host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-.*|accept.*|user-agent"
    r"|x-client-request-id|x-stainless-.*|idempotency-key|proxy-.*"
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,998}[\x21-\x7e])?")
_KEYS = "put keys into OPENAI_API_KEY or ANTHROPIC_API_KEY, which are never stored"
_SCHEMES = re.compile(r"(?:bearer|basic|digest)\s|sk-", re.IGNORECASE)


def _is_not_set(value: object) -> bool:
    return not isinstance(value, int | float) and not value


def _texts(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Stop = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ModelSettings(Config):
    """The settings of a model's calls. For a missing setting, the provider's default applies."""

    temperature: Annotated[float, Field(strict=True, ge=0, le=2, allow_inf_nan=False)] | None = Field(
        default=None, exclude_if=_is_not_set
    )
    """How random the choice of words is, from 0 to 2."""
    top_p: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None, exclude_if=_is_not_set
    )
    """The share of the likeliest words from which the model chooses: above 0, at most 1."""
    seed: Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)] | None = Field(default=None, exclude_if=_is_not_set)
    """A number with which a provider tries to give the same reply each time."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, exclude_if=_is_not_set
    )
    """How much the model reasons before it writes."""
    verbosity: Literal["low", "medium", "high"] | None = Field(default=None, exclude_if=_is_not_set)
    """How much the model writes."""
    stop: Annotated[tuple[Stop, ...], BeforeValidator(_texts), Field(max_length=4)] = Field(
        default=(), exclude_if=_is_not_set
    )
    """Up to four texts. The reply ends as soon as the model writes one of them."""
    context_window: Annotated[int, Field(strict=True, ge=1, le=10**9)] | None = Field(
        default=None, exclude_if=_is_not_set
    )
    """The largest number of tokens in a prompt and its reply together. A longer prompt is not sent. If the setting is
    missing, Replan asks the server. The setting is not sent.
    """
    compact: Annotated[bool, Field(strict=True)] = Field(default=False, exclude_if=operator.not_)
    """Whether the shorter texts of prompts are used, for a model with a small context window. The setting is not
    sent."""
    extra_body: Mapping[str, Any] = Field(default_factory=dict, exclude_if=_is_not_set)
    """Further fields of the request's body, except fields that the client sets itself."""
    extra_headers: Mapping[str, str] = Field(default_factory=dict, max_length=HEADERS_MAX, exclude_if=_is_not_set)
    """Further headers of the request. They are stored with the run, so names of secrets are refused."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    close = near(str(key), cls.model_fields)
                    listed = f"settings: {', '.join(cls.model_fields)}"
                    raise config_error(f"{UNKNOWN} {str(key)[:60]!r}", (str(key),), f"{close} {listed}".strip())
        return data

    @field_validator("extra_body")
    @classmethod
    def _body(cls, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in fields:
            if name in cls.model_fields:
                raise config_error(f"{name!r} must not be in extra_body", (name,), f"set {name} beside extra_body")
            if name in _CLIENT:
                raise config_error(f"{name!r} is set by the client, or changes what a call costs", (name,), "remove it")
        for name, value in _leaves(fields):
            if _SECRET_FIELD.search(name.lower()) or (isinstance(value, str) and _SCHEMES.match(value)):
                raise config_error(f"{name!r} holds a secret, and settings are stored", (), _KEYS)
        try:
            size = len(json.dumps(dict(fields), allow_nan=False))
        except (TypeError, ValueError):
            raise config_error(
                "a value is not JSON", (), "use texts, numbers, true, false, null, lists and mappings"
            ) from None
        if size > EXTRA_BYTES_MAX:
            raise config_error(f"has more than {EXTRA_BYTES_MAX:,} bytes", (), "leave out what is not needed")
        return fields

    @field_validator("extra_headers")
    @classmethod
    def _headers(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in headers.items():
            if _HEADER_NAME.fullmatch(name) is None:
                raise config_error(
                    f"{name[:64]!r} is not a valid header name", (name,), "use letters, digits and dashes"
                )
            if _CLIENT_HEADERS.fullmatch(name.lower()):
                raise config_error(f"{name!r} is set by the client itself", (name,), "remove it")
            if _SECRET_HEADER.search(name.lower()) or _SCHEMES.match(value):
                raise config_error(f"{name!r} holds a secret, and settings are stored", (name,), _KEYS)
            if _HEADER_VALUE.fullmatch(value) is None:
                hint = "use 1 to 1,000 printable ASCII characters, without blanks at the beginning or the end"
                raise config_error(f"the value of {name!r} cannot be sent", (name,), hint)
        return headers

    @property
    def body(self) -> dict[str, Any]:
        """The fields of a request's body, by their names."""
        if not self:
            return {}
        named = self.model_dump(mode="json", exclude={*EXTRAS, *OWN})
        return {**named, **self.extra_body}

    def __bool__(self) -> bool:
        return self.__dict__ != _NOTHING_SET

    def apply_patch(self, patch: Mapping[str, Any]) -> "ModelSettings":
        """Return the settings after a change from `check_settings`. None removes a setting.

        Extra fields and headers are added to the present ones.
        """
        fields = self.model_dump()
        for name, value in patch.items():
            fields[name] = {**fields.get(name, {}), **value} if name in EXTRAS and value is not None else value
        return ModelSettings.model_validate({name: value for name, value in fields.items() if value is not None})

    def fill_from(self, other: "ModelSettings") -> "ModelSettings":
        """Return these settings, with the values of `other` for settings that are missing here."""
        return other.apply_patch(self.model_dump())


_NOTHING_SET = ModelSettings.model_construct().__dict__


def check_settings(value: object, *, place: str = KEY) -> dict[str, Any]:
    """Check a change of settings, and return the new values by name. A value of None removes the setting.

    `value` is a mapping, a text `NAME=VALUE`, or several of these texts. `VALUE` is read as JSON; if it is not JSON, it
    is text.

    Raises:
        UsageProblem: a setting is unknown, or a value is invalid. The error has `place` as its place.
    """
    patch = dict(value) if isinstance(value, Mapping) else dict(_pairs(value, place))
    removed = {name: None for name, item in patch.items() if item is None and name in ModelSettings.model_fields}
    try:
        settings = ModelSettings.model_validate({name: item for name, item in patch.items() if name not in removed})
    except ValidationError as error:
        raise _settings_problem(error, patch, place) from None
    return settings.model_dump(mode="json") | removed


def _settings_problem(error: ValidationError, patch: dict[str, Any], place: str) -> UsageProblem:
    """Return the first of the errors as a `UsageProblem` whose cause names the setting."""
    problem = usage_problem(error, ParsedFile(place, patch))
    cause = problem.cause
    if not cause.startswith(UNKNOWN):  # Otherwise the cause has the name.
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, (*first["loc"], *first.get("ctx", {}).get("path", ()))))
        name = "".join(character if character.isprintable() else "?" for character in path[:NAME_SHOWN_MAX])
        cause = f"{name}: {cause}"
    return UsageProblem(cause, place=place, hint=problem.hint or "remove it to use the provider's value")


def words_of(text: str, place: str = KEY) -> list[str]:
    """Split the text of a web form's field into `NAME=VALUE` words.

    Raises `UsageProblem` if a quotation mark is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError:
        raise UsageProblem("a quotation mark is not closed", place=place, hint="write NAME=VALUE") from None


def _pairs(value: object, place: str) -> Iterable[tuple[str, Any]]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Iterable):
        raise UsageProblem(
            "the settings must be a mapping of names to values", place=place, hint="such as temperature=0.2"
        )
    for text in texts:
        name, sign, rest = str(text).partition("=")
        if not sign:
            raise UsageProblem(
                f"{str(text)[:60]!r} is not a setting with a value", place=place, hint="write NAME=VALUE"
            )
        try:
            yield name.strip(), json.loads(rest)
        except ValueError:
            yield name.strip(), rest


def _leaves(fields: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """Yield every value within `fields`, with the nearest key above the value.

    Raises an error if a value is nested too deeply.
    """
    left: list[tuple[str, object, int]] = [(str(key), value, 1) for key, value in fields.items()]
    while left:
        name, value, depth = left.pop()
        yield name, value
        if depth > DEPTH_MAX:
            raise config_error(f"is nested more than {DEPTH_MAX} levels deep", (), "leave out what is not needed")
        if isinstance(value, Mapping):
            left += [(str(key), below, depth + 1) for key, below in value.items()]
        elif isinstance(value, list | tuple):
            left += [(name, below, depth + 1) for below in value]
