"""The names that plug-ins of agents, models, settings, services and journals import.

Guards and generators import from `replan`. A name is loaded when it is first used. These pages explain how to write a
plug-in: docs/how-to/write-a-plug-in.md and docs/tutorial/first-agent.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.handlers.agents import AgentTask, agent_kind
    from actors.handlers.tools import Tool, command_tool, function_tool
    from actors.run.agent import (
        Agent,
        AgentCallRequested,
        AgentEvent,
        AgentSettings,
        AgentState,
        Ask,
        Call,
        CallAnswered,
        End,
        Prompt,
        UseTool,
        Wish,
    )
    from actors.run.inbox import NoteTold, RequirementTold
    from actors.run.kind import Kind, Resources
    from actors.run.pure_run import PureRun
    from actors.run.questions import (
        ClarificationAnswered,
        ClarificationDeclined,
        ClarificationExpired,
        ClarificationWithdrawn,
    )
    from actors.run.tools import ToolFinished, ToolOutcome
    from actors.values.answers import NUMBER, TEXT, YES_NO, choice
    from actors.values.question_form import inquiry
    from replan.runs.services import Process, ServicePlugin
    from replan.setup.settings import UserConfig
    from runtime.core.ledger import Limits, Price, Usage
    from runtime.models.port import Fault, FaultKind, Model, ModelRequest, Reply
    from runtime.open_journal import JournalScheme

__all__ = [
    "NUMBER",
    "TEXT",
    "YES_NO",
    "Agent",
    "AgentCallRequested",
    "AgentEvent",
    "AgentSettings",
    "AgentState",
    "AgentTask",
    "Ask",
    "Call",
    "CallAnswered",
    "ClarificationAnswered",
    "ClarificationDeclined",
    "ClarificationExpired",
    "ClarificationWithdrawn",
    "End",
    "Fault",
    "FaultKind",
    "JournalScheme",
    "Kind",
    "Limits",
    "Model",
    "ModelRequest",
    "NoteTold",
    "Price",
    "Process",
    "Prompt",
    "PureRun",
    "Reply",
    "RequirementTold",
    "Resources",
    "ServicePlugin",
    "Tool",
    "ToolFinished",
    "ToolOutcome",
    "Usage",
    "UseTool",
    "UserConfig",
    "Wish",
    "agent_kind",
    "choice",
    "command_tool",
    "function_tool",
    "inquiry",
]

_NAMES = {
    "actors.handlers.agents": "AgentTask agent_kind",
    "actors.handlers.tools": "Tool command_tool function_tool",
    "actors.run.agent": (
        "Agent AgentCallRequested AgentEvent AgentSettings AgentState Ask Call CallAnswered End Prompt UseTool Wish"
    ),
    "actors.run.inbox": "NoteTold RequirementTold",
    "actors.run.kind": "Kind Resources",
    "actors.run.pure_run": "PureRun",
    "actors.run.questions": "ClarificationAnswered ClarificationDeclined ClarificationExpired ClarificationWithdrawn",
    "actors.run.tools": "ToolFinished ToolOutcome",
    "actors.values.answers": "NUMBER TEXT YES_NO choice",
    "actors.values.question_form": "inquiry",
    "replan.runs.services": "Process ServicePlugin",
    "replan.setup.settings": "UserConfig",
    "runtime.core.ledger": "Limits Price Usage",
    "runtime.models.port": "Fault FaultKind Model ModelRequest Reply",
    "runtime.open_journal": "JournalScheme",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'replan.plugins' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
