"""The presence of hosts in the journal: who serves a home is asked there, and asking wakes nobody."""

import pytest
import trio

from runtime.core.errors import JournalDamaged, JournalError, StorageFull
from runtime.host.host import PRESENCE_SECONDS
from tests.host.stage import Stage, job


async def test_a_host_is_present_from_the_start_of_its_service_to_the_end(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine, stage.engine() as other:
        assert not await other.hosted()
        async with stage.hosting(engine):
            await trio.sleep(0.1)
            assert stage.told == [("ready", "", "")]
            assert await other.hosted()
            await trio.sleep(10 * PRESENCE_SECONDS)
            assert await other.hosted()
        assert not await other.hosted()
        assert stage.store.hosts == {}


async def test_asking_for_hosts_wakes_none(autojump_clock, monkeypatch):
    stage = Stage()
    async with stage.engine() as engine, stage.hosting(engine):
        await trio.sleep(1)
        monkeypatch.setattr("runtime.host.host.Host.wake", lambda _: pytest.fail("woken"))
        for _ in range(10):
            assert await engine.hosted()
        monkeypatch.undo()


async def test_the_presence_of_a_host_that_was_killed_ends_by_itself(autojump_clock):
    stage = Stage()
    async with stage.engine() as engine:
        with trio.CancelScope() as scope:
            async with stage.hosting(engine):
                await trio.sleep(1)
                rows = dict(stage.store.hosts)
                scope.cancel()
                await trio.sleep(1)
        stage.store.hosts.update(rows)  # As a kill would leave it.
        assert await engine.hosted()
        await trio.sleep(PRESENCE_SECONDS)
        assert not await engine.hosted()


async def test_a_host_that_cannot_announce_itself_serves_all_the_same_and_says_so_once(autojump_clock, monkeypatch):
    stage, failing = Stage(), True

    async with stage.engine() as engine:
        announce = engine.journal.announce

        async def troubled(*arguments):
            if failing:
                raise StorageFull("disk")
            await announce(*arguments)

        monkeypatch.setattr(engine.journal, "announce", troubled)
        await engine.admit(job("a"), run="first")
        async with stage.hosting(engine):
            await trio.sleep(5 * PRESENCE_SECONDS)
            assert stage.row("first") == ("finished", "success")
            assert not await engine.hosted()
            failing = False
            await trio.sleep(PRESENCE_SECONDS)
            assert await engine.hosted()
    assert [event for event, *_ in stage.told].count("trouble") == 1


async def test_a_host_of_a_damaged_journal_ends(autojump_clock, monkeypatch):
    stage = Stage()
    async with stage.engine() as engine:

        async def damaged(*_):
            await trio.lowlevel.checkpoint()
            raise JournalDamaged("journal", "it is no journal")

        monkeypatch.setattr(engine.journal, "announce", damaged)
        with pytest.RaisesGroup(JournalDamaged, flatten_subgroups=True):
            async with stage.hosting(engine):
                await trio.sleep(5)


async def test_a_host_that_cannot_depart_has_ended_all_the_same(autojump_clock, monkeypatch):
    stage = Stage()
    async with stage.engine() as engine:

        async def troubled(*_):
            await trio.lowlevel.checkpoint()
            raise JournalError("busy")

        monkeypatch.setattr(engine.journal, "depart", troubled)
        async with stage.hosting(engine):
            await trio.sleep(1)
        await trio.sleep(PRESENCE_SECONDS)
        assert not await engine.hosted()
