"""Programs that use a journal and can be begun again at any time: each goes on where the journal says that it stands.

A program is given a way to open the journal, and returns once all that it is there for is acknowledged.
"""

from contextlib import suppress

import trio

from actors.handlers.registry import Registry
from actors.planning.kind import CODEC as PLANNING
from actors.planning.prepare import RunOptions
from replan.runs.engine import Engine
from replan.runs.prepare import prepare_run
from replan.setup.data_files import data_root
from replan.setup.settings import UserConfig, choose_model
from runtime.core.errors import RunExists
from runtime.journal.port import Fact, RunFilter
from tests.contracts.toy_events import CODEC, RUNNING, Noted, counted
from tests.support.artifacts import PROBLEM

BATCHES = 4


def gone(_):
    """Whoever held a run is gone: its machine had no power."""
    return True


async def admitted(journal, run):
    """Admit a run, if it is not admitted yet, and claim it; return the epoch and the place of its last record."""
    with suppress(RunExists):
        await journal.create(run, f"title of {run}")
    epoch = await journal.claim(run, "driver", 60.0, dead=gone)
    return epoch, len(await journal.read(run))


async def work(journal, run, batches=BATCHES):
    """Append pairs of events; every third pair takes a posted message, with a text of some pages."""
    epoch, last = await admitted(journal, run)
    while last < 2 * batches:
        facts = counted(last, last + 1)
        if last % 6 == 4:
            posted = await journal.post(run, f"key-{last}", f"message {last}")
            facts = [Fact(Noted(text=f"{run} {last} " * 500), inbox=posted.inbox), *counted(last)]
        await journal.append(run, after=last, epoch=epoch, facts=facts, summary=RUNNING)
        last += 2
    await journal.renew(run, epoch, 60.0)
    await journal.release(run, epoch)


async def one_run(opening):
    """One run, its journal opened twice: the log is made, used, brought into the file, and deleted."""
    for batches in (2, BATCHES):
        async with opening(CODEC) as journal:
            await work(journal, "a", batches)


async def many_runs(opening):
    """Six runs at once: their appends share commits."""
    async with opening(CODEC) as journal, trio.open_nursery() as nursery:
        for run in "abcdef":
            nursery.start_soon(work, journal, run)


async def two_openings(opening):
    """Two openings of one file write beside each other, and one closes while the other works."""
    async with opening(CODEC) as journal, trio.open_nursery() as nursery:

        async def other():
            async with opening(CODEC) as beside:
                await work(beside, "b")

        nursery.start_soon(other)
        await work(journal, "a", 6)


async def opened_often(opening):
    """Every batch in an opening of its own."""
    for batches in range(1, 7):
        async with opening(CODEC) as journal:
            await work(journal, "a", batches)


def job():
    """Return the job of planning a problem with the built-in model."""
    choice = choose_model("rules", {}, UserConfig())
    return prepare_run(
        PROBLEM,
        RunOptions(),
        choice,
        config=UserConfig(),
        registry=Registry(),
        root=data_root(),
        environment={},
        now=0.0,
    )


async def whole_plan(opening):
    """A run of the planner itself, to its plan; one that never began is begun again under another name."""
    async with opening(PLANNING) as journal:
        engine = Engine(journal, threads=False, environment={})
        rows = await journal.runs(RunFilter())
        if rows and await journal.read(rows[0].run):
            await journal.release(rows[0].run, rows[0].epoch)  # Its driver went with the power.
            result = await engine.resume(rows[0].run)
        else:
            result = await engine.begin(job(), run=f"run-{len(rows)}")
        assert result.succeeded


PROGRAMS = {one_run: CODEC, many_runs: CODEC, two_openings: CODEC, opened_often: CODEC, whole_plan: PLANNING}
"""The programs, and the codec that their journals are read with."""
