"""A ready machine for a small agent: all of a run but what the agent itself decides. Pure."""

from collections.abc import Mapping
from typing import Any, Generic, assert_never

from actors.run import ending, inbox, questions, tools, waits
from actors.run.accept import accept_control, accept_fault
from actors.run.agent import (
    Agent,
    AgentCallReissued,
    AgentCallRequested,
    AgentEvent,
    AgentStarted,
    AgentState,
    Ask,
    Call,
    CallAnswered,
    D,
    End,
    Prompt,
    UseTool,
)
from actors.run.calls import CallFailed, Received, accept_reply
from actors.run.ending import Outcome, RunFinished
from actors.run.evolve import TIMED, evolve_run, timed
from actors.run.ids import step_of
from actors.run.messages import Faulted, Generated, RunMessage
from actors.run.outage import time_limit
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.rules import AFTER_FAULT, KEEP_DEADLINE, TAKE_OVER_TOOLS, Rule, Scope, end_tools
from actors.run.settings import SettingsChanged
from actors.run.state import NotStarted, RunState
from actors.run.summary import status_row
from actors.run.texts import storable
from actors.run.tools import ToolRequested
from runtime.core.copies import changed
from runtime.core.events import text_hash
from runtime.core.machine import Refused, Summary, Work
from runtime.models.port import ModelRequest

MODEL = "model"
"""The address of the actor that asks the model."""
FRAMING_TOKENS = 64
"""Reserved for what a server puts around a prompt: roles, separators, the schema's name."""


class AgentMachine(Generic[D]):
    """`runtime.core.machine.Machine` for runs of one agent. It has no state of its own."""

    def __init__(self, agent: Agent[D]) -> None:
        """Take the agent whose runs these are."""
        self.agent = agent
        self.rules = (
            TAKE_OVER_TOOLS,
            Rule("let a question expire", Scope.RUN, expire),
            Rule("withdraw a question", Scope.RUN, self._withdraw),
            Rule("end or ask", Scope.RUN, self._end_or_ask),
            AFTER_FAULT,
            KEEP_DEADLINE,
            Rule("reissue", Scope.RUN, self._reissue),
            Rule("request", Scope.RUN, self._request),
        )

    def initial(self) -> AgentState[D] | NotStarted:
        """Return the state before the run starts."""
        return NotStarted()

    def accept(self, state: AgentState[D] | NotStarted, message: RunMessage) -> AgentEvent | Refused | None:
        """Turn a message of the world into a fact."""
        if isinstance(message, AgentStarted):
            return message if isinstance(state, NotStarted) else None
        if isinstance(state, NotStarted):
            return Refused("the run has not begun")
        run = state.run
        match message:
            case Generated():
                received = accept_reply(run.calls, run.ledger, message, state.start.settings.price)
                return CallAnswered(**received.fields) if isinstance(received, Received) else received
            case Faulted():
                return accept_fault(run, message)
            case tools.Begun() | tools.Ended() | tools.Checked():
                return tools.accept(run.tools, message)
            case _:
                return accept_control(run, message)

    def advance(self, state: AgentState[D] | NotStarted) -> AgentEvent | None:
        """Return the next decision: the first that a rule of the table takes."""
        if isinstance(state, NotStarted):
            return None
        if state.run.finished is not None:
            return end_tools(state.run)
        for rule in self.rules:
            event: AgentEvent | None = rule.function(state.run if rule.scope is Scope.COMMON else state)
            if event is not None:
                return event
        return None

    def evolve(self, state: AgentState[D] | NotStarted, event: AgentEvent) -> AgentState[D]:
        """Return the state after the event."""
        if isinstance(event, AgentStarted):
            return AgentState(RunState.begun(event), event, self.agent.start(event.task))
        assert isinstance(state, AgentState), "a run begins with its start"
        run, counts = state.run, state.counts
        working = bool(run.calls.open or tools.busy(run.tools))
        if isinstance(event, TIMED):
            run = timed(run, event, working=working)
        if isinstance(event, AgentCallRequested | AgentCallReissued):
            run = changed(run, messages=inbox.seen(run.messages))
        if isinstance(event, AgentCallRequested | ToolRequested) and event.try_number == 1:
            counts = {**counts, step_of(event.node): counts.get(step_of(event.node), 0) + 1}
        step, data = _step_about(state, event), state.data
        if step is not None:
            data = self.agent.apply(data, step, event)
        start = with_settings(state.start, event) if isinstance(event, SettingsChanged) else state.start
        return changed(state, run=evolve_run(run, event), start=start, counts=counts, data=data)

    def outstanding(self, state: AgentState[D] | NotStarted) -> Mapping[str, Work]:
        """Return the open requests as work for the model, the tools, the clock and the user."""
        run = state.run
        if run.finished is not None:
            return tools.work_of(run.tools, run.epoch)
        calls = {name: Work(name, MODEL, run.calls.open[name].request) for name in _carried_out(run)}
        others = waits.work_of(run.waits) | questions.work_of(run.questions)
        return calls | tools.work_of(run.tools, run.epoch) | others

    def brief(self, state: AgentState[D] | NotStarted, work: Work) -> Any:
        """Return what the actor that does this work may see: a `ModelRequest` for a call, else the request itself."""
        request = work.request
        if not isinstance(request, AgentCallRequested):
            return request
        assert isinstance(state, AgentState)
        settings, prompt = state.start.settings, self.agent.prompt(state, request.step)
        return ModelRequest(
            request_id=request.request_id,
            purpose=request.step,
            system=prompt.system,
            user=prompt.user,
            timeout_seconds=request.timeout_seconds or settings.timeout_seconds,
            output_tokens_max=settings.output_tokens_max,
            schema=prompt.schema,
            run=state.run.run_id,
        )

    def summary(self, state: AgentState[D] | NotStarted) -> Summary:
        """Return the run's status row."""
        if isinstance(state, NotStarted):
            return Summary("running")
        return status_row(state.run, _carried_out(state.run), working=tools.busy(state.run.tools))

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

    def _request(self, state: AgentState[D]) -> AgentCallRequested | ToolRequested | RunFinished | None:
        """Call the model or a tool where the agent wants that and it can be paid; end the run where nothing can."""
        run, short = state.run, None
        if run.saving:
            return None
        for tries in run.calls.tries.values():
            if tries.phase == "rested":
                again = self._call(state, tries.request.node, tries.request.try_number + 1)
                short = run.ledger.shortfall(again.reserve, run.now)
                if short is None:
                    return again
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
            return ending.exhausted(short)
        return RunFinished(outcome=Outcome.FAILED, why="the agent wants nothing, and waits for nothing", cause="bug")

    def _reissue(self, state: AgentState[D]) -> AgentCallReissued | RunFinished | None:
        """Ask again for the calls of an earlier driver, or end the run if one cannot be reserved."""
        run = state.run
        if run.saving:
            return None
        for request_id, opened in run.calls.open.items():
            if opened.epoch < run.epoch:
                again = self._call(state, opened.request.node, opened.request.try_number + 1)
                short = run.ledger.shortfall(again.reserve, run.now)
                return ending.exhausted(short) if short else AgentCallReissued(replaces=request_id, again=again)
        return None

    def _call(self, state: AgentState[D], node: str, try_number: int) -> AgentCallRequested:
        """Return the request for a try of a call, reserved at the most that it can cost."""
        settings, prompt = state.start.settings, self.agent.prompt(state, step_of(node))
        # A byte-level tokenizer makes at most one token of a byte, so the bytes that are sent bound the input.
        sent = len(_text(prompt).encode()) + FRAMING_TOKENS
        output = settings.output_tokens_max
        return AgentCallRequested(
            node=node,
            try_number=try_number,
            prompt_hash=text_hash(_text(prompt))[:32],
            tokens_max=sent + output,
            micro_usd_max=0 if settings.price is None else settings.price.micro_usd(sent, output),
            timeout_seconds=time_limit(state.run, node, settings.timeout_seconds),
        )


def expire(state: AgentState[Any]) -> questions.ClarificationExpired | waits.WaitRequested | None:
    """Close a question that nobody has answered in time; until then have the clock wait for that."""
    run = state.run
    return questions.expire(run.questions, run.waits, run.now, state.start.settings.question_expires_seconds)


def with_settings(start: AgentStarted, event: SettingsChanged) -> AgentStarted:
    """Return what a run is pinned to after a person has changed it."""
    settings = start.settings
    if event.model is not None:
        settings = settings.model_copy(update={"model": event.model, "price": event.price})
    if event.timeout_seconds is not None:
        settings = settings.model_copy(update={"timeout_seconds": event.timeout_seconds})
    if event.output_tokens_max is not None:
        settings = settings.model_copy(update={"output_tokens_max": event.output_tokens_max})
    return start.model_copy(update={"settings": settings})


def _step_about(state: AgentState[Any], event: AgentEvent) -> str | None:
    """Return the step that an event is about, empty for the whole run; None for what the agent does not see.

    That is a question which the common run has asked, and a late answer: it is about what was asked before the question
    was withdrawn or expired, and may not fit what the agent does now.
    """
    match event:
        case CallAnswered() | CallFailed() | AgentCallRequested() | ToolRequested():
            return step_of(event.node)
        case tools.ToolFinished():
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


def _carried_out(run: RunState[AgentCallRequested]) -> list[str]:
    """Return the open calls that somebody carries out: an earlier driver's are reissued or dropped."""
    return [name for name, opened in run.calls.open.items() if opened.epoch == run.epoch]


def _text(prompt: Prompt) -> str:
    schema = "" if prompt.schema is None else str(dict(prompt.schema))
    return f"{prompt.system}\n{prompt.user}\n{schema}"
