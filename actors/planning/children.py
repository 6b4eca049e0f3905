"""Steps that are runs of their own: their result as a reply to the parent, and how it is judged."""

import json
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
import trio

from actors.guards.port import AnyGuard
from actors.planning.briefs import ChildBrief
from actors.planning.events import PlanningOutcome, RunStarted
from actors.planning.replanning import UNSUCCESSFUL
from actors.planning.state import State
from actors.run.kind import ChildRun, DriveChild
from actors.run.messages import Faulted, Generated
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import title_of
from runtime.core.clock import Clock
from runtime.drive.envelope import Envelope
from runtime.models.port import Reply
from runtime.models.replies import Parsed


class ChildFailed(Exception):
    """A child ended by a bug, so its parent does too: no call is made in answer to a bug."""


@dataclass(frozen=True, slots=True)
class ChildGenerator:
    """Generates the artifact of a step by a child run."""

    drive: DriveChild
    """Drives the child, which goes on where its journal ends: a repeated request costs nothing."""
    clock: Clock
    """The clock of the process."""

    async def generate(self, envelope: Envelope[ChildBrief]) -> Generated | Faulted | None:
        """Return the child's artifact and cost, or None when it was parked or never begun.

        Where the child waits for its provider, the parent does too: it would call the same provider.
        """
        if envelope.withdrawn:  # While it lay in the mailbox: what an earlier driver used of it is not looked up.
            return None
        brief = envelope.brief
        started = trio.current_time()
        state: State | None = await self.drive(child_of(brief))
        if state is None:
            return None
        now, elapsed = self.clock.now(), trio.current_time() - started
        if state.run.finished is None:
            return _waits(brief, state, now, elapsed)
        reply = Reply(text=artifact_of(brief.run, state), usage=None, model=brief.pinned.model)
        cost = state.run.ledger.committed
        return Generated(brief.request_id, now, elapsed, reply, cost, out_of_time=_out_of_time(state))


def _out_of_time(state: State) -> bool:
    """Tell whether a child run has ended because its deadline has passed."""
    deadline = state.run.ledger.limits.deadline
    spent_out = state.end is not None and state.end.outcome is PlanningOutcome.BUDGET_EXHAUSTED
    return spent_out and deadline is not None and state.run.now >= deadline


def _waits(brief: ChildBrief, state: State, now: float, elapsed: float) -> Faulted | None:
    wait = state.run.outage
    if wait is None or wait.fault is None:
        return None
    fault = wait.fault.model_copy(update={"message": f"run {brief.run}: {wait.fault.message}"})
    return Faulted(brief.request_id, now, elapsed, fault, until=wait.until)


def child_of(brief: ChildBrief) -> ChildRun:
    """Return the child run that a step is."""

    def first(at: float) -> RunStarted:
        return RunStarted(
            at=at,
            run=brief.run,
            specification=brief.problem,
            pinned=brief.pinned.model_dump_json(),
            limits=brief.limits,
            child=True,
            given_facts=brief.given,
        )

    return ChildRun(brief.run, "planning", title_of(brief.problem), first, brief.change)


def artifact_of(run: str, state: State) -> str:
    """Return a finished run's plan, or its last accepted artifact where it makes none, or why there is neither.

    Raises:
        ChildFailed: it ended by a bug.
    """
    end = state.end
    assert end is not None
    if end.cause == "bug":
        raise ChildFailed(f"run {run}: {end.why}")
    if end.outcome is not PlanningOutcome.SUCCESS:
        details: dict[str, Any] = {"run": run, "outcome": end.outcome, "why": end.why}
        if end.question is not None:
            details["question"] = end.question.model_dump(mode="json")
        return orjson.dumps({UNSUCCESSFUL: details}).decode()
    order = state.config.workflow.order()
    last = next((step for step in reversed(order) if state.config.roles[step] == "plan"), order[-1])
    accepted = state.nodes[state.latest.progress[last].accepted or ""].artifact
    assert accepted is not None
    return accepted.content


def child_guard(guard: AnyGuard) -> AnyGuard:
    """Return a guard that rejects the result of an unsuccessful child, and asks `guard` about all others."""
    return partial(_judge, guard)


def _judge(guard: AnyGuard, artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
    value = artifact.value.value if isinstance(artifact.value, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {UNSUCCESSFUL}:
        return guard(artifact, context)
    end = value[UNSUCCESSFUL]
    message = f"the run of this step found nothing: {end if isinstance(end, str) else json.dumps(end)}"
    finding = Finding(code=Code.CHILD_UNSUCCESSFUL, message=message[:2000])
    return Verdict(guard="child_run", passed=False, score=0.0, findings=(finding,))
