"""The functions that define a small agent, and the data that they use. Pure.

A small agent has no events of its own: it sees the events below, and the events of every kind of agent. `apply`
computes the agent's data from events, and `decide` computes the agent's current wishes from the data.
`actors.run.agent_machine` calls both functions.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args

from pydantic import Field, field_serializer

from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import Outcome, RunFinished
from actors.run.evolve import RunEvent
from actors.run.settings import SettingsChanged, call_fields
from actors.run.state import RunState
from actors.run.tools import ToolEvent
from actors.run.waits import Started
from actors.values.answers import TEXT
from actors.values.model_settings import ModelSettings
from actors.values.question_form import (
    IF_DECLINED,
    AskedForm,
    Inquiry,
    Priority,
    add_consequences,
    block,
    one_line,
    quote_question,
    waiting_text,
)
from runtime.core.events import Event, StorableText, Value, make_storable
from runtime.core.ledger import Price


class AgentSettings(Value):
    """The configuration of a run of a small agent. The run's first event stores it."""

    model: str = ""
    """The model in the form of `--model`; empty if the agent calls no model."""
    price: Price | None = None
    """The model's price; None if it is unknown, so that no cost is counted."""
    output_tokens_max: int = Field(default=4_096, ge=1)
    """The largest number of tokens in one reply. A call reserves these tokens and the tokens of its prompt."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    question_expires_seconds: float | None = None
    model_settings: ModelSettings = Field(default_factory=ModelSettings, exclude_if=operator.not_)

    def with_settings(self, event: SettingsChanged) -> "AgentSettings":
        """Return the settings after a person's change."""
        return self.model_copy(update=call_fields(event, self.timeout_seconds, self.model_settings))


class AgentStarted(Started):
    """The run began. The first event of every run of a small agent."""

    texts: ClassVar[tuple[str, ...]] = ("task",)
    kind: Literal["agent_started"] = "agent_started"
    task: StorableText
    """The user's input for the agent: text or JSON."""
    settings: AgentSettings
    """The configuration at the start."""

    @field_serializer("settings")
    def _write_every_key(self, settings: AgentSettings) -> dict[str, Any]:
        """Write every key, so that other defaults in a later release do not change a run."""
        return settings.model_dump(mode="json")


class AgentCallRequested(CallRequested):
    """A reply of the model about a step was requested. The node is `STEP/vNUMBER`."""

    kind: Literal["call_requested"] = "call_requested"


class AgentCallReissued(CallReissued):
    """An open call of an earlier driver was requested again."""

    kind: Literal["call_reissued"] = "call_reissued"
    again: AgentCallRequested
    """The new request, with the next try number."""


class CallAnswered(Replied):
    """The model replied to a call."""

    kind: Literal["call_answered"] = "call_answered"


AgentEvent = AgentStarted | AgentCallRequested | AgentCallReissued | CallAnswered | ToolEvent | RunEvent | RunFinished
AGENT_EVENTS: tuple[type[Event], ...] = get_args(AgentEvent)
"""The event classes of a small agent's run. `Codec(AGENT_EVENTS)` makes the codec of these events."""


@dataclass(frozen=True, slots=True)
class Call:
    """The agent wants a reply of the model. `Agent.prompt` returns the messages to send."""

    step: str
    """The agent's name for the purpose of the call; it matches `[a-z][a-z0-9_]*`. A step has at most one open call."""


GOES_ON = "The agent goes on with this answer."


@dataclass(frozen=True, slots=True)
class Ask:
    """The agent wants an answer of a person."""

    step: str
    """The agent's name for the subject of the question. A step has at most one open question."""
    text: str
    """The question: one sentence that ends in a question mark. Any other text is shown below a question that the
    program writes.
    """
    schema: Mapping[str, Any] = field(default_factory=lambda: TEXT)
    """A JSON Schema for the answer (`actors.values.answers`)."""
    shown: str = ""
    """The subject of the question, such as a draft or a passage. The subject is shown below the question."""
    does: Mapping[str, str] = field(default_factory=dict)
    """The effect of each answer on the agent: a sentence for each answer. Give effects only if the schema allows only a
    few answers.
    """
    about: str = ""
    """A sentence about what depends on the answer. If this sentence is empty, people read that the step waits for the
    answer.
    """
    otherwise: str = ""
    """A sentence about what happens if the question is declined or expires. The sentence begins `If you decline,`. If
    it is empty, people read that the agent decides.
    """
    priority: Priority = "normal"

    @property
    def form(self) -> AskedForm:
        """The question in the form that people see. The program fills the fields that the agent leaves empty."""
        inquiry = _agent_question(self.step, make_storable(self.text), self.schema, self.does)
        if self.shown:
            below = "\n\n".join(filter(None, (inquiry.shown, make_storable(self.shown))))
            inquiry = inquiry.model_copy(update={"shown": block(below)})
        rest = one_line(make_storable(self.otherwise)).removeprefix(IF_DECLINED).rstrip(".")
        return add_consequences(
            inquiry,
            about=f"{one_line(make_storable(self.about)).rstrip('.')}." if self.about else waiting_text(self.step, ()),
            otherwise=f"{rest or 'the agent decides what follows'}.",
            priority=self.priority,
        )


def _agent_question(step: str, text: str, schema: Mapping[str, Any], does: Mapping[str, str]) -> Inquiry:
    """Return an agent's question: the agent's own sentence, or the program's sentence above the agent's text."""
    subject, meanings = f"the step '{step}'", {value: f"{one_line(what).rstrip('.')}." for value, what in does.items()}
    inquiry = quote_question("The agent", subject, text, does=GOES_ON, schema=schema, meanings=meanings)
    sentence = one_line(text)
    own = sentence.endswith("?") and "\n" not in text.strip() and len(sentence) > 1
    return inquiry.model_copy(update={"text": sentence, "shown": ""}) if own else inquiry


@dataclass(frozen=True, slots=True)
class UseTool:
    """The agent wants a tool to be called."""

    step: str
    """The agent's name for the purpose of the call. A step has at most one open call of a tool."""
    tool: str
    arguments: str = "{}"
    """The tool's arguments, a JSON object as text."""
    repeatable: bool = False
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class End:
    """The agent ends the run."""

    outcome: str = Outcome.SUCCESS
    """One of `actors.run.ending.Outcome`, or an outcome of the agent's own."""
    why: str = ""


Wish = Call | Ask | UseTool | End


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a call to the model."""

    user: str
    system: str = ""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply must fit; None if the reply is plain text."""


D = TypeVar("D")


@dataclass(frozen=True)
class AgentState(Generic[D]):
    """The state of a run of a small agent, from its first event on."""

    run: RunState[AgentCallRequested]
    start: AgentStarted
    config: AgentSettings
    """The settings now, with the changes that people made."""
    data: D
    counts: Mapping[str, int] = field(default_factory=dict)
    """For each step: the number of calls of the model or of tools. Further tries of a call do not count."""


class Agent(Protocol[D]):
    """A small agent: pure functions that never fail. The same state gives the same wishes and the same prompt."""

    def start(self, task: str) -> D:
        """Return the data at the start of a run."""
        ...

    def apply(self, data: D, step: str, event: AgentEvent) -> D:
        """Return the data after an event. Most events change nothing.

        The function must not fail, whatever a reply says. `step` is the step whose call, question or tool the event is
        about; empty for all other events.
        """
        ...

    def decide(self, state: AgentState[D]) -> Sequence[Wish]:
        """Return the agent's current wishes, the most urgent first. Until the run has ended, return at least one wish.

        Return a wish again while it is carried out. A question is withdrawn if it is no longer a wish or its text has
        changed. A late answer to a withdrawn question is not applied. Calls of models and tools always run to their
        end.
        """
        ...

    def prompt(self, state: AgentState[D], step: str) -> Prompt:
        """Return the messages of a call for a step."""
        ...
