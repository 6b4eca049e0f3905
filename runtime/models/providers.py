"""The providers of models: their keys, addresses, settings and prompt caches."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import SplitResult, urlsplit

from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from runtime.models.port import ModelRequest


OPENAI_URL = "https://api.openai.com/v1"
"""The base URL of OpenAI, which is used if no URL is set."""
ANTHROPIC_URL = "https://api.anthropic.com"
"""The base URL of Anthropic. It has no version, because the paths of Anthropic's interface contain the version."""

CALL_SECONDS = 120.0
"""The time limit of one call, in seconds, if no other limit is set."""
LOCAL_CALL_SECONDS = 600.0
"""The time limit, in seconds, of one call to a server on this machine or in a private network. Such a server may first
have to load the model, and may write slowly.
"""

_HOST_MAX = 253
_REGION = re.compile("[a-z0-9-]{1,40}")
_PRIVATE = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",  # RFC 1918
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",  # link-local, RFC 3927
            "fc00::/7",  # unique local, RFC 4193
            "fe80::/10",  # link-local, RFC 4291
        ),
    )
)
"""The networks whose addresses count as private. `ipaddress.is_private` is not used, because it also accepts reserved
addresses and addresses for examples. It even accepts Teredo addresses, which leave the network.
"""


def check_base_url(text: str, *, place: str = "OPENAI_BASE_URL") -> str:
    """Return the base URL without its trailing slash.

    The URL must be `https`, or plain `http` to this machine or to a private address in digits. A host's name could
    resolve to any address, and the key and the prompt would be sent there unencrypted.

    Raises:
        UsageProblem: the URL is not valid. The error names `place`, but not the URL, which may contain a password.
    """
    try:
        parts = urlsplit(text.strip())
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UsageProblem("not a URL with a valid host and port", place=place, hint=f"such as {OPENAI_URL}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageProblem("not an http or https URL", place=place, hint=f"such as {OPENAI_URL}")
    if not is_name(host):
        raise UsageProblem("the host's name is not valid", place=place, hint=f"such as {OPENAI_URL}")
    if "@" in parts.netloc:
        raise UsageProblem("contains a user name or password", place=place, hint="put the key into OPENAI_API_KEY")
    if parts.query or parts.fragment:
        raise UsageProblem("contains a query or fragment", place=place, hint="end the URL after its path, such as /v1")
    if any(character.isspace() or not character.isprintable() for character in parts.geturl()):
        raise UsageProblem("contains white space or control characters", place=place, hint=f"such as {OPENAI_URL}")
    if parts.scheme == "http" and not is_local(host):
        raise UsageProblem(
            "plain http would send the key and the prompt unencrypted",
            place=place,
            hint="use https, localhost, or a private address in digits such as 192.168.1.5",
        )
    return _url_without_last_slash(parts)


def server_address(base_url: str, *, place: str) -> str:
    """Return the host and the port of a server, such as `api.openai.com:443`; this machine is always `localhost`.

    Raises the errors of `check_base_url`.
    """
    parts = urlsplit(check_base_url(base_url, place=place))
    host = parts.hostname or ""
    host = "localhost" if is_loopback(host) else f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def check_key(text: str, *, place: str) -> str:
    """Return an API key without the white space around it. Raises `UsageProblem` for a text that cannot be a key."""
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageProblem("contains characters that are not allowed in a key", place=place, hint="copy the key again")
    return key


def is_name(host: str) -> bool:
    """Return whether a host's name can be resolved: no label is empty or too long (RFC 1035, 2.3.4)."""
    try:
        return bool(host.encode("idna")) and len(host) <= _HOST_MAX
    except UnicodeError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether the host is this machine: `localhost`, a loopback address, or the unspecified address.

    Subdomains of `localhost` do not count. RFC 6761
    reserves them for this machine, but some resolvers ask a name server.
    """
    name = host.lower().rstrip(".")
    address = _address(name)
    return name == "localhost" or (address is not None and (address.is_loopback or address.is_unspecified))


def call_seconds(base_url: str) -> float:
    """Return the usual time limit of one call to a server, in seconds. `base_url` need not be a valid URL."""
    try:
        host = urlsplit(base_url.strip()).hostname or ""
    except ValueError:
        return CALL_SECONDS
    return LOCAL_CALL_SECONDS if is_local(host) else CALL_SECONDS


def is_local(host: str) -> bool:
    """Return whether the host is this machine, or a numeric address of a private network."""
    address = _address(host)
    return is_loopback(host) or (
        address is not None and any(address.version == net.version and address in net for net in _PRIVATE)
    )


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address in a host; None if the host is a name. An IPv4 address in IPv6 form is returned as IPv4."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _url_without_last_slash(parts: SplitResult) -> str:
    return parts._replace(path=parts.path.rstrip("/")).geturl()


ProviderName = Literal[
    "openai",
    "openai-responses",
    "anthropic",
    "openrouter",
    "gemini",
    "azure",
    "bedrock",
    "litellm",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
]
"""The names of providers. `openai` also stands for every server with OpenAI's chat completions that has no name of its
own.
"""
Interface = Literal["chat", "responses", "messages"]
"""The interface of a model server: OpenAI's chat completions, OpenAI's Responses API, or Anthropic's Messages API."""


ANTHROPIC_VERSION = "2026-10-21"
"""The version of Anthropic's interface. Anthropic's client library sends the same version."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models. One provider stands for all servers that are compatible with its interface."""

    name: ProviderName
    key: str
    address: str
    url: str
    """The base URL if the variable `address` is not set; empty if it must be set. `{}` stands for the value of the
    variable `region`.
    """
    title: str
    interface: Interface = "chat"
    responses: tuple[str, ...] = ()
    """Patterns of model names. At the provider's own base URL, matching models are called by the Responses API."""
    model: str = ""
    """The model that messages use as an example; empty if only the server knows its models."""
    port: int = 0
    """The usual port of a local server, which needs no key; 0 for an online service."""
    path: str = ""
    region: str = ""
    not_taken: tuple[str, ...] = ()
    """The names of the call settings that the interface does not accept."""
    efforts: tuple[str, ...] = ()
    """The values of `reasoning_effort` that the interface accepts; empty if they are unknown."""
    traced_as: str = ""
    """The name of the provider in OpenTelemetry's conventions; empty if it is the same as `name`."""

    def is_configured(self, environment: Mapping[str, str]) -> bool:
        """Return whether the environment sets an address or the key. A local server needs neither."""
        has_key = bool(environment.get(self.key) or self.port)
        return bool(environment.get(self.address)) or (bool(self.url_in(environment)) and has_key)

    def url_in(self, environment: Mapping[str, str]) -> str:
        """Return the base URL; empty if it needs a region that the environment lacks."""
        address = environment.get(self.address)
        if address:
            return address.rstrip("/").removesuffix(self.path) + self.path
        region = environment.get(self.region, "").strip()
        return self.url.replace("{}", region) if _REGION.fullmatch(region) or "{}" not in self.url else ""

    def interface_of(self, model: str, environment: Mapping[str, str]) -> Interface:
        """Return the interface by which a model is called."""
        if self.url and self.url_in(environment) == self.url:
            return "responses" if any(fnmatchcase(model, form) for form in self.responses) else self.interface
        return self.interface

    def refused_settings(self, fields: Mapping[str, Any]) -> list[str]:
        """Return the names of those settings that the interface does not accept.

        If it only rejects a value, this has the form `NAME=VALUE`.
        """
        refused = [name for name in self.not_taken if fields.get(name) is not None]
        effort = fields.get("reasoning_effort")
        if effort is not None and self.efforts and effort not in self.efforts:
            refused.append(f"reasoning_effort={effort}")
        return refused


def _own_server(name: ProviderName, title: str, port: int) -> Provider:
    upper = name.upper()
    return Provider(name, f"{upper}_API_KEY", f"{upper}_BASE_URL", f"http://127.0.0.1:{port}/v1", title, port=port)


PROVIDERS: Mapping[ProviderName, Provider] = {
    "openai": Provider(
        "openai",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        OPENAI_URL,
        "OpenAI",
        model="gpt-5-mini",
        # These have no chat completions, or reason worse there.
        responses=("gpt-5.[6-9]*", "gpt-[6-9]*", "*-pro", "*-pro-20*", "*codex*", "*deep-research*"),
    ),
    "openai-responses": Provider(
        "openai-responses",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        OPENAI_URL,
        "OpenAI's Responses API",
        interface="responses",
        model="gpt-5-mini",
        not_taken=("stop", "seed"),
        traced_as="openai",
    ),
    "anthropic": Provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        ANTHROPIC_URL,
        "Anthropic",
        interface="messages",
        model="claude-sonnet-5",
        # The first two ended with the version of the Messages API of October 2026.
        not_taken=("temperature", "top_p", "seed", "verbosity"),
        efforts=("low", "medium", "high", "xhigh", "max"),
    ),
    "openrouter": Provider(
        "openrouter",
        "OPENROUTER_API_KEY",
        "OPENROUTER_BASE_URL",
        "https://openrouter.ai/api/v1",
        "OpenRouter",
        model="openai/gpt-5-mini",
    ),
    "gemini": Provider(
        "gemini",
        "GEMINI_API_KEY",
        "GEMINI_BASE_URL",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "Gemini",
        model="gemini-flash-latest",
        not_taken=("seed", "verbosity"),
        traced_as="gcp.gemini",
    ),
    "azure": Provider(
        "azure",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
        "",
        "Azure OpenAI",
        path="/openai/v1",
        traced_as="azure.ai.openai",
    ),
    "bedrock": Provider(
        "bedrock",
        "AWS_BEARER_TOKEN_BEDROCK",
        "BEDROCK_BASE_URL",
        "https://bedrock-runtime.{}.amazonaws.com/openai/v1",
        "Amazon Bedrock",
        region="AWS_REGION",
        traced_as="aws.bedrock",
    ),
    "litellm": _own_server("litellm", "LiteLLM", 4000),
    "ollama": _own_server("ollama", "Ollama", 11434),
    "lmstudio": _own_server("lmstudio", "LM Studio", 1234),
    "llamacpp": _own_server("llamacpp", "llama.cpp", 8080),
    "vllm": _own_server("vllm", "vLLM", 8000),
}
"""The providers by name. A model of `openai` has no prefix."""


PromptCache = Literal["auto", "on", "off"]
"""Which servers get the request fields for the prompt cache: all servers (`on`), none (`off`), or only OpenAI's and
Anthropic's own servers (`auto`)."""
VARIABLE = "REPLAN_PROMPT_CACHE"
"""The environment variable whose value is a `PromptCache`, such as `off`."""

_MARK: Mapping[str, Any] = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_MARKED_FROM = (5, 6)
_GPT = re.compile(r"(?:.*[/:])?gpt-(\d{1,3})(?:\.(\d{1,3}))?(?:[-:@].*)?")


def prompt_cache_of(environment: Mapping[str, str]) -> PromptCache:
    """Return the setting of the prompt cache from the environment, by default `auto`.

    Raises `UsageProblem` for an unknown value.
    """
    text = environment.get(VARIABLE, "").strip().lower() or "auto"
    if text not in get_args(PromptCache):
        raise UsageProblem(f"{text[:40]!r} is unknown", place=VARIABLE, hint="use auto, on or off")
    return cast("PromptCache", text)


def sends_cache_fields(setting: PromptCache, base_url: str) -> bool:
    """Return whether the cache fields are sent to a server.

    With `auto`, only OpenAI's and Anthropic's own servers get these fields, because other servers may refuse unknown
    fields.
    """
    return setting == "on" or (setting == "auto" and base_url in (OPENAI_URL, ANTHROPIC_URL))


def matches_marks_only(model: str) -> bool:
    """Return whether a model's prompt cache matches only prefixes that a request has marked.

    This is so for GPT-5.6 and later models. The model's name may begin with the name of a provider.
    """
    matched = _GPT.fullmatch(model)
    return matched is not None and (int(matched[1]), int(matched[2] or 0)) >= _MARKED_FROM


def with_cache_fields(body: Mapping[str, Any], request: "ModelRequest", *, marked: bool) -> dict[str, Any]:
    """Return the body of a request to an OpenAI interface with the run's cache key, and with marks if `marked` is true.

    One mark is at the end of the system message. The other marks are at the ends of the prefixes of the user message
    that later requests may repeat. The provider accepts four marks. The provider's default mark at the end of the
    prompt is disabled, because no other prompt begins with this whole prompt.
    """
    fields = dict(body)
    if request.run:
        fields["prompt_cache_key"] = request.run  # At most 64 characters, as OpenAI demands and `RUN_ID` says.
    if marked and request.repeated:
        ends = {"system": (len(request.system),), "user": request.repeated}
        name, kind = ("messages", "text") if "messages" in body else ("input", "input_text")
        fields["prompt_cache_options"] = {"mode": "explicit"}
        fields[name] = [
            {**item, "content": _parts(kind, item["content"], ends.pop(item["role"]))}
            if item.get("role") in ends
            else item
            for item in body[name]
        ]
    return fields


def _parts(kind: str, text: str, ends: Sequence[int]) -> list[dict[str, Any]]:
    """Split a message's text at the positions `ends`, and mark each part.

    The part after the last position gets no mark.
    """
    marked = [{"type": kind, "text": text[start:end], **_MARK} for start, end in pairwise((0, *ends))]
    rest = text[ends[-1] :]
    return [*marked, {"type": kind, "text": rest}] if rest else marked
