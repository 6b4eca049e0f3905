"""One home, one scripted server that bills, and the real command line on them, for tests with real processes."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from actors.planning.call_events import ClassificationRequested, GenerationRequested, RequestReissued
from actors.planning.events import PlanningEvent
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
from tests.support.fork_server import ForkServer
from tests.support.openai_server import OpenAIServer


@dataclass
class Case:
    """One home, one server, one run."""

    folder: Path
    fork_server: ForkServer
    server: OpenAIServer

    def request(self, argv: tuple[str, ...], name: str = "", **more: Any) -> dict[str, Any]:
        """Return the request for a command line; its output goes to the files `out` and `err` after its name."""
        return {
            "argv": list(argv),
            "env": {
                "REPLAN_HOME": str(self.folder / "home"),
                "OPENAI_BASE_URL": self.server.base_url,
                "OPENAI_API_KEY": "sk-test-key-0000000000",
                "PATH": os.environ["PATH"],
            },
            "out": str(self.folder / f"{name}out"),
            "err": str(self.folder / f"{name}err"),
            "count": str(self.folder / f"{name}count"),
            **more,
        }

    def replan(self, *argv: str, **more: Any) -> tuple[int, Any]:
        """Run a command line; return its exit code (negative: the signal) and what it printed, as JSON if it is."""
        code = self.fork_server.run(self.request(argv, **more))
        text = (self.folder / "out").read_text()
        return code, json.loads(text) if text.strip() and code >= 0 else None

    def run_command(self, calls: int) -> tuple[str, ...]:
        """Return the command line that begins the run."""
        problem = self.folder / "problem.md"
        problem.write_text(PROBLEM)
        return "run", str(problem), "-m", "test-model", "--max-calls", str(calls), "--json"

    def begin(self, calls: int, *argv: str, **more: Any) -> tuple[int, Any]:
        """Begin the run, and wait for its end."""
        return self.replan(*self.run_command(calls), *argv, **more)

    @property
    def journal(self) -> Path:
        """Return the journal's file."""
        return self.folder / "home" / "journal.sqlite3"

    def requested(self) -> list[str]:
        """Return the ids of all requests that reached the server."""
        return [seen.request_id for seen in self.server.seen]

    async def _read(self) -> dict[str, tuple[Result, list[Record[PlanningEvent]]]]:
        async with open_sqlite(self.journal, CODEC, SystemClock()) as journal:
            engine, runs = Engine(journal), {}
            for row in await journal.runs(RunFilter()):
                state, records = await engine.load(row.run)
                if not records:
                    continue  # Killed before it began: nobody was told of it.
                runs[row.run] = result_of(RunView(row.run, "finished", state, state)), records
            return runs

    def runs(self) -> dict[str, tuple[Result, list[Record[PlanningEvent]]]]:
        """Return what each run that began came to, and its records."""
        return trio.run(self._read)

    def records(self) -> list[Record[PlanningEvent]]:
        """Return the records of the only run, if it was admitted."""
        runs = self.runs()
        assert len(runs) <= 1
        return next(iter(runs.values()))[1] if runs else []

    def events(self) -> list[PlanningEvent]:
        """Return the events of the only run, if it was admitted."""
        return [record.event for record in self.records()]

    def result(self) -> Result:
        """Return what the only run came to."""
        [(result, _)] = self.runs().values()
        return result

    def check_billing(self) -> None:
        """Check that provider and journal agree, call by call: what was billed is what came in, or is `unknown`.

        The script refuses nothing, so that nothing is refunded.
        """
        for run, (result, records) in self.runs().items():
            billed = [request.partition("/")[2] for request in self.requested() if request.startswith(f"{run}/")]
            booked, came = _books([record.event for record in records])
            assert len(billed) == len(set(billed)), "a call was made twice under one name"
            assert came <= set(billed) <= booked, "a call was made that the journal does not know, or came in unmade"
            assert result.calls == len(booked)


def _books(events: list[PlanningEvent]) -> tuple[set[str], set[str]]:
    """Return the calls that a journal has booked, and those whose reply it has."""
    booked, came = set(), set()
    for event in events:
        match event:
            case GenerationRequested() | ClassificationRequested():
                booked.add(event.request_id)
            case RequestReissued():
                booked.add(event.again.request_id)
            case Replied() | Settled():
                came.add(event.request_id)
            case _:
                pass
    return booked, came
