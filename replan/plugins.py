"""The names that plug-ins import: for small agents, models, settings, services and journals.

Guards and generators import what they need from `replan`. A name is loaded when it is first used. How to write a
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

_HOMES = {
    "NUMBER": "actors.values.answers",
    "TEXT": "actors.values.answers",
    "YES_NO": "actors.values.answers",
    "Agent": "actors.run.agent",
    "AgentCallRequested": "actors.run.agent",
    "AgentEvent": "actors.run.agent",
    "AgentSettings": "actors.run.agent",
    "AgentState": "actors.run.agent",
    "AgentTask": "actors.handlers.agents",
    "Ask": "actors.run.agent",
    "Call": "actors.run.agent",
    "CallAnswered": "actors.run.agent",
    "ClarificationAnswered": "actors.run.questions",
    "ClarificationDeclined": "actors.run.questions",
    "ClarificationExpired": "actors.run.questions",
    "ClarificationWithdrawn": "actors.run.questions",
    "End": "actors.run.agent",
    "Fault": "runtime.models.port",
    "FaultKind": "runtime.models.port",
    "JournalScheme": "runtime.open_journal",
    "Kind": "actors.run.kind",
    "Limits": "runtime.core.ledger",
    "Model": "runtime.models.port",
    "ModelRequest": "runtime.models.port",
    "NoteTold": "actors.run.inbox",
    "Price": "runtime.core.ledger",
    "Process": "replan.runs.services",
    "Prompt": "actors.run.agent",
    "PureRun": "actors.run.pure_run",
    "Reply": "runtime.models.port",
    "RequirementTold": "actors.run.inbox",
    "Resources": "actors.run.kind",
    "ServicePlugin": "replan.runs.services",
    "Tool": "actors.handlers.tools",
    "ToolFinished": "actors.run.tools",
    "ToolOutcome": "actors.run.tools",
    "Usage": "runtime.core.ledger",
    "UseTool": "actors.run.agent",
    "UserConfig": "replan.setup.settings",
    "Wish": "actors.run.agent",
    "agent_kind": "actors.handlers.agents",
    "choice": "actors.values.answers",
    "command_tool": "actors.handlers.tools",
    "function_tool": "actors.handlers.tools",
    "inquiry": "actors.values.question_form",
}
"""The module that defines each name."""


def __getattr__(name: str) -> Any:
    """Load a name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'replan.plugins' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
