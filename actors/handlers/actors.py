"""The team of a run: one actor per step, per guard, the clock, and the classifier where the workflow has one."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from actors.config.action_pair import CHILD
from actors.config.step_guards import guard_for, guards_of, is_slow
from actors.config.workflow import FREE_GENERATORS, MODEL_GENERATORS, ActionPair, Workflow
from actors.guards.built_in import BUILT_IN
from actors.guards.port import GuardFactory
from actors.handlers.children import Child, Drive, judging
from actors.handlers.generators import Generator, ModelGenerator
from actors.handlers.handlers import generate, judge, wait
from actors.planning.config import RunConfig
from actors.policy.cause import CLASSIFIER
from actors.run.waits import CLOCK
from runtime.core.clock import Clock
from runtime.drive.actor import Actor
from runtime.drive.envelope import Handler
from runtime.models.limiter import CallSlot
from runtime.models.port import Model

WAITS_MAX = 1024
"""Waits side by side: one per back-off, and the deadline."""


@dataclass(frozen=True, slots=True)
class Registry:
    """What workflows may name: guards (built in and plugged in), and plug-in generators.

    `templates` is the folder of the plan templates; without one there is no template selector.
    """

    guards: Mapping[str, GuardFactory] = field(default_factory=lambda: dict(BUILT_IN))
    generators: Mapping[str, Generator] = field(default_factory=dict)
    templates: Path | None = None

    @property
    def generator_names(self) -> frozenset[str]:
        """All generators that a workflow may name."""
        built_in = MODEL_GENERATORS if self.templates is None else MODEL_GENERATORS | FREE_GENERATORS
        return built_in | frozenset(self.generators)

    def missing(self, workflow: Workflow) -> tuple[str, ...]:
        """Return the plug-ins that a workflow needs and this lacks, such as `guard 'mine'`, each once."""
        needed = dict.fromkeys(
            (kind, name)
            for step, pair in workflow.action_pairs.items()
            for kind, names in (("generator", (pair.generator,)), ("guard", guards_of(workflow, step)))
            for name in names
            if not name.startswith(CHILD)
        )
        known = {"generator": self.generator_names, "guard": self.guards}
        return tuple(f"{kind} {name!r}" for kind, name in needed if name not in known[kind])


def actors_for(
    pinned: RunConfig,
    model: Model,
    registry: Registry,
    clock: Clock,
    *,
    threads: bool = True,
    turn: CallSlot = nullcontext,
    drive: Drive | None = None,
) -> list[Actor[Any, Any]]:
    """Return the actors of a run. `threads=False` keeps slow guards in the loop, for simulation.

    `turn` says when a call to the model may be sent; `drive` drives the runs that steps are: a workflow without such
    steps needs none.

    The registry must have all that the workflow names (`Registry.missing`): nothing takes the place of a plug-in, least
    of all a model that is paid for.
    """
    workflow, asking = pinned.workflow, ModelGenerator(model)
    actors: list[Actor[Any, Any]] = [Actor(CLOCK, partial(wait, clock), concurrency=WAITS_MAX)]
    if workflow.classifications_max:
        actors.append(Actor(CLASSIFIER, partial(generate, asking, clock, turn), concurrency=len(workflow.action_pairs)))
    for step, pair in workflow.action_pairs.items():
        guard = guard_for(workflow, step, registry.guards)
        if pair.child is not None:
            assert drive is not None
            making: Handler[Any, Any] = Child(drive, clock).generate
            guard = judging(guard)
        else:
            generator = _generator(pair, asking, registry)
            own = turn if generator is asking else nullcontext
            making = partial(generate, generator, clock, own)
        in_thread = None if threads and not is_slow(workflow, step, registry.guards) else threads
        deciding = partial(judge, guard, clock, in_thread, workflow.guard_timeout_seconds)
        actors.append(Actor(f"step:{step}", making, concurrency=pair.concurrency))
        actors.append(Actor(f"guard:{step}", deciding, concurrency=pair.concurrency))
    return actors


def _generator(pair: ActionPair, asking: ModelGenerator, registry: Registry) -> Generator:
    """Return a step's generator. Raises `UsageProblem` on bad settings."""
    if pair.generator in MODEL_GENERATORS:
        return asking
    if pair.generator in FREE_GENERATORS and registry.templates is not None:
        from actors.handlers.templates import TemplateSelectorGenerator  # noqa: PLC0415 - few workflows need the rules

        return TemplateSelectorGenerator(registry.templates, pair.generator_config)
    return registry.generators[pair.generator]
