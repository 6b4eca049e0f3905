"""Small agents: the functions that one gives, over data of its own, and the machine of its runs. Pure.

Such an agent has no events of its own. What happens to it are the events below and those that every kind has; from them
it works out its data (`apply`), and from its data what it wants now (`decide`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, assert_never, get_args

from pydantic import Field, field_serializer

from actors.prompting.render import Rendered
from actors.run import questions
from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, ReplyFields
from actors.run.clock import Started
from actors.run.ending import Outcome, RunFinished, exhausted
from actors.run.evolve import RunEvent
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, RunMachine, try_fields
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.settings import SettingsChanged, for_calls
from actors.run.state import RunState
from actors.run.texts import StorableText, storable
from actors.run.tools import ToolEvent, ToolFinished, ToolRequested
from actors.values.answers import TEXT
from actors.values.question_form import WITHOUT, AskedForm, Inquiry, block, in_words_of, one_line, waiting, with_frame
from runtime.core.copies import changed
from runtime.core.cost import Price
from runtime.core.events import Event, Value


class AgentSettings(Value):
    """The configuration of a run of such an agent, which its first event stores."""

    model: str = ""
    """The model, as after `--model`; empty for an agent that calls none."""
    price: Price | None = None
    """The model's price; None where it is unknown, so that no cost is counted."""
    output_tokens_max: int = Field(default=4_096, ge=1)
    """The most tokens of one reply; a call reserves them beside those of its prompt."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """The time limit of one try of a call, in seconds."""
    question_expires_seconds: float | None = None
    """The seconds after which an unanswered question expires; None for never."""

    def with_settings(self, event: SettingsChanged) -> "AgentSettings":
        """Return the settings after a person has changed them."""
        return self.model_copy(update=for_calls(event, self.timeout_seconds))


class AgentStarted(Started):
    """The run began. The first event of every run of such an agent."""

    texts: ClassVar[tuple[str, ...]] = ("task",)
    kind: Literal["agent_started"] = "agent_started"
    task: StorableText
    """The user's input, as the agent reads it: text or JSON."""
    settings: AgentSettings
    """The configuration at the start."""

    @field_serializer("settings")
    def _in_full(self, settings: AgentSettings) -> dict[str, Any]:
        """Write every key: what a run was started with holds, whatever a later release defaults to."""
        return settings.model_dump(mode="json")


class AgentCallRequested(CallRequested):
    """The model was asked for a reply about a step; the node is `STEP/vNUMBER`."""

    kind: Literal["call_requested"] = "call_requested"


class AgentCallReissued(CallReissued):
    """An open call of an earlier driver is asked for again."""

    kind: Literal["call_reissued"] = "call_reissued"
    again: AgentCallRequested
    """The request that takes its place, with the next try number."""


class CallAnswered(Replied):
    """The model replied to a call."""

    kind: Literal["call_answered"] = "call_answered"


AgentEvent = AgentStarted | AgentCallRequested | AgentCallReissued | CallAnswered | ToolEvent | RunEvent | RunFinished
AGENT_EVENTS: tuple[type[Event], ...] = get_args(AgentEvent)
"""The events of a run of such an agent, for its codec: `Codec(AGENT_EVENTS)`."""


@dataclass(frozen=True, slots=True)
class Call:
    """The agent wants a reply of the model. `Agent.prompt` says what is asked."""

    step: str
    """A name of the agent's own for what the call is for, `[a-z][a-z0-9_]*`; at most one call of a step is open."""


GOES_ON = "The agent goes on with this answer."
"""What a choice does where its agent says nothing else."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The agent wants an answer of a person."""

    step: str
    """A name of the agent's own for what the question is about; at most one question of a step is open."""
    text: str
    """The question: one sentence that ends in a question mark. Any other text is shown below a sentence that asks."""
    schema: Mapping[str, Any] = field(default_factory=lambda: TEXT)
    """A JSON Schema for the answer (`actors.values.answers`)."""
    shown: str = ""
    """What the question is about, such as a draft or a passage; it is shown below the question."""
    does: Mapping[str, str] = field(default_factory=dict)
    """What the agent does after an answer, by the answer, where the schema allows a few; each a sentence."""
    about: str = ""
    """What depends on the answer, as a sentence; empty: the step waits for it."""
    otherwise: str = ""
    """What happens without an answer, as a sentence that begins `Without an answer,`; empty: the agent decides."""

    @property
    def form(self) -> AskedForm:
        """The question as people see it; the program's words stand where the agent gives none, and whatever it says."""
        asked = _asked(self.step, storable(self.text), self.schema, self.does)
        if self.shown:
            shown = "\n\n".join(filter(None, (asked.shown, storable(self.shown))))
            asked = asked.model_copy(update={"shown": block(shown)})
        rest = one_line(storable(self.otherwise)).removeprefix(WITHOUT).rstrip(".")
        return with_frame(
            asked,
            about=f"{one_line(storable(self.about)).rstrip('.')}." if self.about else waiting(self.step, ()),
            otherwise=f"{rest or 'the agent is told that there is none, and decides what follows'}.",
        )


def _asked(step: str, text: str, schema: Mapping[str, Any], does: Mapping[str, str]) -> Inquiry:
    """Return an agent's words as a question: its own sentence, or the program's sentence with the words below it."""
    subject, meanings = f"the step '{step}'", {value: f"{one_line(what).rstrip('.')}." for value, what in does.items()}
    asked = in_words_of("The agent", subject, text, does=GOES_ON, schema=schema, meanings=meanings)
    sentence = one_line(text)
    own = sentence.endswith("?") and "\n" not in text.strip() and len(sentence) > 1
    return asked.model_copy(update={"text": sentence, "shown": ""}) if own else asked


@dataclass(frozen=True, slots=True)
class UseTool:
    """The agent wants a tool to be called."""

    step: str
    """A name of the agent's own for what the call is for; at most one tool's call of a step is open."""
    tool: str
    """The name of the tool, one of those that the kind gives its actors."""
    arguments: str = "{}"
    """The tool's arguments, a JSON object as text."""
    repeatable: bool = False
    """Whether a second call does no harm, so that it may be made again after a crash."""
    timeout_seconds: float = 60.0
    """The time limit of the call, in seconds."""


@dataclass(frozen=True, slots=True)
class End:
    """The agent ends the run."""

    outcome: str = Outcome.SUCCESS
    """One of `actors.run.ending.Outcome`, or an outcome of the agent's own."""
    why: str = ""
    """The reason, in one line for people."""


Wish = Call | Ask | UseTool | End


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a call to the model."""

    user: str
    """The text of the user message."""
    system: str = ""
    """The text of the system message; empty for none."""
    schema: Mapping[str, Any] | None = None
    """A JSON Schema that the reply is to fit; None for a reply in plain text."""


D = TypeVar("D")


@dataclass(frozen=True)
class AgentState(Generic[D]):
    """The state of a run of such an agent, from its first event on."""

    run: RunState[AgentCallRequested]
    """The common part: calls, tools, waits, questions, messages, ledger and end."""
    start: AgentStarted
    """The run's first event: the task and the settings at the start."""
    config: AgentSettings
    """The settings, as people have changed them."""
    data: D
    """The agent's own part, as its `start` and `apply` return it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of calls, of the model or of tools, that each step has made; further tries do not count."""


class Agent(Protocol[D]):
    """A small agent: total, pure functions. The same state gives the same wishes, and the same prompt."""

    def start(self, task: str) -> D:
        """Return the data of a run that begins."""
        ...

    def apply(self, data: D, step: str, event: AgentEvent) -> D:
        """Return the data after an event; most events change nothing. Never fails, whatever a reply says.

        `step` is what the event is about: the step of a call, a question or a tool; empty for the rest.
        """
        ...

    def decide(self, state: AgentState[D]) -> Sequence[Wish]:
        """Return what is wanted now, the most urgent first; at least one wish, until the run has ended.

        Keep wanting what is under way: nothing follows from it. A question that is not wanted any more, or with another
        text, is withdrawn, and a late answer to it is not applied; calls of models and of tools run to their end.
        """
        ...

    def prompt(self, state: AgentState[D], step: str) -> Prompt:
        """Return the messages of a call for a step."""
        ...


class AgentMachine(RunMachine[AgentState[D], AgentEvent], Generic[D]):
    """The machine of runs of one agent."""

    reissued = AgentCallReissued

    def __init__(self, agent: Agent[D]) -> None:
        """Take the agent whose runs these are."""
        self.agent = agent

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What may follow from a state."""
        return (
            TAKE_OVER_TOOLS,
            EXPIRE,
            Rule("withdraw a question", Scope.RUN, self._withdraw),
            Rule("end or ask", Scope.RUN, self._end_or_ask),
            AFTER_FAULT,
            KEEP_DEADLINE,
            Rule("reissue", Scope.RUN, self.reissue),
            Rule("request", Scope.RUN, self._request),
        )

    def begin(self, event: AgentStarted) -> AgentState[D]:
        """Return the state after the first event."""
        return AgentState(RunState.begun(event), event, event.settings, self.agent.start(event.task))

    def apply(self, state: AgentState[D], run: RunState[Any], event: AgentEvent) -> AgentState[D]:
        """Return the state after an event: its step is counted, and the agent is told."""
        if isinstance(event, AgentStarted):
            return state
        after, step = self.common(state, run, event), _step_about(state, event)
        if isinstance(event, AgentCallRequested | ToolRequested) and event.try_number == 1:
            name = step_of(event.node)
            after = changed(after, counts={**state.counts, name: state.counts.get(name, 0) + 1})
        return after if step is None else changed(after, data=self.agent.apply(state.data, step, event))

    def next_try(self, state: AgentState[D], request: AgentCallRequested) -> AgentCallRequested:
        """Return the request for the next try of a call."""
        return self._call(state, request.node, request.try_number + 1)

    def prompt(self, state: AgentState[D], request: AgentCallRequested) -> CallPrompt:
        """Return what a call sends to the model."""
        return self._prompt(state, request.step)

    def replied(self, state: AgentState[D], request: AgentCallRequested, fields: ReplyFields) -> CallAnswered:
        """Return the event of a reply."""
        del state, request
        return CallAnswered(**fields)

    def _withdraw(self, state: AgentState[D]) -> ClarificationWithdrawn | None:
        """Withdraw a question that the agent does not want any more, or wants with another text."""
        asked = {name: request for name, request in state.run.open_questions.items() if not _of_tool(request.node)}
        if not asked:
            return None
        wanted = {(wish.step, wish.form.whole) for wish in self.agent.decide(state) if isinstance(wish, Ask)}
        for name, request in asked.items():
            if (request.node, request.whole) not in wanted:
                return ClarificationWithdrawn(question_id=name)
        return None

    def _end_or_ask(self, state: AgentState[D]) -> RunFinished | ClarificationRequested | None:
        """End the run, or ask a person, where the agent wants that."""
        for wish in self.agent.decide(state):
            match wish:
                case End() if not state.run.tools:  # A tool that is at work runs to its end.
                    return RunFinished(outcome=wish.outcome, why=storable(wish.why))
                case Ask() if not _under_way(state.run, wish):
                    return ClarificationRequested(
                        question_id=questions.new_id(state.run.questions),
                        node=wish.step,
                        **wish.form.form,
                        why=wish.step,
                        blocks=(wish.step,),
                    )
                case End() | Ask() | Call() | UseTool():
                    pass
                case _:
                    assert_never(wish)
        return None

    def _request(self, state: AgentState[D]) -> CallRequested | ToolRequested | RunFinished | None:
        """Call the model or a tool where the agent wants that and it can be paid; end the run where nothing can."""
        run = state.run
        if run.saving:
            return None
        again = self.further_try(state)
        if isinstance(again, CallRequested):
            return again
        short = again
        for wish in self.agent.decide(state):
            if isinstance(wish, End | Ask) or _under_way(run, wish):
                continue
            node = f"{wish.step}/v{state.counts.get(wish.step, 0) + 1}"
            if isinstance(wish, UseTool):
                return ToolRequested(
                    node=node,
                    tool=wish.tool,
                    arguments=storable(wish.arguments),
                    repeatable=wish.repeatable,
                    timeout_seconds=wish.timeout_seconds,
                )
            request = self._call(state, node, 1)
            short = run.ledger.shortfall(request.reserve, run.now)
            if short is None:
                return request
        waiting = any(tries.phase != "rested" for tries in run.calls.tries.values())
        if run.calls.open or waiting or run.tools or run.open_questions:
            return None
        if short is not None:
            return exhausted(short)
        return RunFinished(outcome=Outcome.FAILED, why="the agent wants nothing, and waits for nothing", cause="bug")

    def _call(self, state: AgentState[D], node: str, try_number: int) -> AgentCallRequested:
        """Return the request for a try of a call."""
        return AgentCallRequested(**try_fields(state, self._prompt(state, step_of(node)), node, try_number))

    def _prompt(self, state: AgentState[D], step: str) -> CallPrompt:
        prompt, config = self.agent.prompt(state, step), state.config
        schema = None if prompt.schema is None else dict(prompt.schema)
        return CallPrompt(
            purpose=step,
            text=Rendered(prompt.system, prompt.user),
            output_tokens_max=config.output_tokens_max,
            timeout_seconds=config.timeout_seconds,
            schema=schema,
            schema_bytes=0 if schema is None else len(str(schema).encode()),
        )


def _step_about(state: AgentState[Any], event: AgentEvent) -> str | None:
    """Return the step that an event is about, empty for the whole run; None for what the agent does not see.

    That is a question which the common run has asked, and a late answer: it is about what was asked before the question
    was withdrawn or expired, and may not fit what the agent does now.
    """
    match event:
        case CallAnswered() | CallFailed() | AgentCallRequested() | ToolRequested():
            return step_of(event.node)
        case ToolFinished():
            return step_of(event.request_id.removeprefix("tool:"))
        case ClarificationRequested():
            node = event.node
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            question = state.run.questions[event.question_id]
            if not question.open:
                return None
            node = question.request.node
        case _:
            return ""
    # What became of a tool's call is asked by the common run; the answer comes to the agent as the call's end.
    return None if _of_tool(node) else node


def _of_tool(node: str) -> bool:
    return node.startswith("tool:")


def _under_way(run: RunState[AgentCallRequested], wish: Call | Ask | UseTool) -> bool:
    """Tell whether what an agent wants has been asked for, and not been answered yet."""
    match wish:
        case Ask():
            return any(question.open and question.request.node == wish.step for question in run.questions.values())
        case Call():
            requests = [opened.request for opened in run.calls.open.values()]
            requests += [tries.request for tries in run.calls.tries.values()]
            return any(request.step == wish.step for request in requests)
        case UseTool():
            return any(step_of(tool.request.node) == wish.step for tool in run.tools.values())
        case _:
            assert_never(wish)
