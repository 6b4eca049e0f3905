"""The table of what a user can do through each face, each with its test."""

from collections.abc import Callable, Mapping

from page_parts.markdown import read, table

FACES = {"command": "Command", "http": "HTTP operation", "mcp": "MCP tool", "python": "Python function"}
"""The sections of `functions.yaml`, and the heads of their tables."""


def functions() -> str:
    """Return one table for each face."""
    entries = read("functions.yaml")
    return "\n\n".join(table((head, "Test"), _rows(entries[face])) for face, head in FACES.items())


def _rows(entries: Mapping[str, str | Mapping[str, str]]) -> list[tuple[str, str]]:
    return [
        (f"`{name}`", f"`{entry}`" if isinstance(entry, str) else f"gone: {entry['gone']}")
        for name, entry in entries.items()
    ]


PARTS: Mapping[str, Callable[[], str]] = {"functions": functions}
"""The tables by the name in the mark."""
