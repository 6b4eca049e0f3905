"""What most commands begin with: an open home with its logs, and the wish to stop that signals bring."""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import trio

from actors.planning.ids import is_child
from replan.cli.exits import Exit
from replan.cli.logfile import logging_to
from replan.cli.options import Invocation
from replan.runs.engine import Engine
from replan.runs.home import open_home
from replan.runs.run_ids import find_run
from replan.setup.command_name import program
from replan.setup.home_folder import locate_home
from replan.setup.settings import UserConfig, read_user_config
from replan.views.console import err, line
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.drive.options import Stop
from runtime.journal.port import RunFilter, RunRow

ALL = RunFilter(limit=1_000_000)
"""Every run of the home: an id may name the oldest one."""


@asynccontextmanager
async def opened(
    invocation: Invocation, config: UserConfig | None = None, *, make: bool = False
) -> AsyncIterator[Engine]:
    """Open the home and its log, and yield the engine; `config` and `make` as `open_home` takes them.

    Only a command that begins something has what is missing made. To the others there are no runs then, and they leave
    nothing behind, not even a log.
    """
    async with open_home(config=config, make=make) as engine:
        with logging_to(invocation) if locate_home().journal.exists() else nullcontext():
            yield engine


@asynccontextmanager
async def opened_to_read(invocation: Invocation) -> AsyncIterator[Engine]:
    """Do the same for a command that only reads: it needs no settings, so that wrong ones are only warned of."""
    try:
        config = read_user_config(locate_home().config)
    except UsageProblem as wrong:
        err().print(line(f"replan: warning: {wrong}"))
        config = UserConfig()
    async with opened(invocation, config) as engine:
        yield engine


async def run_named(engine: Engine, wanted: str) -> str:
    """Return the run that an id, or an unambiguous start of one, names."""
    return find_run(await engine.journal.runs(ALL), wanted)


async def newest_run(engine: Engine, *, unfinished: bool) -> str:
    """Return the newest run that anything was recorded of, or the newest of those that have not finished."""
    for row in await all_runs(engine):
        if row.last_seq > 0 and not (unfinished and row.summary.status == "finished"):
            return row.run
    cause = "no run to resume" if unfinished else "no runs yet"
    raise RunNotFound("", cause=f"{cause} (`{program()} run PROBLEM` starts one)")


async def all_runs(engine: Engine) -> list[RunRow]:
    """Return every run that a person has started, the newest first."""
    return [row for row in await engine.journal.runs(ALL) if not is_child(row.run)]


@dataclass
class Signals:
    """What signals asked for.

    `code` is 130 after Ctrl-C, 143 after SIGTERM; `interrupted` is set by the first one; `asking` says that the run
    only waits for the user, so that no reply is in flight.
    """

    stop: Stop = field(default_factory=Stop)
    code: Exit | None = None
    interrupted: trio.Event = field(default_factory=trio.Event)
    asking: bool = False

    async def heed(
        self, note: Callable[[str], None], cancel: Callable[[], object], elsewhere: Callable[[], bool]
    ) -> None:
        """Park at the first signal, cancel the run at the second Ctrl-C, and wait for nothing more at the third.

        `elsewhere` tells whether another process drives the run, so that there is nothing to park.
        """
        count = 0
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async for number in received:
                count += 1
                if count == 1:
                    self.code = Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED
                    if not (self.asking or elsewhere()):
                        note("parking: at most 10 s for replies in flight; Ctrl-C again cancels the run")
                    self.interrupted.set()
                    self.stop.requested.set()
                elif count == 2 and number == signal.SIGINT:
                    note("cancelling the run")
                    cancel()
                else:
                    self.stop.forced.set()
