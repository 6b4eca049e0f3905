"""The simulated world of an execution: which results hold in truth, what a call of a tool does, and what it reports.

Every draw is a function of the seed and of the tool or the request, so policies that make the same call see the same
result. Some tools never work, for a whole trial; other faults are drawn for each call.
"""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, StringConstraints

from actors.files.config_model import Config
from actors.run.tools import ToolOutcome
from actors.simulated.profile import Share
from actors.simulated.seeded import draw
from actors.simulated.tool_task import Task

Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]


class ToolOdds(Config):
    """How often the tools and checks of a world fail, and how."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    """The name in tables; unique in the experiment."""
    description: str = Field(min_length=1)
    """One line for people."""
    fails: Share = 0.0
    """The share of calls that do not bring their result, of tools that can."""
    unsuited: Share = 0.0
    """The share of tools that never bring their result."""
    broken: Share = 0.0
    """The share of tools that cannot be called: every call ends with a permanent fault."""
    transient: Share = 0.0
    """The share of calls that end with a transient fault."""
    late: Share = 0.0
    """The share of transient faults that come after the work is done."""
    outages: Share = 0.0
    """The share of time in which no tool works: every call that begins then ends with a transient fault."""
    outage_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 60.0
    """The length of the periods that are outages or not, in seconds."""
    lies: Share = 0.0
    """The share of calls without a result that report success."""
    misses: Share = 0.0
    """The share of wrong results that a check passes."""
    alarms: Share = 0.0
    """The share of right results that a check rejects."""
    once: Share = 0.0
    """The share of tools that are not repeatable: after a transient fault a person says what the call did."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a call came to."""

    outcome: ToolOutcome
    """What it reports."""
    reason: str = ""
    """The reason of a failure, in one line; empty after a success."""


@dataclass
class ToolWorld:
    """The world of one trial: the results that hold in truth change as tools are called."""

    odds: ToolOdds
    """How often tools and checks fail."""
    task: Task
    """The steps, and the tools that can do each."""
    seed: int
    """The seed of the trial."""
    done: set[str] = field(default_factory=set)
    """The steps whose results hold in truth."""
    ran: set[str] = field(default_factory=set)
    """The steps whose last call was interrupted after its work."""
    calls: int = 0
    """The calls of tools and checks so far."""

    def call(self, tool: str, node: str, at: float) -> Called:
        """Call a tool or a check for a node of the run, at a time in seconds; the world may change."""
        self.calls += 1
        step, check = self.task.step_of(tool), self.task.is_check(tool)
        if not check and self._never(tool, "broken", self.odds.broken):
            return Called(ToolOutcome.PERMANENT, "the program is missing")
        self.ran.discard(step)
        if self._out(at):
            return Called(ToolOutcome.TRANSIENT, "the service is not available")
        if self._chance(self.odds.transient, node, "transient"):
            if not check and self._chance(self.odds.late, node, "late"):
                self.ran.add(step)
                self._work(tool, step, node)
            return Called(ToolOutcome.TRANSIENT, "it took too long")
        return self._checked(step, node) if check else self._reported(tool, step, node)

    def by_hand(self, step: str, share: float) -> bool:
        """Have a person do a step; tell whether they can: for a share of steps, once what it needs holds in truth."""
        able = self.task.needs(step) <= self.done and draw(self.seed, step, "by hand") < share
        if able:
            self.done.add(step)
        return able

    def _reported(self, tool: str, step: str, node: str) -> Called:
        if self._work(tool, step, node) or self._chance(self.odds.lies, node, "lies"):
            return Called(ToolOutcome.SUCCEEDED)
        return Called(ToolOutcome.FAILED, "there is no result")

    def _checked(self, step: str, node: str) -> Called:
        holds = step in self.done
        wrong = self._chance(self.odds.alarms if holds else self.odds.misses, node, "check")
        return Called(ToolOutcome.SUCCEEDED) if holds != wrong else Called(ToolOutcome.FAILED, "the result is wrong")

    def _work(self, tool: str, step: str, node: str) -> bool:
        """Tell whether a call brings its result; nothing comes of a step while what it needs does not hold."""
        if not self.task.needs(step) <= self.done or self._never(tool, "unsuited", self.odds.unsuited):
            return False
        brought = not self._chance(self.odds.fails, node, "fails")
        if brought:
            self.done.add(step)
        return brought

    def _never(self, tool: str, word: str, share: float) -> bool:
        return draw(self.seed, tool, word) < share

    def _out(self, at: float) -> bool:
        return draw(self.seed, "outage", int(at // self.odds.outage_seconds)) < self.odds.outages

    def _chance(self, share: float, node: str, word: str) -> bool:
        return share > 0 and draw(self.seed, node, word) < share
