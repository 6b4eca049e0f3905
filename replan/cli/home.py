"""The first lines of most commands: open the home with its log, and find the run that an argument names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from actors.run.ids import is_child
from replan.cli.logfile import logging_to
from replan.cli.options import Invocation
from replan.cli.plugins import registry_of
from replan.cli.terminal.console import notice
from replan.runs import run_ids
from replan.runs.engine import Engine
from replan.runs.home import is_writable, open_home
from replan.runs.run_ids import ALL
from replan.setup.command_name import program
from replan.setup.home_folder import locate_home
from replan.setup.settings import UserConfig, read_user_config
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.journal.port import RunRow


@asynccontextmanager
async def opened(
    invocation: Invocation,
    config: UserConfig | None = None,
    *,
    make: bool = False,
    inspect: bool = False,
    drives: bool = False,
) -> AsyncIterator[Engine]:
    """Open the home and its log, and yield the engine; `config` and `make` as `open_home` takes them.

    With `inspect`, a home that cannot be written is read as it is. Only a command that `drives` runs loads plug-ins of
    files.

    Only a command that starts something creates what is missing. The others find no runs then, and create no file.
    """
    plugins = registry_of(invocation) if drives else None
    async with open_home(registry=plugins, config=config, make=make, inspect=inspect) as engine:
        home = locate_home()
        with logging_to(invocation) if home.journal.exists() and is_writable(home) else nullcontext():
            yield engine


@asynccontextmanager
async def opened_to_read(invocation: Invocation) -> AsyncIterator[Engine]:
    """Do the same for a command that only reads: it needs no settings, so that wrong ones are only a warning."""
    path = locate_home().config
    try:
        config = read_user_config(path)
    except UsageProblem as problem:
        notice(f"warning: {problem}")
        config = UserConfig()
    async with opened(invocation, config, inspect=True) as engine:
        yield engine


async def run_named(engine: Engine, name: str) -> str:
    """Return the run that an id, or an unambiguous prefix of one, names. Raises as `run_ids.run_named`."""
    return await run_ids.run_named(engine.journal, name)


async def named_or_newest(engine: Engine, name: str | None) -> str:
    """Return the run that an argument names, or the newest run for None."""
    return await newest_run(engine, unfinished=False) if name is None else await run_named(engine, name)


async def newest_run(engine: Engine, *, unfinished: bool) -> str:
    """Return the newest run that has a record, or the newest of those that have not finished."""
    for row in await all_runs(engine):
        if row.last_seq > 0 and not (unfinished and row.summary.status == "finished"):
            return row.run
    cause = "no run to resume" if unfinished else "no runs yet"
    raise RunNotFound("", cause=f"{cause} (`{program()} run PROBLEM` starts one)")


async def all_runs(engine: Engine) -> list[RunRow]:
    """Return every run that a person has started, the newest first."""
    return [row for row in await engine.journal.runs(ALL) if not is_child(row.run)]
