"""`log`: prints the records of a run, and with `--follow` those that come until it rests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples
from replan.cli.run_options import require_one_run, run_argument
from replan.cli.terminal.console import print_json, print_row
from replan.runs.loaded import AnyKind
from replan.views.records import record_line, record_to_json
from runtime.core.events import Record

if TYPE_CHECKING:
    from replan.runs.loaded import AnyKind
    from replan.runs.reader import RunReader
    from runtime.core.events import Record

_LOG = examples(
    "replan log k7m2x9qa",
    "replan log --last --follow",
    "replan log --last --json | jq -r .kind",
)


@click.command(epilog=_LOG)
@run_argument()
@click.option("-f", "--follow", is_flag=True, help="Go on until the run comes to rest.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@common
@click.pass_obj
def log(invocation: Invocation, run_id: str | None, *, last: bool, follow: bool, as_json: bool) -> int:
    """Print the records of a RUN, a line each."""
    require_one_run("log", run_id, last=last)
    from replan.cli.reading import archive_named, reading_run

    if follow and (run_id is None or archive_named(run_id) is None):
        import trio

        return trio.run(_follow, invocation, run_id, as_json)
    kind, records = reading_run(invocation, run_id, _read)
    RecordPrinter(kind, as_json=as_json).print(records)
    return Exit.OK


FOLLOW_SECONDS = 0.25
"""How often `log --follow` looks for new records."""


async def _read(reader: RunReader, name: str | None) -> tuple[AnyKind, list[Record[Any]]]:
    from replan.cli.reading import named_or_newest

    run = await named_or_newest(reader, name)
    return await reader.kind_of(run), await reader.journal.read(run)


async def _follow(invocation: Invocation, name: str | None, as_json: bool) -> int:
    import trio

    from replan.cli.home import opened_to_read
    from replan.cli.reading import named_or_newest

    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, name)
        printer = RecordPrinter(await engine.kind_of(run), as_json=as_json)
        printer.print(await engine.journal.read(run))
        while await _goes_on(engine, run):
            await trio.sleep(FOLLOW_SECONDS)
            printer.print(await engine.journal.read(run, printer.last_seq))
        printer.print(await engine.journal.read(run, printer.last_seq))
    return Exit.OK


async def _goes_on(reader: RunReader, run: str) -> bool:
    from replan.runs.status import status_of

    row = await reader.journal.row(run)
    return status_of(row, hosted=await reader.hosted(row.kind, row.format)) == "running"


class RecordPrinter:
    """Prints the records of one run, from the first one on."""

    def __init__(self, kind: AnyKind, *, as_json: bool = False) -> None:
        self._kind, self._json = kind, as_json
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
            print_row(record_line(self._kind, record, self._state, worded=str))
