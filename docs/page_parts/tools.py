"""The keys of tools files, as the reference shows them."""

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from actors.tools.parameters import ChoiceParameter, IntegerParameter, PathParameter, StringParameter
from actors.tools.tools_file import (
    CommandTool,
    HumanTool,
    McpServer,
    McpTool,
    ModelFile,
    ModelTool,
    PythonTool,
    RemoteTool,
    ToolsFile,
)

MODELS: Mapping[str, type[BaseModel]] = {
    "tools-file-keys": ToolsFile,
    "command-tool-keys": CommandTool,
    "python-tool-keys": PythonTool,
    "mcp-server-keys": McpServer,
    "mcp-tool-keys": McpTool,
    "remote-tool-keys": RemoteTool,
    "model-tool-keys": ModelTool,
    "model-file-keys": ModelFile,
    "human-tool-keys": HumanTool,
    "string-parameter-keys": StringParameter,
    "integer-parameter-keys": IntegerParameter,
    "path-parameter-keys": PathParameter,
    "choice-parameter-keys": ChoiceParameter,
}
"""The models by the name of their table."""


def parts(keys: Callable[[type[BaseModel]], str]) -> dict[str, Callable[[], str]]:
    """Return the tables by name; `keys` makes one of a model."""
    return {name: lambda model=model: keys(model) for name, model in MODELS.items()}  # type: ignore[misc]
