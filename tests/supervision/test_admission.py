"""A new run is admitted with its first records: before them there is no run, and no lease to renew or to release."""

import pytest
import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import JournalBusy, JournalError, RunExists, StorageFull, UsageProblem
from runtime.drive.options import Admission, DriveOptions, Ending, Stop
from runtime.drive.run_log import admit
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import MemoryStore, open_memory
from runtime.journal.port import RunFilter
from tests.supervision.negotiation_run import LEASE, bidder, driver_of, failing
from tests.support.negotiation import CODEC, Negotiation, Start

ADMISSION = Admission("a negotiation")


def starter(journal, **more):
    return driver_of(journal, bidder(10, 10), bidder(50, -10), admission=ADMISSION, **more)


async def test_the_start_of_a_run_is_one_commit(autojump_clock):
    store, operations = MemoryStore(), []

    def note(operation, moment):
        operations.append(operation)
        if moment == "after" and operation == "create":
            assert store.runs["run"].rows
            assert store.runs["run"].head.owner == LEASE.owner

    async with open_memory(CODEC, TrioClock(), store=store, fault=note) as journal:
        assert await starter(journal).drive(Start(20)) is Ending.FINISHED
    assert operations[:4] == ["create", "create", "append", "append"]
    assert "claim" not in operations
    assert operations[-1] == "release"


async def test_a_stop_before_the_start_admits_the_run_to_be_resumed(autojump_clock):
    stop = Stop()
    stop.requested.set()
    async with open_memory(CODEC, TrioClock()) as journal:
        assert await starter(journal, stop=stop).drive(Start(20)) is Ending.PARKED
        assert len(await journal.read("run")) >= 1
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive() is Ending.FINISHED


@pytest.mark.parametrize("error", [StorageFull("disk"), JournalBusy("file"), JournalError("unreachable")])
async def test_a_run_that_cannot_be_admitted_is_no_run_and_does_not_wait(autojump_clock, error):
    operations = []

    def fault(operation, moment):
        operations.append(operation)
        failing(error, "create")(operation, moment)

    async with open_memory(CODEC, TrioClock(), fault=fault) as journal:
        with pytest.raises(type(error)):
            await starter(journal).drive(Start(20))
        assert await journal.runs(RunFilter()) == []
    assert trio.current_time() < 1
    assert operations == ["create"]


async def test_a_run_of_another_driver_is_neither_renewed_nor_released(autojump_clock):
    """Both would hold it under epoch 1."""
    async with open_memory(CODEC, TrioClock()) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(starter(journal).drive, Start(20))
            await trio.sleep(1.5)
            with pytest.raises(RunExists):
                await starter(journal).drive(Start(20))
            assert (await journal.row("run")).owner == LEASE.owner
        assert (await journal.row("run")).summary.status == "finished"


async def test_a_slow_admission_outlasts_the_time_of_a_renewal(autojump_clock):
    """There is no lease to renew yet."""

    class Slow:
        def __init__(self, journal):
            self.journal = journal

        def __getattr__(self, name):
            return getattr(self.journal, name)

        async def create(self, *new, **first):
            await trio.sleep(2 * LEASE.ttl)
            return await self.journal.create(*new, **first)

    async with open_memory(CODEC, TrioClock()) as journal:
        assert await starter(Slow(journal)).drive(Start(20)) is Ending.FINISHED


async def test_a_run_is_admitted_for_another_driver_in_one_commit(autojump_clock):
    operations = []
    async with open_memory(CODEC, TrioClock(), fault=lambda name, _: operations.append(name)) as journal:
        (record,) = await admit(Negotiation(), journal, "run", ADMISSION, Start(20))
        assert (record.seq, record.epoch) == (1, 1)
        assert operations == ["create", "create"]
        assert (await journal.due(1)).runs == ("run",)
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive() is Ending.FINISHED


async def test_a_message_that_starts_no_run_admits_none(autojump_clock):
    class Refusing(Negotiation):
        def accept(self, state, message):
            return None

    async with open_memory(CODEC, TrioClock()) as journal:
        with pytest.raises(UsageProblem, match="cannot start a run"):
            await admit(Refusing(), journal, "run", ADMISSION, Start(20))
        assert await journal.runs(RunFilter()) == []


async def test_an_admitted_run_without_a_record_of_an_earlier_release_is_started(autojump_clock):
    """A parent begins such a child run."""
    async with open_memory(CODEC, TrioClock()) as journal:
        await journal.create("run", "a negotiation")
        driver = Supervisor(
            "run", machine=Negotiation(), journal=journal, actors=(), lease=LEASE, options=DriveOptions(Stop())
        )
        with trio.move_on_after(1):
            await driver.drive(Start(20))
        assert (await journal.row("run")).last_seq > 0
