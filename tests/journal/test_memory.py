"""The journal in memory keeps the contract, and models crashes."""

from functools import partial

import pytest

from runtime.core.errors import JournalDamaged
from runtime.journal.memory import MemoryStore, open_memory
from runtime.journal.port import Fact
from tests.contracts.journal import JournalContract
from tests.contracts.toy_events import CODEC, RUNNING, Counted, Noted, counted, driven, events


class CrashError(Exception):
    """Raised by a fault."""


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def open_journal(clock, store):
    return partial(open_memory, codecs=CODEC, clock=clock, store=store)


class TestMemory(JournalContract):
    """The contract."""


async def test_a_journal_without_a_store_starts_empty(clock):
    for _ in range(2):
        async with open_memory(CODEC, clock) as journal:
            await journal.create("a", "")


async def test_a_text_is_kept_once(open_journal, store):
    async with open_journal() as journal:
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            facts = [Fact(Noted(text="the same")), Fact(Noted(text="the same"))]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=RUNNING)
    assert list(store.texts.values()) == [b"the same"]


@pytest.mark.parametrize(("moment", "written"), [("before", []), ("after", [Counted(number=1)])])
async def test_a_crash_loses_or_keeps_the_whole_append(clock, store, moment, written):
    def fault(operation, when):
        if (operation, when) == ("append", moment):
            raise CrashError

    async with open_memory(CODEC, clock, store=store, fault=fault) as journal:
        epoch = await driven(journal, "a")
        with pytest.raises(CrashError):
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
    async with open_memory(CODEC, clock, store=store) as journal:
        assert await events(journal, "a") == written
        assert (await journal.row("a")).last_seq == len(written)


async def test_every_operation_that_commits_can_be_made_to_fail(clock):
    told = []
    async with open_memory(CODEC, clock, fault=lambda *moment: told.append(moment)) as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        await journal.read("a")
        await journal.post("a", "key", "body")
        await journal.renew("a", epoch, 1.0)
        await journal.release("a", epoch)
    operations = ["create", "claim", "append", "post", "renew", "release"]
    assert told == [(operation, moment) for operation in operations for moment in ("before", "after")]


async def test_what_an_operation_refused_is_not_committed(clock):
    told = []
    async with open_memory(CODEC, clock, fault=lambda *moment: told.append(moment)) as journal:
        epoch = await driven(journal, "a")
        version = await journal.version()
        told.clear()
        with pytest.raises(Exception, match="follow record 7"):
            await journal.append("a", after=7, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert told == [("append", "before")]
        assert await journal.version() == version


async def test_reading_verifies_what_the_store_holds(open_journal, store):
    async with open_journal() as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=[Fact(Noted(text="truth"))], summary=RUNNING)
        (digest,) = store.texts
        store.texts[digest] = b"a lie"
        with pytest.raises(JournalDamaged, match="run 'a', record 1"):
            await journal.read("a")
