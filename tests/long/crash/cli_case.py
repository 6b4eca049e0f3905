"""A home, a scripted model server, and the real command line, for tests with real processes."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from actors.planning.events import ClassificationRequested, GenerationRequested, PlanningEvent, RequestReissued
from actors.planning.kind import CODEC
from actors.planning.result import Result, result_of
from actors.run.calls import Replied, Settled
from actors.run.result import RunView
from replan.runs.engine import Engine
from runtime.core.clock import SystemClock
from runtime.core.events import Record
from runtime.journal.port import RunFilter
from runtime.journal.sqlite.journal import open_sqlite
from tests.support.artifacts import PROBLEM
from tests.support.commands import Command, Commands
from tests.support.openai_server import OpenAIServer


@dataclass
class Case:
    """A home, a server, and in most tests one run."""

    folder: Path
    commands: Commands
    server: OpenAIServer

    @property
    def environment(self) -> dict[str, str]:
        return {
            "REPLAN_HOME": str(self.folder / "home"),
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_KEY": "sk-test-key-0000000000",
            "PATH": os.environ["PATH"],
        }

    def start(self, argv: tuple[str, ...], name: str = "", **faults: Any) -> Command:
        """Start a command line; its output goes to the files `NAMEout` and `NAMEerr`."""
        files = {"stdout": self.folder / f"{name}out", "stderr": self.folder / f"{name}err"}
        faults["count"] = str(self.folder / f"{name}count")
        return self.commands.start(*argv, env=self.environment, stdin=subprocess.DEVNULL, **files, **faults)

    def replan(self, *argv: str, **more: Any) -> tuple[int, Any]:
        """Run a command line; return its exit code (negative: the signal) and its output, decoded from JSON."""
        code = self.start(argv, **more).wait()
        text = (self.folder / "out").read_text()
        return code, json.loads(text) if text.strip() and code >= 0 else None

    def run_command(self, calls: int) -> tuple[str, ...]:
        problem = self.folder / "problem.md"
        problem.write_text(PROBLEM)
        return "run", str(problem), "-m", "test-model", "--max-calls", str(calls), "--json"

    def begin(self, calls: int, *argv: str, **more: Any) -> tuple[int, Any]:
        """Start the run, and wait for the end of the process."""
        return self.replan(*self.run_command(calls), *argv, **more)

    def killed_twice(self, begin: Callable[..., tuple[int, Any]], seconds: tuple[float, float]) -> tuple[int, Any]:
        """Start a run and resume it, each killed after some seconds.

        A start that was killed before the run was admitted is repeated, without a kill.
        """
        code, result = begin(kill={"seconds": seconds[0]})
        if code < 0 and not self.events_exist():
            code, result = begin()
        if code < 0:
            code, result = self.replan("resume", "--last", "--json", "--no-input", kill={"seconds": seconds[1]})
        return code, result

    @property
    def journal(self) -> Path:
        return self.folder / "home" / "journal.sqlite3"

    def error(self) -> str:
        """Return what the last command has written to stderr."""
        return (self.folder / "err").read_text()

    def requested(self) -> list[str]:
        return [seen.request_id for seen in self.server.seen]

    async def _read(self) -> dict[str, tuple[Result, list[Record[PlanningEvent]]]]:
        async with open_sqlite(self.journal, CODEC, SystemClock()) as journal:
            engine, runs = Engine(journal), {}
            for row in await journal.runs(RunFilter()):
                state, records = await engine.load(row.run)
                assert records, "a run is in the journal without a record"
                runs[row.run] = result_of(RunView(row.run, "finished", state, state)), records
            return runs

    def runs(self) -> dict[str, tuple[Result, list[Record[PlanningEvent]]]]:
        """Return the result and the records of each run that has records."""
        return trio.run(self._read)

    def records(self) -> list[Record[PlanningEvent]]:
        """Return the records of the only run, if it was admitted."""
        runs = self.runs()
        assert len(runs) <= 1
        return next(iter(runs.values()))[1] if runs else []

    def events(self) -> list[PlanningEvent]:
        """Return the events of the only run, if it was admitted."""
        return [record.event for record in self.records()]

    def events_exist(self) -> bool:
        """Tell whether a run was admitted, of whatever kind."""
        return self.journal.exists() and trio.run(self._rows) > 0

    async def _rows(self) -> int:
        async with open_sqlite(self.journal, CODEC, SystemClock()) as journal:
            return len(await journal.runs(RunFilter()))

    def result(self) -> Result:
        [(result, _)] = self.runs().values()
        return result

    def check_billing(self) -> None:
        """Check the requests that the server received against the journal, call by call.

        Each received request was committed before, each reply in the journal was received, and the result counts all
        committed requests. The script returns no fault, so that nothing is refunded.
        """
        for run, (result, records) in self.runs().items():
            billed = [request.partition("/")[2] for request in self.requested() if request.startswith(f"{run}/")]
            committed, replied = _calls([record.event for record in records])
            assert len(billed) == len(set(billed)), "two calls have one request id"
            assert replied <= set(billed) <= committed, "a call without a record, or a reply without a call"
            assert result.calls == len(committed)


def _calls(events: list[PlanningEvent]) -> tuple[set[str], set[str]]:
    """Return the committed requests, and those of them with a reply."""
    committed, replied = set(), set()
    for event in events:
        match event:
            case GenerationRequested() | ClassificationRequested():
                committed.add(event.request_id)
            case RequestReissued():
                committed.add(event.again.request_id)
            case Replied() | Settled():
                replied.add(event.request_id)
            case _:
                pass
    return committed, replied
