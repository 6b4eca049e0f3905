"""The names that a package imports to add a kind of small agent, in one place.

`docs/explanation/add-an-agent.md` shows how to use them. A kind with a machine of its own imports from `actors.run`.
"""

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
from runtime.core.ledger import Limits

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
    "Kind",
    "Limits",
    "NoteTold",
    "Prompt",
    "PureRun",
    "RequirementTold",
    "Resources",
    "Tool",
    "ToolFinished",
    "ToolOutcome",
    "UseTool",
    "Wish",
    "agent_kind",
    "choice",
    "command_tool",
    "function_tool",
]
