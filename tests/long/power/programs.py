"""Programs that use a journal and can be restarted at any time: each continues from the journal's content.

A program gets a function that opens the journal, and returns when all of its writes are acknowledged.
"""

from contextlib import suppress

import trio

from actors.handlers.generators import Registry
from actors.planning.kind import CODEC as PLANNING
from actors.planning.prepare import PlanningInput, RunOptions
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import UserConfig, choose_model
from runtime.core.errors import RunExists
from runtime.journal.port import Fact, RunFilter
from tests.contracts.toy_events import CODEC, RUNNING, Noted, counted
from tests.support.artifacts import PROBLEM

BATCHES = 4


def always_dead(_):
    """Return True: every earlier owner is dead, because its machine lost power."""
    return True


async def claim(journal, run):
    """Admit a run with its first records, or claim it if it exists; return the epoch and the number of its records."""
    with suppress(RunExists):
        records = await journal.create(run, f"title of {run}", facts=counted(0, 1), owner="driver", ttl=60.0)
        return records[0].epoch, len(records)
    epoch = await journal.claim(run, "driver", 60.0, dead=always_dead)
    return epoch, len(await journal.read(run))


async def work(journal, run, batches=BATCHES):
    """Append pairs of events; every third pair consumes a message and has a text of several pages."""
    epoch, last = await claim(journal, run)
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
    """One run, its journal opened twice: the WAL is created, used, checkpointed, and deleted."""
    for batches in (2, BATCHES):
        async with opening(CODEC) as journal:
            await work(journal, "a", batches)


async def many_runs(opening):
    """Six concurrent runs: their appends share commits."""
    async with opening(CODEC) as journal, trio.open_nursery() as nursery:
        for run in "abcdef":
            nursery.start_soon(work, journal, run)


async def two_openings(opening):
    """Two openings of one file write concurrently, and one closes while the other writes."""
    async with opening(CODEC) as journal, trio.open_nursery() as nursery:

        async def other():
            async with opening(CODEC) as second:
                await work(second, "b")

        nursery.start_soon(other)
        await work(journal, "a", 6)


async def open_for_each_batch(opening):
    """One run, its journal opened again for each batch."""
    for batches in range(1, 7):
        async with opening(CODEC) as journal:
            await work(journal, "a", batches)


def run_request():
    """Return a request for a run of the built-in model."""
    choice = choose_model("template:bug", {}, UserConfig())
    return prepare(
        RunOrder(PlanningInput(PROBLEM, RunOptions()), choice.text),
        config=UserConfig(),
        registry=Registry(),
        environment={},
        now=0.0,
    ).request


async def whole_plan(opening):
    async with opening(PLANNING) as journal:
        engine = Engine(journal, threads=False, environment={})
        rows = await journal.runs(RunFilter())
        if rows:
            await journal.release(rows[0].run, rows[0].epoch)  # Its driver died when the power was lost.
            result = await engine.resume(rows[0].run)
        else:
            result = await engine.begin(run_request(), run="run")
        assert result.succeeded


PROGRAMS = {one_run: CODEC, many_runs: CODEC, two_openings: CODEC, open_for_each_batch: CODEC, whole_plan: PLANNING}
"""The programs, each with the codec of its journal."""
