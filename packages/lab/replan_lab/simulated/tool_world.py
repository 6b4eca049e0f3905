"""Simulated executions: the task, plans for it, and the world of its tools.

A task has goals of several steps. Several tools can do each step, and a plan uses one of these tools. Every random
number depends only on the seed, and on the tool or the id of the request. So two policies that make the same call get
the same result. Some tools never work in a trial. All other faults are drawn separately for each call.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from actors.files.validation_errors import Config
from actors.run.tools import ToolOutcome
from actors.tools.uses import ToolSet, ToolUse
from replan_lab.simulated.profile import Share
from replan_lab.simulated.seeded import draw

START = "start"
CHECK = "check"
CALL_SECONDS = 60.0
"""The time limit of a simulated tool call, in seconds. No simulated call takes so long."""


class Task(Config):
    """A task with independent goals. Each goal is a chain of steps."""

    goals: Annotated[int, Field(ge=1, le=20)] = 3
    """The number of goals."""
    steps: Annotated[int, Field(ge=1, le=20)] = 2
    """The number of steps of each goal. Each step needs the result of the previous step."""
    ways: Annotated[int, Field(ge=1, le=20)] = 3
    """The number of tools that can do a step. A plan uses one of these tools."""
    attempts: Annotated[int, Field(ge=1, le=5)] = 3
    """The retry budget of a step. The plan's total retry budget covers three visits of every step, but is at most 100.
    """

    def step_ids(self) -> Iterator[str]:
        """Yield the ids of the steps, such as `g1s2`, goal by goal."""
        return (f"g{goal}s{step}" for goal in range(1, self.goals + 1) for step in range(1, self.steps + 1))

    def needs(self, step: str) -> frozenset[str]:
        """Return the ids of the steps whose results a step needs."""
        goal, _, number = step.partition("s")
        return frozenset() if number == "1" else frozenset((f"{goal}s{int(number) - 1}",))

    def achieved(self, done: Collection[str]) -> int:
        """Return how many goals have all of their steps in `done`."""
        return sum(
            all(f"g{goal}s{step}" in done for step in range(1, self.steps + 1)) for goal in range(1, self.goals + 1)
        )

    def step_of(self, tool: str) -> str:
        """Return the id of the step that a tool or check belongs to."""
        return tool.partition("_")[0]

    def is_check(self, tool: str) -> bool:
        """Return whether a tool is a check."""
        return tool.endswith(f"_{CHECK}")

    def tools(self, seed: int, once: float) -> ToolSet:
        """Return the tools of the task.

        `once` is the share of tools that are not repeatable, and the seed decides which ones they are.
        """
        generators = {
            tool: _use(tool, repeatable=draw(seed, tool, "once") >= once)
            for step in self.step_ids()
            for tool in (f"{step}_way{way}" for way in range(self.ways))
        }
        guards = {tool: _use(tool, repeatable=True) for tool in (f"{step}_{CHECK}" for step in self.step_ids())}
        return ToolSet(source="", sha256="", tools={}, generators=generators, guards=guards)

    def plan(self, ways: Mapping[str, int], done: Collection[str] = ()) -> dict[str, Any]:
        """Return a plan as JSON for the steps that are not `done`.

        `ways` maps the id of a step to the number of its tool. A step that is not in `ways` uses the tool 0.
        """
        steps = [self._step(step, ways.get(step, 0), done) for step in self.step_ids() if step not in done]
        return {
            "plan_id": "simulated",
            "goal": "achieve every goal",
            "initial_state": [START, *sorted(token_of(step) for step in done)],
            "goal_state": [token_of(f"g{goal}s{self.steps}") for goal in range(1, self.goals + 1)],
            "total_retry_budget": min(100, max(1, 3 * self.attempts * len(steps))),
            "steps": steps,
        }

    def _step(self, step: str, way: int, done: Collection[str]) -> dict[str, Any]:
        return {
            "step_id": step,
            "name": step,
            "generator": f"{step}_way{way % self.ways}",
            "guard": f"{step}_{CHECK}",
            "retry_budget": self.attempts,
            "dependencies": [other for other in self.needs(step) if other not in done],
            "preconditions": [START, *map(token_of, self.needs(step))],
            "effects": [token_of(step)],
        }


@dataclass
class Ways:
    """The simulated author of new plans. After a step has failed, the new plan uses the next tool for this step."""

    task: Task
    current: dict[str, int] = field(default_factory=dict)

    def next_plan(self, failed: str, tokens: Collection[str]) -> dict[str, Any] | None:
        """Return a plan whose initial state has the tokens that hold.

        The plan uses the next tool for the step `failed`. Return None if the step has no further tool. If `failed` is
        empty, every step keeps its tool.
        """
        if failed:
            self.current[failed] = self.current.get(failed, 0) + 1
            if self.current[failed] >= self.task.ways:
                return None
        return self.task.plan(self.current, [step for step in self.task.step_ids() if token_of(step) in tokens])


def token_of(step: str) -> str:
    """Return the token that a step adds."""
    return f"{step}_done"


def _use(tool: str, *, repeatable: bool) -> ToolUse:
    return ToolUse(tool=tool, arguments="{}", repeatable=repeatable, risky=False, timeout_seconds=CALL_SECONDS)


class ToolOdds(Config):
    """The rates and kinds of failures of the tools and checks in a world."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """The name in tables; unique in the experiment."""
    description: str = Field(min_length=1)
    """One line for people."""
    fails: Share = 0.0
    """The share of calls without a result, among the calls of tools that can produce a result."""
    unsuited: Share = 0.0
    """The share of tools that never produce their result."""
    broken: Share = 0.0
    """The share of tools that cannot be called: every call ends with a permanent fault."""
    transient: Share = 0.0
    """The share of calls that end with a transient fault."""
    late: Share = 0.0
    """The share of transient faults that occur only after the tool has done its work."""
    outages: Share = 0.0
    """The share of time in which no tool works. Every call that begins in this time ends with a transient fault."""
    outage_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 60.0
    """The length of the periods into which time is divided, in seconds. An outage lasts for a whole period."""
    lies: Share = 0.0
    """The share of calls without a result that report success."""
    misses: Share = 0.0
    """The share of checks of wrong results that accept the result."""
    alarms: Share = 0.0
    """The share of checks of right results that reject the result."""
    once: Share = 0.0
    """The share of tools that are not repeatable. After a transient fault of such a tool, a person says what the call
    did."""


@dataclass(frozen=True, slots=True)
class Called:
    """The result of a call."""

    outcome: ToolOutcome
    reason: str = ""


@dataclass
class ToolWorld:
    """The world of one trial. It knows which steps are really done, and calls of tools change this."""

    odds: ToolOdds
    task: Task
    seed: int
    done: set[str] = field(default_factory=set)
    """The ids of the steps that are really done."""
    ran: set[str] = field(default_factory=set)
    """The ids of the steps whose last call ended with a transient fault after the tool had done its work."""
    calls: int = 0

    def call(self, tool: str, node: str, at: float) -> Called:
        """Simulate a call of a tool or a check, which may change the world.

        `node` is the request's id; `at` is the time in seconds.
        """
        self.calls += 1
        step, check = self.task.step_of(tool), self.task.is_check(tool)
        if not check and self._never_works(tool, "broken", self.odds.broken):
            return Called(ToolOutcome.PERMANENT, "the program is missing")
        self.ran.discard(step)
        if self._is_outage(at):
            return Called(ToolOutcome.TRANSIENT, "the service is not available")
        if self._chance(self.odds.transient, node, "transient"):
            if not check and self._chance(self.odds.late, node, "late"):
                self.ran.add(step)
                self._do_work(tool, step, node)
            return Called(ToolOutcome.TRANSIENT, "it took too long")
        return self._judge(step, node) if check else self._report(tool, step, node)

    def do_by_hand(self, step: str, share: float) -> bool:
        """Let a person do a step, and return whether the person did it.

        The person can do a share of the steps: `share`. The steps whose results the step needs must be done.
        """
        able = self.task.needs(step) <= self.done and draw(self.seed, step, "by hand") < share
        if able:
            self.done.add(step)
        return able

    def _report(self, tool: str, step: str, node: str) -> Called:
        if self._do_work(tool, step, node) or self._chance(self.odds.lies, node, "lies"):
            return Called(ToolOutcome.SUCCEEDED)
        return Called(ToolOutcome.FAILED, "there is no result")

    def _judge(self, step: str, node: str) -> Called:
        holds = step in self.done
        wrong = self._chance(self.odds.alarms if holds else self.odds.misses, node, "check")
        return Called(ToolOutcome.SUCCEEDED) if holds != wrong else Called(ToolOutcome.FAILED, "the result is wrong")

    def _do_work(self, tool: str, step: str, node: str) -> bool:
        """Do the work of a call, and return whether it produces the result of the step.

        It can do so only if the steps whose results the step needs are done.
        """
        if not self.task.needs(step) <= self.done or self._never_works(tool, "unsuited", self.odds.unsuited):
            return False
        brought = not self._chance(self.odds.fails, node, "fails")
        if brought:
            self.done.add(step)
        return brought

    def _never_works(self, tool: str, word: str, share: float) -> bool:
        return draw(self.seed, tool, word) < share

    def _is_outage(self, at: float) -> bool:
        return draw(self.seed, "outage", int(at // self.odds.outage_seconds)) < self.odds.outages

    def _chance(self, share: float, node: str, word: str) -> bool:
        return share > 0 and draw(self.seed, node, word) < share
