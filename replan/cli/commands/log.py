"""`log`: prints the records of a run, and with `--follow` those that come until it rests."""

from collections.abc import Iterable

import trio

from actors.planning.config import RunConfig
from actors.planning.events import PlanningEvent
from replan.cli.exits import Exit
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import out, rich_text
from replan.runs.engine import Engine
from replan.runs.status import status_of
from replan.views.records import record_line
from runtime.core.events import Record

FOLLOW_SECONDS = 0.25
"""How often `log --follow` looks for new records."""


def log_run(invocation: Invocation, wanted: str | None, *, follow: bool) -> int:
    """Print the records of a run, or of the newest one for None. Return the exit code."""
    return trio.run(_log_run, invocation, wanted, follow)


async def _log_run(invocation: Invocation, wanted: str | None, follow: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, wanted)
        printer = RecordPrinter(engine)
        printer.print(await engine.journal.read(run))
        while follow and status_of(await engine.journal.row(run), hosted=await engine.hosted()) == "running":
            await trio.sleep(FOLLOW_SECONDS)
            printer.print(await engine.journal.read(run, printer.last_seq))
        if follow:
            printer.print(await engine.journal.read(run, printer.last_seq))
    return Exit.OK


class RecordPrinter:
    """Prints the records of one run, from the first one on."""

    def __init__(self, engine: Engine) -> None:
        self._machine, self._console = engine.machine, out()
        self._config: RunConfig | None = None
        self.last_seq = 0

    def print(self, records: Iterable[Record[PlanningEvent]]) -> None:
        """Print the records that follow on those before."""
        for record in records:
            if self._config is None:
                self._config = self._machine.evolve(self._machine.initial(), record.event).config
            self._console.print(rich_text(record_line(record, self._config)))
            self.last_seq = record.seq
