"""The lists of what a user can do through each face, each with its test."""

from collections.abc import Callable, Mapping

from page_parts.markdown import read

FACES = {"command": "Commands", "http": "HTTP operations", "mcp": "MCP tools", "python": "Python functions"}
"""The sections of `functions.yaml`, and their headings."""


def functions() -> str:
    """Return one list for each face."""
    entries = read("functions.yaml")
    return "\n\n".join(f"## {head}\n\n{_rows(entries[face])}" for face, head in FACES.items())


def _rows(entries: Mapping[str, str | Mapping[str, str]]) -> str:
    return "\n".join(f"- `{name}`: {_test(entry)}" for name, entry in entries.items())


def _test(entry: str | Mapping[str, str]) -> str:
    return f"`{entry}`" if isinstance(entry, str) else f"gone: {entry['gone']}"


PARTS: Mapping[str, Callable[[], str]] = {"functions": functions}
"""The lists by the name in the mark."""
