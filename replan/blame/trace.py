"""A trace of agents: what each of them wrote and what tools gave back, in order, whatever program recorded it."""

from dataclasses import dataclass
from typing import Literal

StepKind = Literal["user", "agent", "thought", "handover", "tool"]
"""Who wrote a step: a person, an agent, an agent for itself, an agent to another one, or a tool."""
BY_MODEL: tuple[StepKind, ...] = ("agent", "thought", "handover")
"""The kinds of steps that take a call of a model."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One message of a trace."""

    agent: str
    """The name of who wrote it: an agent, a tool or `user`."""
    kind: StepKind
    """Who wrote it."""
    text: str
    """What was written; empty where the recorder kept no texts."""
    calls_tool: bool = False
    """Whether it calls a tool, as recorded beside the text."""
    failed: bool = False
    """Whether the recorder says that it failed; a tool's text may say so too."""


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """The steps of one run of agents, numbered from 0."""

    format: str
    """The format that it was read from, in words."""
    steps: tuple[TraceStep, ...]
    """The steps, at least one."""
    name: str = ""
    """What the recorder calls it, such as the id of an OpenTelemetry trace; empty for nothing."""
    question: str = ""
    """What names its question, by which labelled traces are held apart; empty for nothing."""
    mistake: int | None = None
    """The number of the step that a person has marked as the decisive mistake; None for an unlabelled trace."""
    agent: str = ""
    """The agent that a person has marked; empty for an unlabelled trace."""
