"""The presence of hosts in the journal; reading it wakes no host."""

import pytest
import trio

from actors.planning.kind import CODEC
from runtime.core.errors import JournalDamaged, JournalError, StorageFull
from runtime.host.host import PRESENCE_SECONDS
from runtime.journal.port import FIRST_KIND, RunFilter
from tests.host.fake_home import FakeHome, run_request

PLANNING = (FIRST_KIND, CODEC.format)


async def test_a_host_is_present_from_the_start_of_its_service_to_the_end(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine, home.engine() as other:
        assert not await other.has_host(*PLANNING)
        async with home.hosting(engine):
            await trio.sleep(0.1)
            assert home.notices == [("ready", "", "")]
            assert await other.has_host(*PLANNING)
            await trio.sleep(10 * PRESENCE_SECONDS)
            assert await other.has_host(*PLANNING)
        assert not await other.has_host(*PLANNING)
        assert home.store.hosts == {}


async def test_reading_the_presence_wakes_no_host(autojump_clock, monkeypatch):
    home = FakeHome()
    async with home.engine() as engine, home.hosting(engine):
        await trio.sleep(1)
        monkeypatch.setattr("runtime.host.host.Host.wake", lambda _: pytest.fail("woken"))
        for _ in range(10):
            assert await engine.has_host(*PLANNING)
        monkeypatch.undo()


async def test_the_presence_of_a_killed_host_expires(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        with trio.CancelScope() as scope:
            async with home.hosting(engine):
                await trio.sleep(1)
                rows = dict(home.store.hosts)
                scope.cancel()
                await trio.sleep(1)
        home.store.hosts.update(rows)  # As a kill would leave it.
        assert await engine.has_host(*PLANNING)
        await trio.sleep(PRESENCE_SECONDS)
        assert not await engine.has_host(*PLANNING)


async def test_a_host_that_cannot_announce_itself_still_serves_and_reports_it_once(autojump_clock, monkeypatch):
    home, failing = FakeHome(), True

    async with home.engine() as engine:
        announce = engine.journal.announce

        async def failing_call(*arguments):
            if failing:
                raise StorageFull("disk")
            await announce(*arguments)

        monkeypatch.setattr(engine.journal, "announce", failing_call)
        await engine.admit(run_request("a"), run="first")
        async with home.hosting(engine):
            await trio.sleep(5 * PRESENCE_SECONDS)
            assert home.row("first") == ("finished", "success")
            assert not await engine.has_host(*PLANNING)
            failing = False
            await trio.sleep(PRESENCE_SECONDS)
            assert await engine.has_host(*PLANNING)
    assert [event for event, *_ in home.notices].count("trouble") == 1


async def test_a_host_of_a_damaged_journal_ends(autojump_clock, monkeypatch):
    home = FakeHome()
    async with home.engine() as engine:

        async def damaged(*_):
            await trio.lowlevel.checkpoint()
            raise JournalDamaged("journal", "not a journal")

        monkeypatch.setattr(engine.journal, "announce", damaged)
        with pytest.RaisesGroup(JournalDamaged, flatten_subgroups=True):
            async with home.hosting(engine):
                await trio.sleep(5)


async def test_a_failed_departure_does_not_keep_a_host_present(autojump_clock, monkeypatch):
    home = FakeHome()
    async with home.engine() as engine:

        async def failing_call(*_):
            await trio.lowlevel.checkpoint()
            raise JournalError("busy")

        monkeypatch.setattr(engine.journal, "depart", failing_call)
        async with home.hosting(engine):
            await trio.sleep(1)
        await trio.sleep(PRESENCE_SECONDS)
        assert not await engine.has_host(*PLANNING)


async def test_a_host_drives_its_kinds_and_no_others(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine, home.hosting(engine):
        await trio.sleep(0.1)
        (row,) = await engine.journal.hosts()
        assert row.kinds is not None
        assert row.kinds[FIRST_KIND] == CODEC.format
        assert await engine.has_host(*PLANNING)
        assert not await engine.has_host("gardening", 1)
        assert not await engine.has_host(FIRST_KIND, CODEC.format + 1)


async def test_a_run_that_no_host_drives_is_shown_as_parked_beside_hosts_of_other_kinds(autojump_clock):
    """Its driver was killed, and nobody goes on with it by itself."""
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="first")
        for kinds, status in (({"gardening": 3}, "parked"), ({FIRST_KIND: CODEC.format}, "running"), (None, "running")):
            await engine.journal.announce("a host", "process 1", 30.0, kinds)
            assert (await engine.result("first")).status == status
            assert [shown for _, shown in await engine.rows(RunFilter())] == [status]
