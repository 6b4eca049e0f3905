"""The power goes, or the disk fails, at every single operation: what the journal has acknowledged is there afterwards.

`REPLAN_POWER_PROGRAMS=5` does so with all programs of `programs.py`, not with the first alone.
"""

import itertools
import os
from contextlib import asynccontextmanager
from random import Random

import pytest

from runtime.core.clock import SystemClock
from runtime.core.errors import ReplanError
from runtime.journal.sqlite import schema, wal
from runtime.journal.sqlite.journal import open_sqlite
from tests.power.programs import PROGRAMS, one_run
from tests.power.recorder import Recorder
from tests.support.disk import Disk

SEEDS = 1 if "REPLAN_POWER_PROGRAMS" not in os.environ else 3
CHOSEN = [*PROGRAMS][: int(os.environ.get("REPLAN_POWER_PROGRAMS", "1"))]
PAGES_IN_LOG = 8
"""After so many pages the log is brought into the file (else it is 1,000), so that this happens often."""


@pytest.fixture(autouse=True)
def _small_logs(monkeypatch):
    monkeypatch.setattr(wal, "PAGES_MAX", PAGES_IN_LOG)


@asynccontextmanager
async def disk_in(folder, rng, **faults):
    """Give a disk, and a way to open the journal that is on it."""
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


async def recovered(program, disk, recorder, folder):
    """Lose power; check what is left, and that the program, which reads it all again, comes to its end with it."""
    folder.mkdir()
    disk.lose_power(folder)
    async with disk_in(folder, disk.rng) as (_, opening):
        async with opening(recorder)(PROGRAMS[program]) as journal:
            await recorder.check(journal)
        await program(opening(recorder))


async def fails(program, tmp_path, number, seed, *, power):
    """Play a program with one fault; return whether there were that many operations."""
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
            await program(opening(recorder))  # The disk is well again, and the next process goes on.
        await recovered(program, disk, recorder, tmp_path / f"after-{name}")
    return True


@pytest.mark.parametrize("program", CHOSEN, ids=lambda program: program.__name__)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_when_the_power_goes_at_any_operation_nothing_acknowledged_is_lost(program, seed, tmp_path):
    """Each file is what a disk could hold: unsynced writes lost, torn, out of order."""
    for number in itertools.count(1):
        if not await fails(program, tmp_path, number, seed, power=True):
            break
    assert number > 50


@pytest.mark.parametrize("program", CHOSEN, ids=lambda program: program.__name__)
async def test_when_any_write_or_sync_fails_nothing_acknowledged_is_lost(program, tmp_path):
    """The program is begun again on the same files, and then the power goes: what a sync had dropped is gone."""
    for number in itertools.count(1):
        if not await fails(program, tmp_path, number, 0, power=False):
            break
    assert number > 50


async def test_a_journal_that_does_not_sync_is_found_out(tmp_path, monkeypatch):
    """The disk would show a lost record: here SQLite is told to leave the syncing to the system."""
    sound = schema.open_writer

    def careless(*arguments):
        connection = sound(*arguments)
        connection.pragma("synchronous", "off")
        return connection

    monkeypatch.setattr(schema, "open_writer", careless)
    with pytest.raises(AssertionError, match="is lost"):
        await _lose_power_often(tmp_path)


async def _lose_power_often(tmp_path):
    for number in range(30, 100):
        await fails(one_run, tmp_path, number, 0, power=True)
