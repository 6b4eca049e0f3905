"""What the process that drives a run gives its actors: the model, its provider, the clock, plug-ins and child runs."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from actors.run.kind import ChildRun, Resources
from actors.run.waits import WaitRequested
from replan.runs.children import drive_child
from replan.runs.models import provider_of
from replan.runs.options import DriveOptions
from replan.setup.home_folder import locate_home
from runtime.models.port import Fault
from runtime.models.probe import Askable
from runtime.models.watched import WatchedModel

if TYPE_CHECKING:
    from replan.runs.engine import Engine

FRESH_SECONDS = 900.0
"""How long the answer of a provider that is down is taken by runs that nobody stays for."""


def resources_for(engine: "Engine", model_name: str | None, model: Any, options: DriveOptions) -> Resources:
    """Return the resources of a run whose model, of a name as after `--model`, is open; None for none."""
    asked: Any = model.model if isinstance(model, WatchedModel) else model
    provider = None if model_name is None else provider_of(model_name, engine.environment)

    async def drive(child: ChildRun) -> Any:
        alike = DriveOptions(stop=options.stop, at_once=options.at_once)
        return await drive_child(engine, child, (model_name, model), alike)

    async def probe(wait: WaitRequested) -> Fault | None:
        # Runs that nobody stays for are woken one after the other: they need not ask one after the other.
        fresh = FRESH_SECONDS if wait.node is None and not options.at_once else 0.0
        name = f"{provider} {model_name}"
        return await engine.probes.ask(name, asked, wait.fault, fresh=fresh, clock=engine.clock)

    return Resources(
        model=model,
        clock=engine.clock,
        drive_child=drive,
        registry=engine.registry,
        root=engine.root,
        environment=engine.environment,
        home=locate_home(engine.environment).folder,
        threads=engine.threads,
        probe=probe if isinstance(asked, Askable) else None,
        slot=nullcontext if provider is None else engine.limiter.for_run(provider),
    )
