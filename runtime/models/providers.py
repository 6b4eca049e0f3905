"""The providers of models: where each has its key and address, and which settings of calls it does not take. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runtime.models.base_url import ANTHROPIC_URL, OPENAI_URL

ProviderName = Literal["openai", "anthropic", "azure", "gemini", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm"]
"""`openai` also stands for every server with OpenAI's chat completions that has no name here."""


ANTHROPIC_VERSION = "2026-10-21"
"""The version of Anthropic's interface, as its client sends it too."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models, or the servers with its interface."""

    name: ProviderName
    """Its name, which stands before the names of its models."""
    key: str
    """The environment variable of its key."""
    address: str
    """The environment variable of the address of another server."""
    url: str
    """The base URL where that is not set; empty where it must be set."""
    title: str
    """Its name for people."""
    interface: Literal["openai", "anthropic"] = "openai"
    """Whether its models are called by OpenAI's chat completions or by Anthropic's Messages API."""
    model: str = ""
    """A model that it has, to offer to a person; empty where only the server can say."""
    port: int = 0
    """The usual port on this machine of a server of one's own, which needs no key; 0 for a service."""
    path: str = ""
    """What is added to the address."""
    not_taken: tuple[str, ...] = ()
    """The settings of calls that its interface does not have."""
    efforts: tuple[str, ...] = ()
    """The values of `reasoning_effort` that its interface has; none where the server decides."""

    def is_configured(self, environment: Mapping[str, str]) -> bool:
        """Tell whether a key or an address is set; a server on this machine needs neither."""
        has_key = bool(environment.get(self.key) or self.port)
        return bool(environment.get(self.address)) or (bool(self.url) and has_key)

    def url_in(self, environment: Mapping[str, str]) -> str:
        """Return the base URL, as the environment says."""
        address = environment.get(self.address)
        return address.rstrip("/") + self.path if address else self.url

    def refused_settings(self, fields: Mapping[str, Any]) -> list[str]:
        """Return the settings among fields that are not taken, with the value where that is the cause."""
        refused = [name for name in self.not_taken if fields.get(name) is not None]
        effort = fields.get("reasoning_effort")
        if effort is not None and self.efforts and effort not in self.efforts:
            refused.append(f"reasoning_effort={effort}")
        return refused


def _own_server(name: ProviderName, title: str, port: int) -> Provider:
    upper = name.upper()
    return Provider(name, f"{upper}_API_KEY", f"{upper}_BASE_URL", f"http://127.0.0.1:{port}/v1", title, port=port)


PROVIDERS: Mapping[ProviderName, Provider] = {
    "openai": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", OPENAI_URL, "OpenAI", model="gpt-5-mini"),
    "anthropic": Provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        ANTHROPIC_URL,
        "Anthropic",
        interface="anthropic",
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
    ),
    "azure": Provider("azure", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "", "Azure OpenAI", path="/openai/v1"),
    "ollama": _own_server("ollama", "Ollama", 11434),
    "lmstudio": _own_server("lmstudio", "LM Studio", 1234),
    "llamacpp": _own_server("llamacpp", "llama.cpp", 8080),
    "vllm": _own_server("vllm", "vLLM", 8000),
}
"""The providers by name. A model of `openai` has no prefix."""
