"""The task of a simulated execution: goals of several steps, the tools that can do each step, and plans for it.

A plan uses one of the tools of each step, one of its ways. `Ways` stands for the author of new plans: its next plan has
another way for the step that failed, and no steps whose tokens hold.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from actors.files.config_model import Config
from actors.simulated.seeded import draw
from actors.tools.uses import ToolSet, ToolUse

START = "start"
"""The token that holds at the beginning."""
CHECK = "check"
"""The last part of the name of a check."""
CALL_SECONDS = 60.0
"""The time limit of a call, in seconds; no simulated call reaches it."""


class Task(Config):
    """Goals that do not depend on each other, each a chain of steps."""

    goals: Annotated[int, Field(ge=1, le=20)] = 3
    """The number of goals."""
    steps: Annotated[int, Field(ge=1, le=20)] = 2
    """The steps of each goal; each one needs the result of the one before."""
    ways: Annotated[int, Field(ge=1, le=20)] = 3
    """The tools that can do a step; a plan uses one of them."""
    attempts: Annotated[int, Field(ge=1, le=5)] = 3
    """The retry budget of a step; the plan's total covers three visits of every step, and at most 100 attempts."""

    def step_ids(self) -> Iterator[str]:
        """Yield the ids of the steps, such as `g1s2`, goal by goal."""
        return (f"g{goal}s{step}" for goal in range(1, self.goals + 1) for step in range(1, self.steps + 1))

    def needs(self, step: str) -> frozenset[str]:
        """Return the steps whose results a step needs."""
        goal, _, number = step.partition("s")
        return frozenset() if number == "1" else frozenset((f"{goal}s{int(number) - 1}",))

    def achieved(self, done: Collection[str]) -> int:
        """Return the number of goals whose steps are all among the given ones."""
        return sum(
            all(f"g{goal}s{step}" in done for step in range(1, self.steps + 1)) for goal in range(1, self.goals + 1)
        )

    def step_of(self, tool: str) -> str:
        """Return the step that a tool or check is for."""
        return tool.partition("_")[0]

    def is_check(self, tool: str) -> bool:
        """Return whether a tool is a check."""
        return tool.endswith(f"_{CHECK}")

    def tools(self, seed: int, once: float) -> ToolSet:
        """Return the tools of the task; `once` is the share that is not repeatable, drawn by the seed."""
        generators = {
            tool: _use(tool, repeatable=draw(seed, tool, "once") >= once)
            for step in self.step_ids()
            for tool in (f"{step}_way{way}" for way in range(self.ways))
        }
        guards = {tool: _use(tool, repeatable=True) for tool in (f"{step}_{CHECK}" for step in self.step_ids())}
        return ToolSet(source="", sha256="", tools={}, generators=generators, guards=guards)

    def plan(self, ways: Mapping[str, int], done: Collection[str] = ()) -> dict[str, Any]:
        """Return a plan as JSON for the steps that are not done; `ways` has the way of each step, or 0."""
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
    """The simulated author of new plans: each step has its tools tried in turn."""

    task: Task
    """The task that the plans are for."""
    current: dict[str, int] = field(default_factory=dict)
    """The way of each step that has failed, as a number."""

    def next_plan(self, failed: str, tokens: Collection[str]) -> dict[str, Any] | None:
        """Return a plan from the tokens that hold, with another way for a failed step; None where none is left."""
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
