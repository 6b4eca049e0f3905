"""What the other distributions of Replan bring, so that who lacks one is told the command that installs it."""

from collections.abc import Mapping

from runtime.core.errors import install_command

BROUGHT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "server": {
        "commands": ("mcp", "serve", "telemetry", "token", "worker"),
        "journals": ("postgres", "postgresql"),
        "settings": ("answer_links", "people", "proxies", "reminders", "senders", "webhooks"),
    },
    "acquire": {
        "commands": ("acquire",),
        "kinds": ("acquisition",),
        "models": ("quoting",),
        "settings": ("search",),
    },
    "lab": {"commands": ("lab",), "models": ("simulated",)},
}
"""The names that each extra of `replan` brings, by their entry point group without `replan.`."""


def how_to_install(group: str, name: str) -> str:
    """Return the command that installs what brings a name of a group; empty for an unknown name."""
    extra = next((extra for extra, brought in BROUGHT.items() if name in brought.get(group, ())), None)
    return "" if extra is None else install_command(extra)
