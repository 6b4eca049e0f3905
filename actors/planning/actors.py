"""The actors of a planning run."""

from functools import partial
from typing import Any

from actors.config.step_guards import guard_for, is_slow
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS, PDDL_PLANS, TOOL_PLANS, ActionPair
from actors.handlers.generators import Generator, ModelGenerator
from actors.handlers.handlers import generate, judge, wait
from actors.handlers.pddl_plans import PddlPlanGenerator
from actors.handlers.registry import Registry
from actors.handlers.tool_plans import ToolPlanGenerator
from actors.planning.children import ChildGenerator, child_guard
from actors.planning.config import RunConfig
from actors.policy.cause import CLASSIFIER
from actors.run.kind import Resources, no_limit
from actors.run.waits import CLOCK
from runtime.drive.actor import Actor
from runtime.drive.envelope import Handler

WAITS_MAX = 1024
"""Waits side by side: one per back-off, and the deadline."""


def actors_for(config: RunConfig, resources: Resources) -> list[Actor[Any, Any]]:
    """Return the actors of a planning run: for each step and each guard, for the clock and for the classifier.

    The registry must have all that the workflow names (`Registry.missing`): no model is called in place of a plug-in.
    """
    workflow, clock = config.workflow, resources.clock
    registry: Registry = resources.registry
    model, slot = ModelGenerator(resources.model), resources.slot
    actors: list[Actor[Any, Any]] = [Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX)]
    if workflow.classifications_max:
        concurrency = len(workflow.action_pairs)
        actors.append(Actor(CLASSIFIER, partial(generate, model, clock, slot), concurrency=concurrency))
    for step, pair in workflow.action_pairs.items():
        guard = guard_for(workflow, step, registry.guards)
        if pair.child is not None:
            generation: Handler[Any, Any] = ChildGenerator(resources.drive_child, clock).generate
            guard = child_guard(guard)
        else:
            generator = _generator(pair, model, registry)
            generation = partial(generate, generator, clock, slot if generator is model else no_limit)
        # A slow guard always runs in a thread, another one only for a large artifact; in simulations, none does.
        in_thread = None if resources.threads and not is_slow(workflow, step, registry.guards) else resources.threads
        judgement = partial(judge, guard, clock, in_thread, workflow.guard_timeout_seconds)
        actors.append(Actor(f"step:{step}", generation, concurrency=pair.concurrency))
        actors.append(Actor(f"guard:{step}", judgement, concurrency=pair.concurrency))
    return actors


def _generator(pair: ActionPair, model: ModelGenerator, registry: Registry) -> Generator:
    """Return a step's generator. Raises `UsageProblem` on bad settings."""
    if pair.generator in MODEL_GENERATORS:
        return model
    if pair.generator == PDDL_PLANS:
        return PddlPlanGenerator()
    if pair.generator == TOOL_PLANS:
        return ToolPlanGenerator(pair.generator_config)
    if pair.generator in FREE_GENERATORS and registry.templates is not None:
        from actors.handlers.templates import TemplateSelectorGenerator  # noqa: PLC0415 - few workflows need the rules

        return TemplateSelectorGenerator(registry.templates, pair.generator_config)
    return registry.generators[pair.generator]
