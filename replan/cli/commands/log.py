"""`log`: prints the records of a run, and with `--follow` those that come until it rests."""

from collections.abc import Iterable
from typing import Any

import trio

from replan.cli.exits import Exit
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import out, rich_text
from replan.runs.loaded import AnyKind
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
        printer = RecordPrinter(await engine.kind_of(run))
        printer.print(await engine.journal.read(run))
        while follow and status_of(await engine.journal.row(run), hosted=await engine.hosted()) == "running":
            await trio.sleep(FOLLOW_SECONDS)
            printer.print(await engine.journal.read(run, printer.last_seq))
        if follow:
            printer.print(await engine.journal.read(run, printer.last_seq))
    return Exit.OK


class RecordPrinter:
    """Prints the records of one run, from the first one on."""

    def __init__(self, kind: AnyKind) -> None:
        self._kind, self._console = kind, out()
        self._state: Any = kind.machine.initial()
        self.last_seq = 0

    def print(self, records: Iterable[Record[Any]]) -> None:
        """Print the records that follow on those before."""
        for record in records:
            self._state = self._kind.machine.evolve(self._state, record.event)
            self._console.print(rich_text(record_line(self._kind, record, self._state)))
            self.last_seq = record.seq
