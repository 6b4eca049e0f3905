"""Simulates an execution with simulated tools and a simulated person, without actors, journal or clock.

Time is a number. Replies are delivered in the order of their simulated times, as they would be in a real run.
"""

import heapq
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from actors.execution.config import ExecutionConfig
from actors.execution.events import ExecutionEvent, ExecutionStarted, ReplanRequested
from actors.execution.machine import PLANNER, PROVER, ExecutionMachine
from actors.execution.proof import guard_of, prove
from actors.execution.replan_brief import given_facts
from actors.execution.state import ExecutionState, State
from actors.execution.trouble_questions import BY_HAND, GIVE_UP, REPLAN, TRY_AGAIN
from actors.planning.replanning import UNSUCCESSFUL
from actors.run.messages import Generated, Judged, RunMessage
from actors.run.outcome_question import FAILED, NOT_RUN, SUCCEEDED
from actors.run.questions import USER, ClarificationRequested
from actors.run.tools import Begun, Ended, ToolRequested
from actors.run.waits import CLOCK
from actors.simulated.tool_task import Task, Ways
from actors.simulated.tool_world import ToolOdds, ToolWorld
from actors.values.findings import Verdict
from runtime.core.ledger import Amount, Limits
from runtime.core.machine import Machine, Refused, Work, settle
from runtime.core.messages import Mailed, Woken
from runtime.models.port import Reply

START = 0.0
"""The time at which a simulated execution begins, in UTC seconds since 1970."""
TOOL_SECONDS = 10.0
"""The seconds of a call of a tool or check."""
REPLAN_SECONDS = 60.0
"""The seconds of a planning run that brings a new plan."""
PERSON_SECONDS = 600.0
"""The seconds until a person has answered."""
REPLAN_COST = Amount(4, 8_000, 0)
"""What a planning run takes of the limits: the calls and tokens of a run of four steps."""
MESSAGES_MAX = 20_000
"""Messages after which an execution is said to run for ever; the budgets of a plan end every one long before."""
MACHINE: Machine[ExecutionState, ExecutionEvent, RunMessage] = ExecutionMachine()

_ANSWERS = (REPLAN, TRY_AGAIN, GIVE_UP)
"""The answers of a person who cannot do the step by hand: the first one that is offered."""


@dataclass(frozen=True)
class ExecutionSetup:
    """What all trials of a policy in a world have in common."""

    config: ExecutionConfig
    """The configuration of an execution; its plan and its tools are replaced for each trial."""
    limits: Limits
    """The limits of each execution."""
    task: Task
    """The goals, and the tools that can do each step."""
    odds: ToolOdds
    """How often the tools and checks of the world fail."""
    by_hand: float
    """The share of steps that a person who is asked can do."""

    def pinned(self, seed: int) -> str:
        """Return the configuration of a trial as JSON."""
        if self.odds.once == 0:
            return self._pinned_text
        tools = self.task.tools(seed, self.odds.once)
        return json.dumps({**self._pinned_fields, "tools": tools.model_dump(mode="json")})

    @cached_property
    def _pinned_fields(self) -> Mapping[str, Any]:
        plan = json.dumps(self.task.plan({}), sort_keys=True)
        tools = self.task.tools(0, 0.0).model_dump(mode="json")
        return {**self.config.model_dump(mode="json"), "plan": plan, "tools": tools}

    @cached_property
    def _pinned_text(self) -> str:
        return json.dumps(self._pinned_fields)


@dataclass
class SimulatedExecution:
    """One simulated execution, from its start to its end."""

    setup: ExecutionSetup
    """What is simulated."""
    seed: int
    """The seed of all draws."""
    events: list[ExecutionEvent] = field(default_factory=list)
    """The events so far."""
    now: float = START
    """The simulated time, in seconds."""

    def __post_init__(self) -> None:
        """Prepare the world and the author of new plans."""
        self.world = ToolWorld(self.setup.odds, self.setup.task, self.seed)
        self.ways = Ways(self.setup.task)
        self.state = MACHINE.initial()
        self._mail = 0

    def run(self) -> State:
        """Simulate the execution to its end; return its last state."""
        pinned = self.setup.pinned(self.seed)
        first = ExecutionStarted(at=START, run="lab", pinned=pinned, limits=self.setup.limits)
        self._send(first)
        queue: list[tuple[float, int, str, RunMessage]] = []
        started: set[tuple[str, float | None]] = set()
        for number in range(MESSAGES_MAX):
            for request_id, work in self._unstarted(started):
                message = self._message(work)
                heapq.heappush(queue, (message.at, number * 1_000 + len(queue), request_id, message))
            outstanding = MACHINE.outstanding(self.state)
            while queue and queue[0][2] not in outstanding:  # Withdrawn: the supervisor would have cancelled it.
                heapq.heappop(queue)
            if not queue:
                assert isinstance(self.state, State)
                assert self.state.run.finished is not None, "the execution has stopped, and nothing is open"
                return self.state
            self.now, _, _, message = heapq.heappop(queue)
            self._send(message)
        raise AssertionError("the execution goes on for ever")

    def _send(self, message: RunMessage) -> None:
        accepted = MACHINE.accept(self.state, message)
        if accepted is not None and not isinstance(accepted, Refused):
            self.state, batch = settle(MACHINE, self.state, accepted)
            self.events += batch

    def _unstarted(self, started: set[tuple[str, float | None]]) -> Iterator[tuple[str, Work]]:
        """Yield the open work that has not begun, until there is none: that a call begins is a message too."""
        while True:
            todo = {name: work for name, work in MACHINE.outstanding(self.state).items() if not _in(started, work)}
            if not todo:
                return
            for name, work in todo.items():
                started.add((name, work.until))
                if isinstance(work.request, ToolRequested):
                    self._send(Begun(name, self.now))
                yield name, work

    def _message(self, work: Work) -> RunMessage:
        """Return the message that answers a piece of work, with its time."""
        request_id, now = work.request_id, self.now
        if isinstance(work.request, ToolRequested):
            called = self.world.call(work.request.tool, request_id, now)
            return Ended(request_id, now + TOOL_SECONDS, TOOL_SECONDS, called.outcome, "", called.reason)
        match work.address:
            case address if address == CLOCK:
                assert work.until is not None
                return Woken(request_id, work.until)
            case address if address == PLANNER:
                reply = Reply(self._new_plan(work.request), None, "simulated")
                return Generated(request_id, now + REPLAN_SECONDS, REPLAN_SECONDS, reply, REPLAN_COST)
            case address if address == PROVER:
                return Judged(request_id, now, 0.0, self._verdict(work))
            case address if address == USER:
                self._mail += 1
                body = {"kind": "answer", "question": request_id, "answer": self._answer(work.request)}
                return Mailed(self._mail, f"answer-{self._mail}", json.dumps(body), now + PERSON_SECONDS)
            case _:
                raise AssertionError(f"nothing of a simulated execution has the address {work.address}")

    def _new_plan(self, request: ReplanRequested) -> str:
        state = self.state
        assert isinstance(state, State)
        assert state.replan is not None, f"the request {request.request_id} is that of a replan"
        given = given_facts(state, state.replan)
        plan = self.ways.next_plan(state.replan.trouble.step, given.initial_state or ())
        why = {"outcome": "all_pruned", "why": "no other tool can do the step"}
        return json.dumps({UNSUCCESSFUL: why} if plan is None else plan)

    def _verdict(self, work: Work) -> Verdict:
        config = self.setup.config
        text: str = MACHINE.brief(self.state, work).artifact.content
        return _proved(self.setup.task, config.level, config.required_assurance, config.r_max, text)

    def _answer(self, question: ClarificationRequested) -> str:
        """Return a person's answer: the truth about a call, or else what the fixed rule says about a step."""
        options: list[str] = question.answer_schema["enum"]
        step = question.blocks[0] if question.blocks else ""
        if SUCCEEDED in options:
            return SUCCEEDED if step in self.world.done else FAILED if step in self.world.ran else NOT_RUN
        if BY_HAND in options and self.world.by_hand(step, self.setup.by_hand):
            return BY_HAND
        return next(answer for answer in _ANSWERS if answer in options)


def _in(started: set[tuple[str, float | None]], work: Work) -> bool:
    return (work.request_id, work.until) in started


@lru_cache(maxsize=4_096)
def _proved(task: Task, level: str, assurance: str, r_max: int, text: str) -> Verdict:
    """Return the verdict on a plan for a task. Equal plans of different trials are proved once."""
    return prove(guard_of(level, task.tools(0, 0.0), assurance, r_max), text)
