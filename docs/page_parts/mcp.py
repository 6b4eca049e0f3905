"""The parts of the page about the MCP server."""

from page_parts.markdown import arguments
from replan_server.mcp.server import RESOURCES, TEMPLATES, offered_tools


def tools() -> str:
    """Return the list of tools."""
    rows = []
    for operation, tool in offered_tools(allow_execute=True).values():
        schema = tool.takes.model_json_schema()
        takes = arguments(schema["properties"], schema.get("required", []))
        rows.append(f"- `{tool.name}` (`{operation.scope}`): {tool.description} *Takes* {takes}.")
    return "\n".join(rows)


def resources() -> str:
    """Return the list of resources."""
    rows = [f"- `{each.uri}`: {each.description or ''}" for each in RESOURCES]
    rows += [f"- `{each.uri_template}`: {each.description or ''}" for each in TEMPLATES]
    return "\n".join(rows)


PARTS = {"mcp-tools": tools, "mcp-resources": resources}
