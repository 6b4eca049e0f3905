"""The keys of tools files, as the reference shows them."""

from collections.abc import Callable, Mapping
from functools import partial

from pydantic import BaseModel

from actors.tools.bindings_config import StepTokens
from actors.tools.parameters import ChoiceParameter, IntegerParameter, PathParameter, StringParameter
from actors.tools.tools_file import (
    AgentCommand,
    AgentTool,
    CommandTool,
    HumanTool,
    McpServer,
    McpTool,
    ModelFile,
    ModelTool,
    PluginTool,
    PythonTool,
    RemoteTool,
    ToolsFile,
)

CALLED = frozenset(CommandTool.model_fields) & frozenset(PythonTool.model_fields) & frozenset(McpTool.model_fields)
"""The keys of every tool that is called: a command, a function, a tool of a server."""
PARAMETER = frozenset(StringParameter.model_fields) & frozenset(PathParameter.model_fields)
"""The keys of every parameter."""
MODELS: Mapping[str, tuple[type[BaseModel], frozenset[str]]] = {
    "tools-file-keys": (ToolsFile, frozenset()),
    "declared-step-keys": (StepTokens, frozenset()),
    "called-tool-keys": (CommandTool, frozenset(CommandTool.model_fields) - CALLED),
    "command-tool-keys": (CommandTool, CALLED),
    "python-tool-keys": (PythonTool, CALLED),
    "plugin-tool-keys": (PluginTool, CALLED),
    "mcp-server-keys": (McpServer, frozenset()),
    "mcp-tool-keys": (McpTool, CALLED),
    "remote-tool-keys": (RemoteTool, frozenset()),
    "model-tool-keys": (ModelTool, CALLED),
    "model-file-keys": (ModelFile, frozenset()),
    "agent-tool-keys": (AgentTool, CALLED),
    "agent-command-keys": (AgentCommand, frozenset()),
    "human-tool-keys": (HumanTool, frozenset()),
    "parameter-keys": (StringParameter, frozenset(StringParameter.model_fields) - {"default"}),
    "string-parameter-keys": (StringParameter, PARAMETER),
    "integer-parameter-keys": (IntegerParameter, PARAMETER),
    "path-parameter-keys": (PathParameter, PARAMETER),
    "choice-parameter-keys": (ChoiceParameter, PARAMETER),
}
"""The model of each list, with the keys that it leaves out since another list has them."""


def parts(keys: Callable[[type[BaseModel], frozenset[str]], str]) -> dict[str, Callable[[], str]]:
    """Return the lists by name; `keys` makes one of a model and of the keys to leave out."""
    return {name: partial(keys, *model) for name, model in MODELS.items()}
