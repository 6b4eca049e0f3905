"""Child runs: the result of one as a message to its parent run, and how it is judged."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import orjson

from actors.guards.port import AnyGuard
from actors.planning.events import Outcome
from actors.planning.machine import ChildBrief
from actors.planning.state import State
from actors.run.calls import given_up
from actors.run.messages import Faulted, Generated
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from runtime.core.clock import Clock
from runtime.drive.envelope import Envelope
from runtime.models.port import Reply
from runtime.models.replies import Parsed

Drive = Callable[[ChildBrief], Awaitable[State | None]]
"""Drives a run to its end and returns its last state; None when it was parked before."""

UNSUCCESSFUL = "unsuccessful_run"
"""The one key of what an unsuccessful run brings, in the place of an artifact."""


class ChildFailed(Exception):
    """A child run ended with a bug, so its parent does too: no call is made to answer a bug."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child run: `drive` continues it from its last record, so asking twice costs nothing."""

    drive: Drive
    clock: Clock

    async def generate(self, envelope: Envelope[ChildBrief]) -> Generated | Faulted | None:
        """Return what the run has brought and what it has cost, or None when it was parked or never begun.

        If the child run has given its provider up, so does its parent, which would ask the same provider.
        """
        if envelope.withdrawn:  # While it lay in the mailbox. What an earlier driver has used of it nobody looks up.
            return None
        brief = envelope.brief
        started = self.clock.now()
        state = await self.drive(brief)
        if state is None:
            return None
        now = self.clock.now()
        fault = given_up(state.run.calls)
        if fault is not None and state.run.finished is not None and state.run.finished.cause == "provider":
            told = fault.model_copy(update={"message": f"run {brief.run}: {fault.message}"})
            return Faulted(brief.request_id, now, now - started, told, state.run.ledger.committed)
        reply = Reply(text=brought(brief.run, state), usage=None, model=brief.pinned.model)
        return Generated(brief.request_id, now, now - started, reply, state.run.ledger.committed)


def brought(run: str, state: State) -> str:
    """Return a finished run's plan, or its last accepted artifact where it makes none, or why there is neither.

    Raises:
        ChildFailed: it ended by a bug.
    """
    end = state.end
    assert end is not None
    if end.cause == "bug":
        raise ChildFailed(f"run {run}: {end.why}")
    if end.outcome is not Outcome.SUCCESS:
        return orjson.dumps({UNSUCCESSFUL: {"run": run, "outcome": end.outcome, "why": end.why}}).decode()
    order = state.config.workflow.order()
    last = next((step for step in reversed(order) if state.config.roles[step] == "plan"), order[-1])
    accepted = state.nodes[state.latest.progress[last].accepted or ""].artifact
    assert accepted is not None
    return accepted.content


def judging(guard: AnyGuard) -> AnyGuard:
    """Return a guard that rejects what an unsuccessful run brought, and asks `guard` about the rest."""
    return partial(_judge, guard)


def _judge(guard: AnyGuard, artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
    value = artifact.value.value if isinstance(artifact.value, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {UNSUCCESSFUL}:
        return guard(artifact, context)
    told = value[UNSUCCESSFUL]
    message = f"the run of this step found nothing: {told if isinstance(told, str) else json.dumps(told)}"
    finding = Finding(code=Code.CHILD_UNSUCCESSFUL, message=message[:2000])
    return Verdict(guard="child_run", passed=False, score=0.0, findings=(finding,))
