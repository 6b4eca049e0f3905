"""`kill -9` at every labelled point and at random moments, then `replan resume`: real processes, a real server.

Promised: the same outcome where a spare call per call in flight is left, else `budget_exhausted`; nothing that is in
the journal is asked for again; the books are true (spent + unknown is what the server saw or more, within the limit).
"""

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.machine.events import (
    ArtifactProduced,
    GenerationFailed,
    GenerationRequested,
    PlanningEvent,
    RequestReissued,
    RunFinished,
)
from replan.engine import CODEC, Engine
from replan.result import Result, result_of
from runtime.clock import SystemClock
from runtime.crash import LABELS
from runtime.journal.port import RunFilter
from runtime.journal.sqlite import open_sqlite
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD, PROBLEM, plan
from tests.support.openai_server import OpenAIServer, serve
from tests.support.zygote import Zygote

HAPPY = 6
"""Calls of the script below: analysis, recon, strategy, a plan that sends the search back, strategy, plan."""
SCRIPT: dict[str, Any] = {
    **{step: [GOOD[step]] * 40 for step in GOOD},
    "g_plan": [plan(needs_missing_token="licence_granted"), *[plan()] * 40],
}
RANDOM_KILLS = int(os.environ.get("REPLAN_KILLS", "20"))
"""More of them in a soak."""


@dataclass
class Case:
    """One home, one server, one run."""

    folder: Path
    forker: Zygote
    server: OpenAIServer

    def replan(self, *argv: str, kill: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Run a command line; return its exit code (negative: the signal) and what it printed, as JSON if it is."""
        out = self.folder / "out"
        order = {
            "argv": list(argv),
            "env": {
                "REPLAN_HOME": str(self.folder / "home"),
                "OPENAI_BASE_URL": self.server.base_url,
                "OPENAI_API_KEY": "sk-test-key-0000000000",
                "PATH": os.environ["PATH"],
            },
            "out": str(out),
            "err": str(self.folder / "err"),
            "kill": kill,
            "count": str(self.folder / "count"),
        }
        code = self.forker.run(order)
        text = out.read_text()
        return code, json.loads(text) if text.strip() and code >= 0 else None

    def begin(self, calls: int, kill: dict[str, Any] | None) -> tuple[int, Any]:
        problem = self.folder / "problem.md"
        problem.write_text(PROBLEM)
        return self.replan("run", str(problem), "-m", "test-model", "--max-calls", str(calls), "--json", kill=kill)

    def requested(self) -> list[str]:
        """Return the ids of all requests that reached the server."""
        return [seen.request_id for seen in self.server.seen]

    async def _read(self) -> tuple[Result | None, list[PlanningEvent]]:
        async with open_sqlite(self.folder / "home" / "journal.sqlite3", CODEC, SystemClock()) as journal:
            rows = await journal.runs(RunFilter())
            if not rows:
                return None, []
            state, records = await Engine(journal).load(rows[0].run)
            return result_of(rows[0].run, state, "finished"), [record.event for record in records]

    def events(self) -> list[PlanningEvent]:
        """Return the events of the only run, if it was admitted."""
        return trio.run(self._read)[1]

    def result(self) -> Result:
        """Return what the only run came to."""
        result = trio.run(self._read)[0]
        assert result is not None
        return result


@pytest.fixture
def case(tmp_path: Path, forker: Zygote) -> Iterator[Case]:
    with serve(by_step(SCRIPT)) as server:
        yield Case(tmp_path, forker, server)


def produced(events: list[PlanningEvent]) -> list[str]:
    return [event.node for event in events if isinstance(event, ArtifactProduced)]


def node_of(request: str) -> str:
    """Return the node of a request id as the server sees it: `RUN/STEP/vN.aN[.tN]`."""
    return request.split("/", 1)[1].split(".t", 1)[0]


def check(case: Case, before: list[str], asked_before: list[str], calls: int) -> Result:
    """Check what is promised after a kill and a resume."""
    result, asked, nodes = case.result(), case.requested(), produced(case.events())
    again = {node_of(request) for request in asked[len(asked_before) :]}
    assert not again & set(before), "what is in the journal was asked for again"
    assert len(nodes) == len(set(nodes))
    assert len(asked) <= result.calls <= calls, "the books are not true"
    return result


def lost(events: list[PlanningEvent]) -> int:
    """Return how many calls were open at the end of the journal: what a kill at that moment may have wasted."""
    opened: set[str] = set()
    for event in events:
        match event:
            case GenerationRequested():
                opened.add(event.request_id)
            case RequestReissued():
                opened = opened - {event.replaces} | {event.again.request_id}
            case ArtifactProduced() | GenerationFailed():
                opened.discard(event.request_id)
            case _:
                pass
    return len(opened)


def killed_and_resumed(case: Case, calls: int, kill: dict[str, Any]) -> tuple[Result, int] | None:
    """Begin a run, have it killed, resume it, and check; None when the run ended before it could be killed.

    The number is how many calls were open at the kill.
    """
    code, _ = case.begin(calls, kill)
    if code >= 0:
        return None
    assert code == -9
    asked, events = case.requested(), case.events()
    if events:
        case.replan("resume", "--last", "--json")
    else:
        case.begin(calls, None)  # Killed before the run began: the user starts again.
    return check(case, produced(events), asked, calls), lost(events)


def test_every_label_is_reached(case: Case) -> None:
    code, result = case.begin(30, None)
    assert (code, result["calls"]) == (0, HAPPY)
    assert set(json.loads((case.folder / "count").read_text())) == set(LABELS)


@pytest.mark.parametrize("label", LABELS)
def test_a_kill_each_time_that_a_label_is_reached(label: str, tmp_path: Path, forker: Zygote) -> None:
    """With a spare call for each that was open the outcome is the same; else it may be `budget_exhausted`."""
    for nth in range(1, 40):
        for spare in (1, 0) if nth % 3 == 1 else (1,):
            folder = tmp_path / f"{nth}.{spare}"
            folder.mkdir()
            with serve(by_step(SCRIPT)) as server:
                case = Case(folder, forker, server)
                after = killed_and_resumed(case, HAPPY + spare, {"label": label, "nth": nth})
            if after is None:
                assert nth > 1
                return
            result, wasted = after
            assert wasted <= 2, "only analysis and recon are ever open together"
            assert result.outcome in ({"success"} if wasted <= spare else {"success", "budget_exhausted"})
            assert result.outcome != "success" or result.plan == plan()
    raise AssertionError("the label is reached without end")


@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
def test_two_kills_at_random_moments(seed: int, tmp_path: Path, forker: Zygote) -> None:
    """Each first kill hits a run in progress: the moment is drawn again until one does."""
    dice, slow = (
        random.Random(seed),
        {step: [Answer.value(one).slowly(0.05) for one in SCRIPT[step]] for step in SCRIPT},
    )
    calls = HAPPY + 2
    for attempt in range(30):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with serve(by_step(slow)) as server:
            case = Case(folder, forker, server)
            code, _ = case.begin(calls, {"seconds": dice.uniform(0.1, 1.0)})
            events = case.events() if code < 0 else []
            if not events or isinstance(events[-1], RunFinished):
                continue
            wasted, asked, before = lost(events), case.requested(), produced(events)
            code, _ = case.replan("resume", "--last", "--json", kill={"seconds": dice.uniform(0.1, 1.0)})
            if code < 0:
                events = case.events()
                wasted += lost(events) if events[-1].kind != "run_finished" else 0
                case.replan("resume", "--last", "--json")
            result = check(case, before, asked, calls)
            assert result.outcome in ({"success"} if wasted <= 2 else {"success", "budget_exhausted"})
            return
    raise AssertionError("no kill hit a run in progress")
