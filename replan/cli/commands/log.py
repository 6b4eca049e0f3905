"""`log`: prints the records of a run, and with `--follow` those that come until it rests."""

from collections.abc import Iterable
from typing import Any

import trio

from replan.cli.exits import Exit
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import out, print_json, rich_text
from replan.runs.engine import Engine
from replan.runs.loaded import AnyKind
from replan.runs.status import status_of
from replan.views.records import record_line, record_to_json
from runtime.core.events import Record

FOLLOW_SECONDS = 0.25
"""How often `log --follow` looks for new records."""


def log_run(invocation: Invocation, name: str | None, *, follow: bool, as_json: bool) -> int:
    """Print the records of a run, or of the newest one for None. Return the exit code."""
    return trio.run(_log_run, invocation, name, follow, as_json)


async def _log_run(invocation: Invocation, name: str | None, follow: bool, as_json: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, name)
        printer = RecordPrinter(await engine.kind_of(run), as_json=as_json)
        printer.print(await engine.journal.read(run))
        while follow and await _goes_on(engine, run):
            await trio.sleep(FOLLOW_SECONDS)
            printer.print(await engine.journal.read(run, printer.last_seq))
        if follow:
            printer.print(await engine.journal.read(run, printer.last_seq))
    return Exit.OK


async def _goes_on(engine: Engine, run: str) -> bool:
    row = await engine.journal.row(run)
    return status_of(row, hosted=await engine.hosted(row.kind, row.format)) == "running"


class RecordPrinter:
    """Prints the records of one run, from the first one on."""

    def __init__(self, kind: AnyKind, *, as_json: bool = False) -> None:
        self._kind, self._console, self._json = kind, out(), as_json
        self._state: Any = kind.machine.initial()
        self.last_seq = 0

    def print(self, records: Iterable[Record[Any]]) -> None:
        """Print the records that follow on those before."""
        for record in records:
            self.last_seq = record.seq
            if self._json:
                print_json(record_to_json(self._kind, record), indent=None)
                continue
            self._state = self._kind.machine.evolve(self._state, record.event)
            self._console.print(rich_text(record_line(self._kind, record, self._state)))
