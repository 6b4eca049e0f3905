"""Admitting a run of any kind from Python, for a host or `replan resume` to drive."""

from dataclasses import replace
from functools import partial
from typing import Any

from replan.api.loops import blocking, in_any_loop, same_parameters
from replan.api.options import Home, environment_of, placed
from replan.runs.home import open_home
from replan.runs.models import check_model
from replan.runs.prepare import setup_for
from replan.setup.home_folder import locate_home
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry
from replan.setup.settings import choose_model, read_user_config
from replan.setup.version import data_root
from runtime.core.clock import SystemClock

__all__ = ["aadmit", "admit"]


async def aadmit(
    kind: str, task: Any, *, model: str | None = None, home: Home = None, tenant: str = "", priority: int = 0
) -> str:
    """Record the start of a run of a kind, and return its id; the run is durable then, and a host drives it.

    `kind` is the name of an installed kind (`replan.kinds`); `task` is what its `prepare` takes, such as a text for a
    small agent; `model` is as after `--model`; `home` is a folder, None for `$REPLAN_HOME`; `tenant` and `priority`
    are those of `start`. Where no host serves the home, `replan resume` drives the run. Raises `UsageProblem`, before
    anything is written.
    """
    placement = placed(tenant, priority)

    async def work() -> str:
        environment = environment_of(home)
        config = read_user_config(locate_home(environment).config)
        choice = choose_model(model, environment, config)
        check_model(choice.spec, environment)
        kinds, plugins, clock = Kinds(), registry(), SystemClock()
        setup = setup_for(
            choice, config=config, registry=plugins, root=data_root(), environment=environment, now=clock.now()
        )
        prepared = kinds.named(kind).prepare(task, setup)
        async with open_home(
            registry=plugins, kinds=kinds, clock=clock, environment=environment, config=config
        ) as engine:
            return await replace(engine, placement=placement, by="python").admit(prepared)

    return await in_any_loop(work)


@same_parameters(aadmit)
def admit(kind: str, task: Any, **options: Any) -> str:
    """Record the start of a run of a kind, as `aadmit` does, outside of a trio or asyncio program."""
    return blocking("admit", partial(aadmit, kind, task, **options))
