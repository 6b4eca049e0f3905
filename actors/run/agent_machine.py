"""The machine of small agents: it turns the wishes of an agent into events. Pure."""

from typing import Any, Generic, assert_never

from actors.prompting.render import Rendered
from actors.run import questions
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
    UseTool,
)
from actors.run.calls import CallFailed, CallRequested, ReplyFields
from actors.run.ending import Outcome, RunFinished, end_exhausted_run
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, RunMachine, try_fields
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, REMIND, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.state import RunState
from actors.run.tools import ToolFinished, ToolRequested
from runtime.core.copies import changed
from runtime.core.events import make_storable


class AgentMachine(RunMachine[AgentState[D], AgentEvent], Generic[D]):
    """The machine of runs of one agent."""

    reissued = AgentCallReissued

    def __init__(self, agent: Agent[D]) -> None:
        """Store the agent, whose runs this machine drives."""
        self.agent = agent

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of an agent's runs, in their order."""
        return (
            TAKE_OVER_TOOLS,
            EXPIRE,
            Rule("withdraw a question", Scope.RUN, self._withdraw),
            Rule("end or ask", Scope.RUN, self._end_or_ask),
            AFTER_FAULT,
            KEEP_DEADLINE,
            REMIND,
            Rule("reissue", Scope.RUN, self.reissue),
            Rule("request", Scope.RUN, self._request),
        )

    def begin(self, event: AgentStarted) -> AgentState[D]:
        """Return the state after the first event."""
        return AgentState(RunState.begin(event), event, event.settings, self.agent.start(event.task))

    def apply(self, state: AgentState[D], run: RunState[Any], event: AgentEvent) -> AgentState[D]:
        """Return the state after an event: count the call of its step, and let the agent apply the event."""
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
        """Return the prompt of a call."""
        return self._prompt(state, request.step)

    def reply_event(self, state: AgentState[D], request: AgentCallRequested, fields: ReplyFields) -> CallAnswered:
        """Return the event of a reply."""
        del state, request
        return CallAnswered(**fields)

    def _withdraw(self, state: AgentState[D]) -> ClarificationWithdrawn | None:
        """Withdraw a question if it is no longer a wish of the agent, or if its text has changed."""
        open_requests = {
            name: request
            for name, request in state.run.open_questions.items()
            if request.reached is None and not _is_about_tool(request.node)
        }
        if not open_requests:
            return None
        wanted = {(wish.step, wish.form.whole) for wish in self.agent.decide(state) if isinstance(wish, Ask)}
        for name, request in open_requests.items():
            if (request.node, request.whole) not in wanted:
                return ClarificationWithdrawn(question_id=name)
        return None

    def _end_or_ask(self, state: AgentState[D]) -> RunFinished | ClarificationRequested | None:
        """End the run or ask a person, if the agent wishes to."""
        for wish in self.agent.decide(state):
            match wish:
                case End() if not state.run.tools:  # An open call of a tool runs to its end.
                    return RunFinished(outcome=wish.outcome, why=make_storable(wish.why))
                case Ask() if not _is_under_way(state.run, wish):
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
        """Call the model or a tool if the agent wishes to and the budget allows it.

        End the run if the budget is used up.
        """
        run = state.run
        if run.saving:
            return None
        again = self.further_try(state)
        if isinstance(again, CallRequested):
            return again
        short = again
        for wish in self.agent.decide(state):
            if isinstance(wish, End | Ask) or _is_under_way(run, wish):
                continue
            node = f"{wish.step}/v{state.counts.get(wish.step, 0) + 1}"
            if isinstance(wish, UseTool):
                return ToolRequested(
                    node=node,
                    tool=wish.tool,
                    arguments=make_storable(wish.arguments),
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
            return end_exhausted_run(short)
        return RunFinished(
            outcome=Outcome.FAILED, why="the agent has no wish, and the run waits for nothing", cause="bug"
        )

    def _call(self, state: AgentState[D], node: str, try_number: int) -> AgentCallRequested:
        return AgentCallRequested(**try_fields(state, self._prompt(state, step_of(node)), node, try_number))

    def _prompt(self, state: AgentState[D], step: str) -> CallPrompt:
        prompt, config = self.agent.prompt(state, step), state.config
        schema = None if prompt.schema is None else dict(prompt.schema)
        return CallPrompt(
            purpose=step,
            text=Rendered(prompt.system, prompt.user),
            output_tokens_max=config.output_tokens_max,
            timeout_seconds=config.timeout_seconds,
            settings=config.model_settings,
            schema=schema,
            schema_bytes=0 if schema is None else len(str(schema).encode()),
        )


def _step_about(state: AgentState[Any], event: AgentEvent) -> str | None:
    """Return the step of an event; empty if the event is about no step; None if the agent does not see the event.

    The agent sees only its own questions, not the questions that runs of every kind ask. The agent sees no answer to a
    withdrawn or expired question, because the answer may be outdated.
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
        case ClarificationReminded() | ClarificationEscalated():
            return None
        case _:
            return ""
    # Every kind of run asks about the outcome of a tool's call. The agent sees the answer as the end of the call.
    return None if _is_about_tool(node) else node


def _is_about_tool(node: str) -> bool:
    return node.startswith("tool:")


def _is_under_way(run: RunState[AgentCallRequested], wish: Call | Ask | UseTool) -> bool:
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
