"""The actor that drives the planning runs of replans."""

from dataclasses import dataclass

import orjson
import trio

from actors.execution.replan_brief import ReplanBrief
from actors.execution.replan_reply import NewPlan, NoPlan, Question, ReplanResult, text_of
from actors.planning.children import ChildFailed, artifact_of
from actors.planning.events import Outcome
from actors.planning.messages import Begin
from actors.planning.state import State
from actors.run.kind import ChildRun, DriveChild
from actors.run.messages import Faulted, Generated
from actors.values.format import title_of
from runtime.core.clock import Clock
from runtime.drive.envelope import Envelope
from runtime.models.port import Reply


@dataclass(frozen=True, slots=True)
class Planner:
    """Drives a planning run to its end, and returns what it has brought."""

    drive: DriveChild
    """Drives the run, which goes on where its journal ends: a repeated request costs nothing."""
    clock: Clock
    """The clock of the process."""

    async def plan(self, envelope: Envelope[ReplanBrief]) -> Generated | Faulted | None:
        """Return the new plan and its cost, or None when the run was parked or never begun.

        Where the run waits for its provider, the execution does too. Raises `ChildFailed` where it ended by a bug.
        """
        if envelope.withdrawn:  # While it lay in the mailbox.
            return None
        brief = envelope.brief
        started = trio.current_time()
        state: State | None = await self.drive(child_of(brief))
        if state is None:
            return None
        now, elapsed = self.clock.now(), trio.current_time() - started
        if state.run.finished is None:
            wait = state.run.outage
            if wait is None or wait.fault is None:
                return None
            fault = wait.fault.model_copy(update={"message": f"run {brief.run}: {wait.fault.message}"})
            return Faulted(brief.request_id, now, elapsed, fault, until=wait.until)
        reply = Reply(text=text_of(result_of(brief, state)), usage=None, model=brief.pinned.model)
        late = state.run.ledger.limits.deadline
        out = state.run.finished.outcome == Outcome.BUDGET_EXHAUSTED and late is not None and state.run.now >= late
        return Generated(brief.request_id, now, elapsed, reply, state.run.ledger.committed, out_of_time=out)


def child_of(brief: ReplanBrief) -> ChildRun:
    """Return the planning run of a replan."""

    def first(at: float) -> Begin:
        return Begin(at, brief.run, brief.problem, brief.pinned.model_dump_json(), brief.limits, child=True)

    return ChildRun(brief.run, "planning", title_of(brief.problem), first, brief.change)


def result_of(brief: ReplanBrief, state: State) -> ReplanResult:
    """Return what a finished planning run has brought. Raises `ChildFailed` where it ended by a bug."""
    end = state.run.finished
    assert end is not None
    if end.cause == "bug":
        raise ChildFailed(f"run {brief.run}: {end.why}")
    if end.outcome != Outcome.SUCCESS:
        return NoPlan(f"run {brief.run} ended as {end.outcome}: {end.why}")
    return NewPlan(orjson.dumps(orjson.loads(artifact_of(brief.run, state))).decode())


__all__ = ["Planner", "Question", "child_of", "result_of"]
