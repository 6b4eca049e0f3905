"""The actors of a planning run, including the actors for child runs."""

import json
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
import trio

from actors.config.action_pair import ActionPair
from actors.config.step_guards import is_slow, make_step_guard
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS, TOOL_PLANS
from actors.guards.port import AnyGuard
from actors.handlers.generators import Generator, ModelGenerator, Registry
from actors.handlers.handlers import generate, judge, wait
from actors.handlers.plan_generators import ToolPlanGenerator
from actors.planning.briefs import ChildBrief
from actors.planning.config import RunConfig
from actors.planning.events import PlanningOutcome, RunStarted
from actors.planning.replanning import UNSUCCESSFUL
from actors.planning.state import State
from actors.policy.table import CLASSIFIER
from actors.run.calls import Faulted, Generated
from actors.run.kind import ChildRun, DriveChild, Resources, no_limit
from actors.run.near_limit import LimitNear
from actors.run.waits import CLOCK
from actors.run.words import in_words
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import title_of
from runtime.core.clock import Clock
from runtime.core.messages import LimitUsed
from runtime.drive.actor import Actor, Envelope, Handler
from runtime.models.port import Reply
from runtime.models.replies import Parsed


class ChildFailed(Exception):
    """A child run ended because of a bug. The parent run ends too, because no call is made after a bug."""


@dataclass(frozen=True, slots=True)
class ChildGenerator:
    """Generates the artifact of a step with a child run."""

    drive: DriveChild
    """Drives the child.

    If the request is repeated, the child run continues from the end of its journal, so no call is paid for twice.
    """
    clock: Clock

    async def generate(self, envelope: Envelope[ChildBrief]) -> Generated | Faulted | None:
        """Return the child's artifact and cost; None if the child was parked or has not begun.

        If the child waits for its provider, the parent waits too, because the parent would call the same provider.
        """
        if envelope.withdrawn:  # It was withdrawn in the mailbox. Costs of an earlier driver are not read.
            return None
        brief = envelope.brief
        started = trio.current_time()

        async def tell(near: LimitNear) -> None:
            whose = f"the limit of {in_words(brief.request_id)}"
            used, most = int(near.used), int(near.most)
            message = LimitUsed(self.clock.now(), whose, near.limit, used, most, brief.request_id)
            await envelope.record(message)

        state: State | None = await self.drive(replace(child_of(brief), tell=tell))
        if state is None:
            return None
        now, elapsed = self.clock.now(), trio.current_time() - started
        if state.run.finished is None:
            return _wait_of_parent(brief, state, now, elapsed)
        reply = Reply(text=artifact_of(brief.run, state), usage=None, model=brief.pinned.model)
        cost = state.run.ledger.committed
        return Generated(brief.request_id, now, elapsed, reply, cost, out_of_time=_is_out_of_time(state))


def _is_out_of_time(state: State) -> bool:
    spent_out = state.end is not None and state.end.outcome is PlanningOutcome.BUDGET_EXHAUSTED
    return spent_out and state.run.ledger.ended_by(state.run.now) is not None


def _wait_of_parent(brief: ChildBrief, state: State, now: float, elapsed: float) -> Faulted | None:
    wait = state.run.outage
    if wait is None or wait.fault is None:
        return None
    fault = wait.fault.model_copy(update={"message": f"run {brief.run}: {wait.fault.message}"})
    return Faulted(brief.request_id, now, elapsed, fault, until=wait.until)


def child_of(brief: ChildBrief) -> ChildRun:
    """Return the child run for a step."""

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
    """Return the artifact of a finished run.

    The artifact of a successful run is the plan, or the artifact of the last step if no step makes a plan. The artifact
    of any other run is a JSON object with the reason.

    Raises:
        ChildFailed: the run ended because of a bug.
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
    order = state.config.workflow.graph.order
    last = next((step for step in reversed(order) if state.config.roles[step] == "plan"), order[-1])
    accepted = state.nodes[state.latest.progress[last].accepted or ""].artifact
    assert accepted is not None
    return accepted.content


def child_guard(guard: AnyGuard) -> AnyGuard:
    """Return a guard that rejects the result of an unsuccessful child, and passes every other result to `guard`."""
    return partial(_judge, guard)


def _judge(guard: AnyGuard, artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
    value = artifact.value.value if isinstance(artifact.value, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {UNSUCCESSFUL}:
        return guard(artifact, context)
    end = value[UNSUCCESSFUL]
    message = f"the child run of this step has no result: {end if isinstance(end, str) else json.dumps(end)}"
    finding = Finding(code=Code.CHILD_UNSUCCESSFUL, message=message[:2000])
    return Verdict(guard="child_run", passed=False, score=0.0, findings=(finding,))


WAITS_MAX = 1024
"""The largest number of waits that a planning run has open at a time. The deadline and each back-off are one wait
each."""


def actors_for(config: RunConfig, resources: Resources) -> list[Actor[Any, Any]]:
    """Return the actors of a planning run: one for each step, each guard, the clock and the classifier.

    The registry must have every plug-in that the workflow names (`Registry.find_missing`). Otherwise a step would use
    the model in place of a missing plug-in.
    """
    workflow, clock = config.workflow, resources.clock
    registry: Registry = resources.registry
    model, slot = ModelGenerator(resources.model), resources.slot
    actors: list[Actor[Any, Any]] = [Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX)]
    if workflow.classifications_max:
        concurrency = len(workflow.action_pairs)
        actors.append(Actor(CLASSIFIER, partial(generate, model, clock, slot), concurrency=concurrency))
    for step, pair in workflow.action_pairs.items():
        guard = make_step_guard(workflow, step, registry.guards)
        if pair.child is not None:
            generation: Handler[Any, Any] = ChildGenerator(resources.drive_child, clock).generate
            guard = child_guard(guard)
        else:
            generator = _generator(pair, model, registry)
            generation = partial(generate, generator, clock, slot if generator is model else no_limit)
        # A slow guard always runs in a thread. Any other guard runs in a thread only for a large artifact. Simulations
        # use no threads.
        in_thread = None if resources.threads and not is_slow(workflow, step, registry.guards) else resources.threads
        judgement = partial(judge, guard, clock, in_thread, workflow.guard_timeout_seconds)
        actors.append(Actor(f"step:{step}", generation, concurrency=pair.concurrency))
        actors.append(Actor(f"guard:{step}", judgement, concurrency=pair.concurrency))
    return actors


def _generator(pair: ActionPair, model: ModelGenerator, registry: Registry) -> Generator:
    """Return a step's generator. Raises `UsageProblem` if its settings are wrong."""
    if pair.generator in MODEL_GENERATORS:
        return model
    if pair.generator == TOOL_PLANS:
        return ToolPlanGenerator(pair.generator_config)
    if pair.generator in FREE_GENERATORS and registry.templates is not None:
        from actors.handlers.plan_generators import TemplateSelectorGenerator  # noqa: PLC0415 - few workflows need the rules

        return TemplateSelectorGenerator(registry.templates, pair.generator_config)
    return registry.generators[pair.generator]
