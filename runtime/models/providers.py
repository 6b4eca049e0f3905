"""The providers of models: where each has its key and address, and which settings of calls it does not take. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runtime.models.base_url import ANTHROPIC_URL, OPENAI_URL

ProviderName = Literal["openai", "anthropic"]
"""`openai` stands for every server with OpenAI's chat completions."""


ANTHROPIC_VERSION = "2026-10-21"
"""The version of Anthropic's interface, as its client sends it too."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models, or the servers with its interface."""

    name: ProviderName
    """Its name, as OpenTelemetry's conventions have it."""
    key: str
    """The environment variable of its key."""
    address: str
    """The environment variable of the address of another server."""
    url: str
    """The base URL where that is not set."""
    not_taken: tuple[str, ...] = ()
    """The settings of calls that its interface does not have."""
    efforts: tuple[str, ...] = ()
    """The values of `reasoning_effort` that its interface has; none where the server decides."""

    def is_configured(self, environment: Mapping[str, str]) -> bool:
        """Tell whether a key or an address is set; a server of one's own needs no key."""
        return bool(environment.get(self.key) or environment.get(self.address))

    def url_in(self, environment: Mapping[str, str]) -> str:
        """Return the base URL, as the environment says."""
        return environment.get(self.address) or self.url

    def refused_settings(self, fields: Mapping[str, Any]) -> list[str]:
        """Return the settings among fields that are not taken, with the value where that is the cause."""
        refused = [name for name in self.not_taken if fields.get(name) is not None]
        effort = fields.get("reasoning_effort")
        if effort is not None and self.efforts and effort not in self.efforts:
            refused.append(f"reasoning_effort={effort}")
        return refused


PROVIDERS: Mapping[ProviderName, Provider] = {
    "openai": Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", OPENAI_URL),
    "anthropic": Provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        ANTHROPIC_URL,
        # The first two ended with the version of the Messages API of October 2026.
        not_taken=("temperature", "top_p", "seed", "verbosity"),
        efforts=("low", "medium", "high", "xhigh", "max"),
    ),
}
"""The providers by name. A model of `openai` has no prefix."""
