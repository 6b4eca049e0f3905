"""A trace of agents: what each of them wrote and what tools gave back, in order, whatever program recorded it."""

from dataclasses import dataclass
from typing import Literal

StepKind = Literal["user", "agent", "thought", "handover", "tool"]
"""The kind of a step: a message of a person, of an agent, of an agent to itself or to another agent, or of a tool."""
BY_MODEL: tuple[StepKind, ...] = ("agent", "thought", "handover")
"""The kinds of steps that take a call of a model."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One message of a trace."""

    agent: str
    """The name of who wrote it: an agent, a tool or `user`."""
    kind: StepKind
    """Its kind."""
    text: str
    """What was written; empty where the recorder kept no texts."""
    calls_tool: bool = False
    """Whether it calls a tool, as recorded beside the text."""
    failed: bool = False
    """Whether it is recorded as failed; the text of a tool may report a failure beside that."""


@dataclass(frozen=True, slots=True)
class AgentTrace:
    """The steps of one run of agents, numbered from 0."""

    format: str
    """The format that it was read from, in words."""
    steps: tuple[TraceStep, ...]
    """The steps, at least one."""
    name: str = ""
    """The id that the recorder gave it, such as that of an OpenTelemetry trace; empty if there is none."""
    question: str = ""
    """The id of the question that the agents were to answer; empty if unknown. Labelled traces with the same question
    are held out together."""
    mistake: int | None = None
    """The number of the step that a person has marked as the decisive mistake; None for an unlabelled trace."""
    agent: str = ""
    """The agent that a person has marked; empty for an unlabelled trace."""
