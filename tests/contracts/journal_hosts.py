"""Journal contract: the presence of hosts, and the journal's clock."""

import pytest

from runtime.core.errors import UsageProblem
from runtime.journal.port import HostRow
from tests.contracts.toy_events import LONE_SURROGATE


class HostsContract:
    async def test_the_time_is_that_of_the_clock_it_was_opened_with(self, journal, clock):
        assert journal.now() == clock.time
        clock.time += 5.0
        assert journal.now() == clock.time

    async def test_a_host_is_present_until_its_announcement_expires_or_it_departs(self, journal, open_journal, clock):
        assert await journal.hosts() == []
        await journal.announce("one", "process 1", 30.0)
        await journal.announce("two", "process 2", 60.0)
        async with open_journal() as other:
            first, second = (
                HostRow("one", "process 1", clock.time + 30.0),
                HostRow("two", "process 2", clock.time + 60.0),
            )
            rows = [first, second]
            assert await other.hosts() == rows
            clock.time += 30.0
            assert await other.hosts() == rows[1:]
        await journal.depart("two")
        await journal.depart("unknown")
        assert await journal.hosts() == []

    async def test_a_host_prolongs_its_presence(self, journal, clock):
        await journal.announce("one", "process 1", 30.0)
        clock.time += 20.0
        await journal.announce("one", "process 1", 30.0)
        assert await journal.hosts() == [HostRow("one", "process 1", clock.time + 30.0)]
        clock.time += 100.0
        await journal.announce("one", "process 1", 30.0)  # Also after it has expired.
        assert len(await journal.hosts()) == 1

    async def test_a_host_says_which_kinds_it_drives(self, journal, open_journal, clock):
        for kinds in (None, {}, {"planning": 1, "negotiation": 3}):
            await journal.announce("one", "process 1", 30.0, kinds)
            async with open_journal() as other:
                assert await other.hosts() == [HostRow("one", "process 1", clock.time + 30.0, kinds)]

    async def test_a_host_whose_process_is_dead_is_not_present(self, journal):
        await journal.announce("one", "process 1", 30.0)
        await journal.announce("two", "process 2", 30.0)
        assert [row.host for row in await journal.hosts(dead=lambda owner: owner == "process 1")] == ["two"]

    async def test_asking_for_hosts_changes_nothing(self, journal, open_journal, clock):
        await journal.announce("one", "process 1", 30.0)
        clock.time += 100.0
        async with open_journal() as other:
            version = await journal.version()
            await other.hosts()
            await other.hosts(dead=lambda _: True)
            assert await journal.version() == version

    async def test_the_presence_of_a_host_changes_no_run(self, journal):
        await journal.create("a", "")
        await journal.announce("one", "process 1", 30.0)
        await journal.depart("one")
        assert (await journal.row("a")).owner is None
        assert (await journal.due(10)).runs == ()

    async def test_a_host_name_or_owner_that_is_not_valid_unicode_is_refused(self, journal):
        for host, owner in (("one", LONE_SURROGATE), (LONE_SURROGATE, "process 1")):
            with pytest.raises(UsageProblem):
                await journal.announce(host, owner, 30.0)
        assert await journal.hosts() == []
