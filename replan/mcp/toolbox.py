"""The server's tools, as the table of operations has them."""

from collections.abc import Mapping

from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations

from replan.service.operations import OPERATIONS, Operation, Tool


def offered(*, allow_execute: bool) -> Mapping[str, tuple[Operation, Tool]]:
    """Return the tools of a server by name, each with its operation."""
    return {
        operation.mcp.name: (operation, operation.mcp)
        for operation in OPERATIONS
        if operation.mcp is not None and (allow_execute or not operation.executes)
    }


def listed(operation: Operation, tool: Tool) -> ListedTool:
    """Return a tool as clients list it. The annotations are hints; the scope is what counts."""
    gives = operation.gives
    assert not isinstance(gives, str), "a tool returns an object"
    annotations = ToolAnnotations(
        title=tool.title,
        read_only_hint=not operation.writes,
        destructive_hint=tool.destroys if operation.writes else None,
        idempotent_hint=tool.repeats if operation.writes else None,
        open_world_hint=operation.executes,
    )
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes.model_json_schema(),
        output_schema=gives.model_json_schema(mode="serialization"),
        annotations=annotations,
    )
