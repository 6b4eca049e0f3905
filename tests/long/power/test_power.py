"""A power loss or a disk failure at every single operation loses nothing that the journal acknowledged.

`REPLAN_POWER_PROGRAMS=5` tests all programs of `programs.py` at each operation, not only the first at every third.
"""

import itertools
import os
from contextlib import asynccontextmanager
from random import Random

import pytest

from runtime.core.clock import SystemClock
from runtime.core.errors import ReplanError
from runtime.journal.sqlite import schema, writer
from runtime.journal.sqlite.journal import open_sqlite
from tests.long.power.programs import PROGRAMS, one_run
from tests.long.power.recorder import Recorder
from tests.support.disk import Disk

LONG = "REPLAN_POWER_PROGRAMS" in os.environ
SEEDS = 3 if LONG else 1
STEP = 1 if LONG else 3
"""Every third operation is tried; a soak tries each."""
CHOSEN = [*PROGRAMS][: int(os.environ.get("REPLAN_POWER_PROGRAMS", "1"))]
PAGES_IN_LOG = 8
"""The size of the WAL at which it is checkpointed: 8 pages instead of 1,000, so that this happens often."""


@pytest.fixture(autouse=True)
def _small_logs(monkeypatch):
    monkeypatch.setattr(writer, "PAGES_MAX", PAGES_IN_LOG)


@asynccontextmanager
async def disk_in(folder, rng, **faults):
    """Give a disk, and a function that opens the journal on it."""
    folder.mkdir(exist_ok=True)
    path = folder / "journal.sqlite3"
    path.touch()
    disk = Disk(f"disk-{folder.name}", rng, **faults)

    def opening(recorder):
        @asynccontextmanager
        async def opened(codec):
            async with open_sqlite(path, codec, SystemClock(), vfs=disk.name) as journal:
                yield recorder.recording(journal)

        return opened

    try:
        yield disk, opening
    finally:
        disk.unregister()


async def check_recovery(program, disk, recorder, folder):
    """Lose power; check the remaining content, and that the program can finish with it."""
    folder.mkdir()
    disk.lose_power(folder)
    async with disk_in(folder, disk.rng) as (_, opening):
        async with opening(recorder)(PROGRAMS[program]) as journal:
            await recorder.check(journal)
        await program(opening(recorder))


async def run_with_fault(program, tmp_path, number, seed, *, power):
    """Run a program with one fault at an operation; return whether there were that many operations."""
    rng, recorder = Random(f"{program.__name__}:{number}:{seed}"), Recorder()
    faults = {"power_until": number} if power else {"fails_at": number}
    name = f"{'power' if power else 'fault'}-{number}-{seed}"
    async with disk_in(tmp_path / name, rng, **faults) as (disk, opening):
        try:
            await program(opening(recorder))
        except* ReplanError:
            pass
        if disk.operations < number:
            return False
        if not power:
            await program(opening(recorder))  # The disk works again, and the next process continues.
        await check_recovery(program, disk, recorder, tmp_path / f"after-{name}")
    return True


@pytest.mark.parametrize("program", CHOSEN, ids=lambda program: program.__name__)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_power_loss_at_any_operation_loses_nothing_acknowledged(program, seed, tmp_path):
    """Unsynced writes may be lost, torn or reordered."""
    for number in itertools.count(1, STEP):
        if not await run_with_fault(program, tmp_path, number, seed, power=True):
            break
    assert number > 50


@pytest.mark.parametrize("program", CHOSEN, ids=lambda program: program.__name__)
async def test_a_failed_write_or_sync_loses_nothing_acknowledged(program, tmp_path):
    """The program restarts on the same files, then power is lost, and with it the data that a failed sync dropped."""
    for number in itertools.count(1, STEP):
        if not await run_with_fault(program, tmp_path, number, 0, power=False):
            break
    assert number > 50


async def test_a_journal_without_sync_is_detected(tmp_path, monkeypatch):
    """With `synchronous = off` SQLite does not sync, and the simulated disk loses a record."""
    open_writer = schema.open_writer

    def open_without_sync(*arguments):
        connection = open_writer(*arguments)
        connection.pragma("synchronous", "off")
        return connection

    monkeypatch.setattr(schema, "open_writer", open_without_sync)
    with pytest.raises(AssertionError, match="is lost"):
        await _lose_power_often(tmp_path)


async def _lose_power_often(tmp_path):
    for number in range(30, 100):
        await run_with_fault(one_run, tmp_path, number, 0, power=True)
