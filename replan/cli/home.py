"""Opens the home and its log, for most commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

from actors.handlers.generators import Registry
from replan.cli.logfile import open_log
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice
from replan.cli.terminal.prompt import may_ask
from replan.runs.engine import Engine
from replan.runs.home import is_writable, open_home
from replan.runs.services import Process, run_services
from replan.setup.home_folder import database_url, locate_home
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, read_user_config
from runtime.core.errors import UsageProblem
from runtime.journal.port import Placement
from runtime.journal.validation import check_placement


def registry_of(invocation: Invocation) -> Registry:
    """Return the registry of plug-ins, including the plug-in files of the config file and the command."""
    config = locate_home().config
    configured = [config.parent / name for name in read_user_config(config).plugins]
    return registry(files=(*configured, *invocation.plugins))


@asynccontextmanager
async def open_engine(
    invocation: Invocation,
    config: UserConfig | None = None,
    *,
    make: bool = False,
    inspect: bool = False,
    drives: bool = False,
) -> AsyncIterator[Engine]:
    """Open the home and its log, and yield the engine. `config` and `make` are the same as for `open_home`.

    With `inspect`, a home that cannot be written is read without changes. Commands that drive runs pass `drives`.
    Without `drives`, no plug-in file is loaded, and no service runs.

    Only commands that start a run or a host pass `make`, which creates missing files. If files are missing, other
    commands find no runs.
    """
    plugins, placement = registry_of(invocation) if drives else None, Placement(invocation.tenant, invocation.priority)
    check_placement(placement)
    async with open_home(registry=plugins, config=config, make=make, inspect=inspect) as engine:
        home = locate_home()
        kept = home.journal.exists() or (database_url() is not None and home.folder.exists())
        with open_log(invocation) if kept and is_writable(home) else nullcontext():
            services = run_services(Process(engine, notice), in_hosts=False)
            async with services if drives else nullcontext():
                yield replace(engine, placement=placement, by="cli", asks=may_ask(no_input=invocation.no_input))


@asynccontextmanager
async def open_for_reading(invocation: Invocation) -> AsyncIterator[Engine]:
    """Open the home for a command that only reads. If the settings are wrong, the user only gets a warning."""
    path = locate_home().config
    try:
        config = read_user_config(path)
    except UsageProblem as problem:
        notice(f"warning: {problem}")
        config = UserConfig()
    async with open_engine(invocation, config, inspect=True) as engine:
        yield engine
