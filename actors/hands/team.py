"""The team of a run: one actor per step, per guard, and the clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from actors.guards.catalogue import BUILT_IN, guard_for
from actors.guards.port import GuardFactory
from actors.hands.generators import MODEL_GENERATORS, Generator, ModelGenerator
from actors.hands.handlers import generate, judge, wait
from actors.machine.pinned import Pinned
from actors.machine.planning import CLOCK
from runtime.actor import Actor
from runtime.clock import Clock
from runtime.models.port import Model

WAITS_MAX = 1024
"""Waits side by side: one per back-off, and the deadline."""


@dataclass(frozen=True, slots=True)
class Registry:
    """What workflows may name: guards (built in and plugged in), and plug-in generators."""

    guards: Mapping[str, GuardFactory] = field(default_factory=lambda: dict(BUILT_IN))
    generators: Mapping[str, Generator] = field(default_factory=dict)

    @property
    def generator_names(self) -> frozenset[str]:
        """All generators that a workflow may name."""
        return MODEL_GENERATORS | frozenset(self.generators)


def team(pinned: Pinned, model: Model, registry: Registry, clock: Clock, *, threads: bool = True) -> list[Actor[Any]]:
    """Return the actors of a run. `threads=False` keeps slow guards in the loop, for simulation."""
    workflow = pinned.workflow
    actors: list[Actor[Any]] = [Actor(CLOCK, partial(wait, clock), concurrency=WAITS_MAX)]
    for step, pair in workflow.action_pairs.items():
        generator = registry.generators.get(pair.generator) or ModelGenerator(model)
        guard = guard_for(workflow, step, registry.guards)
        judging = partial(judge, guard, clock, threads, workflow.guard_timeout_seconds)
        actors.append(Actor(f"step:{step}", partial(generate, generator, clock), concurrency=pair.concurrency))
        actors.append(Actor(f"guard:{step}", judging, concurrency=pair.concurrency))
    return actors
