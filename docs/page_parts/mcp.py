"""The parts of the page about the MCP server."""

from page_parts.markdown import table
from replan_server.mcp.server import RESOURCES, TEMPLATES, offered_tools


def tools() -> str:
    """Return the tools: the scope of each, and the first sentence of its description."""
    offered = offered_tools(allow_execute=True).values()
    rows = ((f"`{tool.name}`", f"`{operation.scope}`", _first(tool.description)) for operation, tool in offered)
    return table(("Tool", "Scope", "What it does"), rows)


def _first(text: str) -> str:
    first, _, _ = text.partition(". ")
    return f"{first.removesuffix('.')}."


def resources() -> str:
    """Return the list of resources."""
    rows = [f"- `{each.uri}`: {each.description or ''}" for each in RESOURCES]
    rows += [f"- `{each.uri_template}`: {each.description or ''}" for each in TEMPLATES]
    return "\n".join(rows)


PARTS = {"mcp-tools": tools, "mcp-resources": resources}
