"""Histories on journals that last, by the real clock: what is read back is what was decided, record by record."""

import time

import pytest
import trio

from actors.planning.kind import CODEC, PLANNING
from packages.server.tests.long.postgres.checker import check_database
from runtime.core.clock import SystemClock
from runtime.core.machine import fold
from runtime.journal.port import Fact
from runtime.open_journal import open_journal
from tests.histories.interpreter import Interpreter
from tests.histories.test_histories import HISTORIES, rewritten

BATCH = 3
"""How many events of a history are appended at once, at most."""


@pytest.fixture(scope="module")
def histories():
    """The events of each history, by a name that a run may have."""
    events = {}
    for path in HISTORIES:
        interpreter = Interpreter()
        rewritten(path.read_text(encoding="utf-8"), interpreter)
        events[path.stem.replace("_", "-")] = interpreter.world.events
    return events


async def written(journal, run, events):
    """Append the events of a history in batches; a takeover begins with the claim of another driver."""
    machine, state, epoch, last = PLANNING.machine, PLANNING.machine.initial(), 1, 0
    await journal.create(run, run, owner="driver 1", ttl=60.0)
    while last < len(events):
        batch = events[last : last + 1 + last % BATCH]
        if batch[0].kind == "run_resumed":
            await journal.release(run, epoch)
            epoch = await journal.claim(run, f"driver {epoch + 1}", 60.0)
        state = fold(machine, batch, state)
        facts = [Fact(event) for event in batch]
        await journal.append(run, after=last, epoch=epoch, facts=facts, summary=machine.summary(state))
        last += len(batch)
    await journal.release(run, epoch)
    return state


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_every_history_is_read_back_as_it_was_decided(store, histories, tmp_path, url):
    place = url if store == "postgres" else f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}"
    states, began = {}, time.time()
    async with open_journal(place, CODEC, SystemClock()) as journal, trio.open_nursery() as nursery:

        async def write(run):
            states[run] = await written(journal, run, histories[run])

        for run in histories:
            nursery.start_soon(write, run)
    async with open_journal(place, CODEC, SystemClock()) as journal:
        for run, events in histories.items():
            records = await journal.read(run)
            assert [record.event for record in records] == events, run
            assert fold(PLANNING.machine, events) == states[run]
            assert all(began - 5.0 < record.at < time.time() + 5.0 for record in records)
            assert [record.epoch for record in records] == sorted(record.epoch for record in records)
            row = await journal.row(run)
            assert (row.summary, row.last_seq) == (PLANNING.machine.summary(states[run]), len(events))
    if store == "postgres":
        check_database(url)
