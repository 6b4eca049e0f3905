"""Writes a small home with a run of every kind, to be kept: later releases have to open what this one has written.

    python make_fixture.py FOLDER

makes `FOLDER/journal.sqlite3`, one closed file with every kind of event in it, and beside FOLDER the same compressed.
It has to be run with the release whose journal is wanted; the workflows are beside this file. Times begin at `START`,
drivers are called `OWNER`, and paths are not those of the machine, so that the journal says nothing about where it was
made. Ids in it are fixed; durations, and the order of what happens at once, are those of the day.

Nothing is asked of a real model. The runs that a test resumes have the model `rules`, and need no plug-in and no file.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import replan.engine
import trio
import yaml
from actors.findings import Finding, Verdict
from actors.machine.events import EVENTS, Outcome
from actors.machine.ids import branch_of
from fixture_cases import PROBLEM, SCRIPTS, THIN
from replan.data import data_root
from replan.engine import CODEC, Engine, Manner
from replan.job import Asked, make_job
from replan.plugins import registry
from replan.settings import Choice, UserConfig
from runtime.budget import HomeBudget
from runtime.clock import SystemClock
from runtime.errors import UsageProblem
from runtime.models.spec import parse_model_spec
from runtime.supervisor import Stop

from actors.policy.table import BacktrackLevel
from actors.search.strategies.tree import PruneCause
from runtime.journal.port import RunFilter
from runtime.journal.sqlite import open_sqlite

HERE = Path(__file__).resolve().parent
START = 1_736_931_600.0
"""Wednesday, 15 January 2025, 09:00 UTC."""
OWNER = "workstation/4026531836/4711/3fa9c1d2.123456"
"""The name of every driver: a process of a machine that nobody has."""
ELSEWHERE = "/home/somebody/plans"
"""Where the workflows are said to have come from."""


class Then(SystemClock):
    """The system's clock, set back: it says `START` when the journal is begun."""

    def __init__(self, begun: float) -> None:
        self.begun = begun

    def now(self) -> float:
        return super().now() - self.begun + START


class Watched:
    """A journal that tells of every record as soon as it is durable, also of those of runs below."""

    def __init__(self, journal, tell):
        self._journal, self._tell = journal, tell

    def __getattr__(self, name):
        return getattr(self._journal, name)

    async def append(self, run, **what):
        records = await self._journal.append(run, **what)
        for record in records:
            self._tell(record)
        return records


class Fixture:
    """The home that is made: `folder` has the journal, `scripts` what scripted models say."""

    def __init__(self, folder, begun):
        self.folder, self.clock = folder, Then(begun)

    @asynccontextmanager
    async def opened(self, *, tell=None, budget=None, guards=None, generators=None) -> AsyncIterator[Engine]:
        """Open the journal as an engine; `tell` gets every record."""
        known = registry(guards or {}, generators or {})
        path = self.folder / "journal.sqlite3"
        async with open_sqlite(path, CODEC, self.clock, budget=budget) as journal:
            watched = journal if tell is None else Watched(journal, tell)
            yield Engine(journal=watched, registry=known, clock=self.clock, environment={}, threads=False)

    def job(self, engine, workflow="small", *, model="rules", problem=PROBLEM, **asked):
        """Return the job of a shipped workflow, or of one beside this file."""
        own = HERE / "workflows" / f"{workflow}.yaml"
        made = make_job(
            problem,
            Asked(workflow=str(own) if own.exists() else workflow, **asked),
            Choice(model, parse_model_spec(model)),
            config=UserConfig(),
            registry=engine.registry,
            root=data_root(),
            environment={},
            now=self.clock.now(),
        )
        return replace(made, source=f"{ELSEWHERE}/{workflow}.yaml") if own.exists() else made

    async def run(self, run, workflow="small", *, until=None, begin=True, guards=None, generators=None, **job):
        """Begin a run, and drive it to its end, to a question, or until a record that `until` looks for."""
        stop = Stop()

        def tell(record):
            if until is not None and until(record):
                stop.requested.set()

        async with self.opened(tell=tell, guards=guards, generators=generators) as engine:
            if begin:
                return await engine.begin(self.job(engine, workflow, **job), Manner(stop), run=run)
            return await engine.resume(run, Manner(stop))

    async def go_on(self, run):
        """Resume a run."""
        return await self.run(run, begin=False)


def said(name):
    """Return the model that speaks a script."""
    return f"scripted:scripts/{name}.yaml"


def seen(kind, step="", run=""):
    """Return what looks for a record: of a kind, about a step, of a run or one below it."""

    def look(record):
        event = record.event
        about = str(getattr(event, "node", ""))
        return event.kind == kind and about.startswith(step) and record.run.startswith(run)

    return look


def second_branch(record):
    """Look for the first request of a branch beside the first one."""
    return record.event.kind == "generation_requested" and branch_of(record.event.node) > 0


async def finished(home):
    """Make the runs that have finished in ordinary ways."""
    await home.run("finished1", "search")
    await home.run("budget001", max_calls=2)
    await home.run("failed001", model=said("failing"))
    await home.run("backed001", model=said("backing"), max_tokens=100_000, max_cost_usd=1.5, active_seconds=600.0)
    await home.run("pruned001", model=said("pruned"))
    await home.run("ceiling01", model=said("ceiling"), problem=PROBLEM.replace("slow", "sluggish"))
    await home.run("retried01", model=said("retrying"), deadline_seconds=3600.0)
    await home.run("classed01", "doubting", model=said("doubting"))
    await home.run("branches1", model="simulated:base?seed=3", search="beam:1x2", max_calls=40)
    await home.run("branches2", search="best_of:2")
    await home.run("branches3", model="simulated:base?seed=3", search="iterative_deepening", max_calls=40)
    await home.run("branches4", model="simulated:muddled?seed=2", search="restart:2", max_calls=40)
    await home.run("parent002", "above")
    await home.run("cancel001", until=seen("verdict_reached"))
    async with home.opened() as engine:
        await engine.tell("cancel001", "Never mind.")
        await engine.cancel("cancel001")
        await engine.finish_cancelled("cancel001")


async def plugged(home):
    """Make the runs whose guards and generators were passed to them, and that nobody can go on with."""
    left = [rejected("plan.precondition_unsatisfied", "s1", tokens=("known",), trace=("s0:ok", "s1:fail"))]
    guards = {
        "willing": lambda *_: passed(0.75),
        "unwilling": lambda *_: left.pop() if left else passed(1.0),
    }
    generators = {"given": lambda _: '{"made": true}', "slow": slow}
    await home.run("settled01", "late", guards=guards, generators=generators)
    tired = [rejected("tool.transient", tags=("tool_failure",))]
    guards = {"tired": lambda *_: tired.pop() if tired else passed(0.5)}
    await home.run("rested001", "resting", guards=guards)
    await home.run("bugged001", "resting", guards={"tired": broken})


async def talked(home):
    """Make the runs that people have talked with."""
    await home.run("asked0001", "asking", model=said("asking"))
    async with home.opened() as engine:
        await engine.tell("asked0001", "The store is Redis.")
        await engine.answer("asked0001/q1", "redis")
        await engine.journal.post("asked0001", "answer:q9", json.dumps({"kind": "answer", "question": "q9"}))
    await home.go_on("asked0001")
    async with home.opened() as engine:
        await engine.decline("asked0001/q2")
    await home.go_on("asked0001")  # It asks for a review of the plan.
    async with home.opened() as engine:
        await engine.tell("asked0001", "It must work without a network.", "requirement")
    await home.go_on("asked0001")
    for question, answer in (("q4", "reject: too long"), ("q5", "approve")):
        async with home.opened() as engine:
            await engine.answer(f"asked0001/{question}", answer)
        await home.go_on("asked0001")
    await home.run("expired01", "expiring", model=said("expiring"))
    await trio.sleep(1.1)
    await home.go_on("expired01")


async def unfinished(home):
    """Make the runs that are to be gone on with."""
    await home.run("parked001", "search", until=seen("verdict_reached", "g_strategy"))
    await home.run("parked002", search="iterative_deepening:2", until=second_branch)
    await home.run("waiting01", "search", problem=THIN)
    await home.run("waiting02", "search", problem=THIN)
    await home.run("waiting03", "search", problem=THIN)
    await home.run("waiting04", "expiring", problem=THIN)
    await home.run("review001", "asking")
    async with home.opened() as engine:
        await engine.answer("waiting02/q1", "The export of orders to CSV takes a minute; it should take five seconds.")
        await engine.tell("waiting02", "The orders are in PostgreSQL.")
        await engine.tell("waiting03", "Ask me on Monday.")
    await home.run("parent001", "above", until=seen("verdict_reached", "c_strategy", "parent001."))
    async with home.opened() as engine:
        await engine.admit(home.job(engine), run="admitted1")
        await engine.journal.create("created01", "Nothing was recorded of this run")
        await engine.admit(home.job(engine), run="aside0001")
        await engine.set_aside("aside0001", UsageProblem("this run needs the plug-in guard 'house_style'"))
    await next_day(home)


async def next_day(home):
    """Make a run that waits for the next day of the home's budget, and one that does not."""
    stop = Stop()

    def tell(record):
        if record.event.kind == "wait_requested":
            stop.requested.set()

    async with home.opened() as engine:
        spent = await engine.journal.spent_today()
    async with home.opened(tell=tell, budget=HomeBudget(calls=spent.calls + 1)) as engine:
        await engine.begin(home.job(engine), Manner(stop), run="daily0001")
    async with home.opened(budget=HomeBudget(calls=spent.calls + 2, waits=False)) as engine:
        await engine.begin(home.job(engine), run="daily0002")


async def crash(home, run):
    """Begin a run and die in the middle of it, as after `kill -9`: nothing is released, nothing is recorded."""
    looks = {
        "crashed01": ("search", seen("judgement_requested", "g_strategy")),
        "crashed02": ("above", seen("generation_requested", "c_plan", "crashed02.")),
        "reissued1": ("small", seen("generation_requested", "g_strategy")),
    }
    workflow, look = looks[run]

    def tell(record):
        if look(record):
            os._exit(9)

    async with home.opened(tell=tell) as engine:
        await engine.begin(home.job(engine, workflow), run=run)


async def slow(_):
    """Make an artifact, and do not let anybody interrupt that."""
    with trio.CancelScope(shield=True):
        await trio.sleep(0.5)
    return '{"made": "slowly"}'


def passed(score):
    """Return the verdict of a guard of one's own that accepts."""
    return Verdict(guard="own", passed=True, score=score, facts={"level": "own", "lines": 3})


def rejected(code, where="", **more):
    """Return the verdict of a guard of one's own that rejects."""
    return Verdict(guard="own", findings=(Finding(code=code, message=f"It has {code}.", where=where, **more),))


def broken(*_):
    """Fail, as a guard with a bug does."""
    raise ValueError("this guard has a bug")


@contextmanager
def away(folder):
    """Work in a folder, where the scripts are, so that no whole path is written down."""
    (folder / "scripts").mkdir()
    for name, script in SCRIPTS.items():
        (folder / "scripts" / f"{name}.yaml").write_text(yaml.safe_dump(script, sort_keys=False), encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


async def check(home):
    """Print what has been made, and check that every kind of event is there, every outcome, and so on."""
    wanted = {
        "kind": {str(event.model_fields["kind"].default) for event in EVENTS},
        "outcome": set(Outcome),
        "level": set(BacktrackLevel),
        "cause": {*PruneCause, "provider", "bug", "home_budget"},
    }
    async with home.opened() as engine:
        for row in await engine.journal.runs(RunFilter()):
            events = [record.event for record in await engine.journal.read(row.run)]
            for name, left in wanted.items():
                left -= {getattr(event, name, None) for event in events}
            print(f"{row.run:20} {row.summary.status:9} {len(events):3} records  {row.summary.detail}")
    assert not any(wanted.values()), f"no run has {wanted}"


def child(folder, begun, *arguments):
    """Call this program in a process of its own, which dies."""
    done = subprocess.run([sys.executable, __file__, str(folder), str(begun), *arguments], check=False)
    assert done.returncode == 9, done


def main(folder, begun, crashing=""):
    """Make the home, or one run of it that crashes."""
    replan.engine.identity = lambda: OWNER
    home = Fixture(folder, begun)
    if crashing:
        trio.run(crash, home, crashing)
        return
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch, away(Path(scratch)):
        for part in (finished, plugged, talked):
            trio.run(part, home)
        child(folder, begun, "reissued1")
        home.clock.begun -= 60.0  # The dead driver's lease runs out.
        trio.run(home.go_on, "reissued1")
        trio.run(unfinished, home)
        for run in ("crashed01", "crashed02"):
            child(folder, home.clock.begun, run)
        trio.run(check, home)
    path = folder / "journal.sqlite3"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("VACUUM")
    assert [one.name for one in folder.iterdir()] == [path.name]
    packed = gzip.compress(path.read_bytes(), mtime=0)
    (folder.parent / f"{path.name}.gz").write_bytes(packed)
    print(f"{path.stat().st_size:,} bytes, {len(packed):,} compressed")


if __name__ == "__main__":
    named = sys.argv[2:] or [str(SystemClock().now())]
    main(Path(sys.argv[1]).absolute(), float(named[0]), *named[1:])
