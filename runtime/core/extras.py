"""The extras of Replan, and the commands that install them. An extra installs a further distribution of Replan."""

from collections.abc import Mapping

EXTRAS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
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
"""A mapping from an extra of `replan` to the groups and names of the entry points that the extra adds. The groups lack
the prefix `replan.`.
"""

SERVICE_VARIABLES = ("OTEL_",)
"""The prefixes of the names of environment variables that configure a service."""


def how_to_install(group: str, name: str) -> str:
    """Return the command that installs a missing plug-in; empty if no extra of Replan contains the plug-in.

    `group` is a key of `EXTRAS`, and `name` the name of the plug-in's entry point.
    """
    extra = next((extra for extra, groups in EXTRAS.items() if name in groups.get(group, ())), None)
    return "" if extra is None else install_command(extra)


def install_command(extra: str, part: str = "") -> str:
    """Return the command that installs an extra from the same source as this installation.

    The command names a folder or an archive, because another project may own the name `replan` on a package index. In a
    checkout, the command names the folder of the distribution that the extra installs. `part` is an extra of that
    distribution.
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
