"""Runs services, which are background tasks of installed distributions, in processes that drive runs."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from replan.runs.engine import Engine
from replan.setup.settings import UserConfig
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem
from runtime.core.extras import SERVICE_VARIABLES
from runtime.drive.options import Stop
from runtime.host.notices import Report


@dataclass(slots=True)
class Process:
    """The process in which a service runs, with the objects that the service may use."""

    engine: Engine
    """The engine that drives the runs, with the home's journal, settings and environment."""
    warn: Callable[[str], None]
    """A function that shows the user one line about a problem of the service."""
    stop: Stop | None = None
    """The object with which a service can stop the host; None in a command that drives a single run."""
    health_port: int | None = None
    """The port on which a host answers health checks; None if the host answers none."""
    report: Report = lambda _: None
    """A function that is called with each notice of a host. A service may set another function, which must also call
    this one.
    """


@dataclass(frozen=True, slots=True)
class ServicePlugin:
    """A service of an installed distribution."""

    run: Callable[[Process], AbstractAsyncContextManager[None]]
    """A function that returns a context manager. Entering it starts the service. Leaving it stops the service, and
    waits for the end.
    """
    in_hosts: bool
    """Whether the service runs only in hosts; False if it runs in each process that drives runs."""
    describe: Callable[[Mapping[str, str]], str] | None = None
    """A function that returns the text of `replan doctor` for an environment. It raises `UsageProblem` if something is
    wrong.
    """
    plugins: Sequence[PluginGroup] = ()
    """The groups of plug-ins that only this service uses. `replan doctor` checks these plug-ins."""


SERVICES = PluginGroup("replan.services", "a ServicePlugin", lambda value: isinstance(value, ServicePlugin))
"""The plug-in group of services in installed distributions. If a service has a function `describe`, `replan doctor`
shows a row for the service."""


def usable_services() -> dict[str, ServicePlugin]:
    """Return the services that can be loaded, by name."""
    found = SERVICES.installed
    return {name: SERVICES.load(found[name]) for name in SERVICES.names if not SERVICES.problem(found[name])}


@asynccontextmanager
async def run_services(process: Process, *, in_hosts: bool) -> AsyncIterator[None]:
    """For the length of a block, run all services whose field `in_hosts` equals the argument.

    The user gets a warning about a service that cannot be loaded.

    Finding the services takes 20 ms. So a command that drives a single run looks for them only if the environment or
    the config file suggests a service. The environment does so with a variable of `SERVICE_VARIABLES`, the config file
    with a key of a distribution.
    """
    engine, services = process.engine, list[ServicePlugin]()
    if in_hosts or _asks_for_services(engine.environment) or type(engine.config) is not UserConfig:
        for name in SERVICES.names:
            try:
                service: ServicePlugin = SERVICES.load(SERVICES.installed[name])
            except UsageProblem as problem:
                process.warn(f"{problem}; this service does not run")
                continue
            services += [service] if service.in_hosts == in_hosts else []
    async with AsyncExitStack() as stack:
        for service in services:
            await stack.enter_async_context(service.run(process))
        yield


def _asks_for_services(environment: Mapping[str, str]) -> bool:
    return any(name.startswith(SERVICE_VARIABLES) for name in environment)
