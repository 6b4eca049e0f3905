"""Services of installed distributions: what they run in a process that drives runs, such as senders of messages."""

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
    """A process that drives runs, as its services see it."""

    engine: Engine
    """The engine that drives the runs, with the home's journal, settings and environment."""
    warn: Callable[[str], None]
    """Tells the user one line about something that is not possible."""
    stop: Stop | None = None
    """The stop of a host; None in a command that drives a single run."""
    health_port: int | None = None
    """The port on which a host answers health checks; None for no port."""
    report: Report = lambda _: None
    """Gets each notice of a host. A service may put a function of its own around it."""


@dataclass(frozen=True, slots=True)
class ServicePlugin:
    """A service of a distribution."""

    run: Callable[[Process], AbstractAsyncContextManager[None]]
    """Return a context. The service runs within it, and has ended when the context has been left."""
    in_hosts: bool
    """Whether it runs in hosts. Others run in each process that drives runs."""
    describe: Callable[[Mapping[str, str]], str] | None = None
    """Return what `replan doctor` says about it, for an environment; raise `UsageProblem` if something is wrong."""
    plugins: Sequence[PluginGroup] = ()
    """The groups of plug-ins that only it uses, which `replan doctor` checks."""


SERVICES = PluginGroup("replan.services", "a ServicePlugin", lambda value: isinstance(value, ServicePlugin))
"""The services by name. A service with `describe` has a row of this name in `replan doctor`."""


def usable_services() -> dict[str, ServicePlugin]:
    """Load the services, and return those that can be used, by name."""
    found = SERVICES.installed
    return {name: SERVICES.load(found[name]) for name in SERVICES.names if not SERVICES.problem(found[name])}


@asynccontextmanager
async def run_services(process: Process, *, in_hosts: bool) -> AsyncIterator[None]:
    """Run the services of hosts, or all others, within a block. One that cannot be loaded is named, and left out.

    To find services takes a command 20 ms. So a command that drives a single run looks for them only if the
    environment has a variable of `SERVICE_VARIABLES`, or the config file has a key of a distribution.
    """
    engine, services = process.engine, list[ServicePlugin]()
    if in_hosts or _asks_for_services(engine.environment) or type(engine.config) is not UserConfig:
        for name in SERVICES.names:
            try:
                service: ServicePlugin = SERVICES.load(SERVICES.installed[name])
            except UsageProblem as problem:
                process.warn(f"{problem}; it does not run")
                continue
            services += [service] if service.in_hosts == in_hosts else []
    async with AsyncExitStack() as stack:
        for service in services:
            await stack.enter_async_context(service.run(process))
        yield


def _asks_for_services(environment: Mapping[str, str]) -> bool:
    """Tell whether the environment has settings of a service."""
    return any(name.startswith(SERVICE_VARIABLES) for name in environment)
