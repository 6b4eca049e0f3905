"""Printing the records of a run, a line each."""

from collections.abc import Iterable
from typing import Any

from replan.cli.terminal.console import print_json, print_row
from replan.runs.loaded import AnyKind
from replan.views.records import record_line, record_to_json
from runtime.core.events import Record


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
            print_row(record_line(self._kind, record, self._state))
