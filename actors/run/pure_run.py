"""A run of a small agent for tests, without actors. The tests supply the replies. Pure.

The run has the real machine, so budgets, tries and questions work as in a driven run. No model and no tool is called.
"""

import json
from typing import Any, Generic

from actors.run.agent import Agent, AgentEvent, AgentSettings, AgentStarted, AgentState, D, Prompt
from actors.run.agent_machine import AgentMachine
from actors.run.calls import Generated, RunMessage
from actors.run.ending import RunFinished
from actors.run.inbox import KINDS
from actors.run.machine import MODEL
from actors.run.questions import USER, ClarificationRequested
from actors.run.state import NotStarted
from actors.run.tools import Begun, Ended, ToolOutcome, ToolRequested
from runtime.core.ledger import Limits, Usage
from runtime.core.machine import Refused, Work, settle
from runtime.core.messages import Mailed
from runtime.models.port import Reply

START = 1_000_000_000.0
"""The time at which the run for a test begins, in UTC seconds since 1970. Each message comes one second after the
previous message."""


class PureRun(Generic[D]):
    """A run of an agent. After each message, the machine makes all decisions that follow from the message.

    The methods that send answers raise `AssertionError` if the run does not wait for exactly one such answer, or if it
    refuses the answer.
    """

    def __init__(self, agent: Agent[D], task: str, limits: Limits | None = None) -> None:
        """Start a run of a task."""
        self.machine = AgentMachine(agent)
        self.state: AgentState[D]
        self.events: list[AgentEvent] = []
        self._now, self._mailed = START, 0
        settings = AgentSettings(model="test")
        first = AgentStarted(at=self._now, run="run", task=task, limits=limits or Limits(), settings=settings)
        self._accept(self.machine.initial(), first)

    @property
    def data(self) -> D:
        """The agent's own part of the state."""
        return self.state.data

    @property
    def prompt(self) -> Prompt:
        """The messages of the open call to the model."""
        return self.machine.agent.prompt(self.state, self._find_only_work(MODEL).request.step)

    @property
    def question(self) -> ClarificationRequested:
        """The event of the open question."""
        request = self._find_only_work(USER).request
        assert isinstance(request, ClarificationRequested)
        return request

    @property
    def tool(self) -> ToolRequested:
        """The open call of a tool."""
        request = self._find_only_work("tool:").request
        assert isinstance(request, ToolRequested)
        return request

    @property
    def finished(self) -> RunFinished | None:
        """The run's end; None before its end."""
        return self.state.run.finished

    def reply(self, text: str) -> None:
        """Answer the open call of the model."""
        request = self._find_only_work(MODEL).request_id
        self._send(Generated(request, self._tick(), 1.0, Reply(text, Usage(), "test")))

    def end_tool(self, output: str = "", outcome: ToolOutcome = ToolOutcome.SUCCEEDED, reason: str = "") -> None:
        """End the open call of a tool."""
        request = self.tool.request_id
        self._send(Begun(request, self._tick()))
        self._send(Ended(request, self._tick(), 1.0, outcome, output, reason))

    def answer(self, text: str) -> None:
        """Answer the open question. The text must fit the question's schema."""
        self._post(kind="answer", question=self.question.question_id, answer=text)

    def decline(self) -> None:
        """Say that a person will not answer the open question."""
        self._post(kind="decline", question=self.question.question_id)

    def tell(self, text: str, kind: str = "note") -> None:
        """Send a note or a requirement to the run."""
        assert kind in KINDS, f"{kind!r} is not one of {KINDS}"
        self._post(kind=kind, text=text)

    def _find_only_work(self, address: str) -> Work:
        work = list(self.machine.outstanding(self.state).values())
        fitting = [item for item in work if item.address.startswith(address)]
        assert len(fitting) == 1, f"one {address!r} is needed, open: {[open_work.address for open_work in work]}"
        return fitting[0]

    def _post(self, **body: Any) -> None:
        self._mailed += 1
        self._send(Mailed(self._mailed, f"test{self._mailed}", json.dumps(body), self._tick()))

    def _tick(self) -> float:
        self._now += 1.0
        return self._now

    def _send(self, message: RunMessage) -> None:
        self._accept(self.state, message)

    def _accept(self, state: AgentState[D] | NotStarted, message: RunMessage) -> None:
        event = self.machine.accept(state, message)
        assert event is not None, "the run does not wait for this message"
        assert not isinstance(event, Refused), event.reason
        assert event.kind != "mail_refused", event.reason
        decided: tuple[AgentState[D] | NotStarted, list[AgentEvent]] = settle(self.machine, state, event)
        after, events = decided
        assert isinstance(after, AgentState)
        self.state = after
        self.events += events
