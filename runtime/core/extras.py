"""What the other distributions of Replan bring, so that who lacks one is told the command that installs it."""

from collections.abc import Mapping

BROUGHT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "server": {
        "commands": ("mcp", "serve", "telemetry", "token", "worker"),
        "journals": ("postgres", "postgresql"),
        "services": ("health", "telemetry", "webhooks"),
        "settings": ("answer_links", "people", "proxies", "reminders", "senders", "webhooks"),
    },
    "acquire": {
        "commands": ("acquire",),
        "kinds": ("acquisition",),
        "models": ("quoting",),
        "settings": ("acquisitions", "search"),
    },
    "lab": {"commands": ("lab",), "models": ("planner", "simulated")},
}
"""The names that each extra of `replan` brings, by their entry point group without `replan.`."""


SERVICE_VARIABLES = ("OTEL_",)
"""The beginnings of the environment variables that ask for a service."""


def how_to_install(group: str, name: str) -> str:
    """Return the command that installs the extra with a plug-in; empty if no extra has it.

    The plug-in has this name in this entry point group.
    """
    extra = next((extra for extra, brought in BROUGHT.items() if name in brought.get(group, ())), None)
    return "" if extra is None else install_command(extra)


def install_command(extra: str, part: str = "") -> str:
    """Return the command that adds an extra to this installation, from where it was installed.

    A folder or an archive is named as such: on an index, the name `replan` may belong to somebody else. An extra that
    is a distribution of its own is installed from a checkout by its folder, with its own extra `part`.
    """
    import json  # noqa: PLC0415 - most commands need no hint
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        url = str(json.loads(distribution("replan").read_text("direct_url.json") or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        url = ""
    source = unquote(urlsplit(url).path) if url.startswith("file:") else url
    if (own := Path(source, "packages", extra)).is_dir():
        return f"pip install '{own}[{part}]'" if part else f"pip install {own}"
    requirement = f"{source}[{extra}]" if not url or url.startswith("file:") else f"replan[{extra}] @ {url}"
    return f"pip install '{requirement if source else f'replan[{extra}]'}'"
