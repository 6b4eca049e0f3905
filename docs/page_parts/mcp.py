"""The parts of the page about the MCP server."""

from page_parts.markdown import table
from replan.mcp.resources import RESOURCES, TEMPLATES
from replan.mcp.toolbox import offered


def tools() -> str:
    """Return the table of tools."""
    rows = []
    for operation, tool in offered(allow_execute=True).values():
        schema = tool.takes.model_json_schema()
        needed = schema.get("required", [])
        names = ", ".join(f"`{key}`{' (needed)' if key in needed else ''}" for key in schema["properties"])
        rows.append((f"`{tool.name}`", f"`{operation.scope}`", tool.description, names))
    return table(("Tool", "Scope", "What it does", "Arguments"), rows)


def resources() -> str:
    """Return the table of resources."""
    rows = [(f"`{each.uri}`", each.description or "") for each in RESOURCES]
    rows += [(f"`{each.uri_template}`", each.description or "") for each in TEMPLATES]
    return table(("Resource", "What it is"), rows)


PARTS = {"mcp-tools": tools, "mcp-resources": resources}
