"""Several processes on one database: kill -9, stopped processes and a restart of the server lose and double nothing."""

import signal
from pathlib import Path

import pytest
import trio

from packages.server.tests.long.postgres.checker import check_database
from replan_server.postgres.address import parse_address
from replan_server.postgres.journal import open_postgres
from runtime.core.errors import Fenced
from tests.contracts.journal_processes import ProcessesContract
from tests.contracts.toy_events import CODEC, RUNNING, counted, driven

ROOT = Path(__file__).parents[5]


@pytest.fixture
def opened(address):
    return lambda **options: open_postgres(address, CODEC, **options)


@pytest.fixture
def open_journal(opened):
    return opened


class TestPostgres(ProcessesContract):
    """The contract, and processes that are stopped."""

    def check(self, url):
        check_database(url)

    async def test_processes_that_are_killed_and_stopped_over_one_run_leave_it_whole(self, opened, start, url):
        """Leases are shorter than the stops, so that a stopped process wakes up fenced."""
        async with opened() as journal:
            await journal.create("a", "")
            contenders = [start("compete", "a") for _ in range(2)]
            for strike in ("stop", "kill", "stop", "kill"):
                victim = contenders.pop(0)
                victim.stdout.readline()  # It has driven the run.
                await trio.sleep(0.1)
                if strike == "stop":
                    victim.send_signal(signal.SIGSTOP)
                    await trio.sleep(0.5)
                    victim.send_signal(signal.SIGCONT)
                    contenders.append(victim)
                else:
                    victim.kill()
                    contenders.insert(0, start("compete", "a"))
            contenders[0].stdout.readline()
            for contender in contenders:
                contender.kill()
            await journal.post("a", "barrier", "")
            row, records = await journal.row("a"), await journal.read("a")
        assert row.epoch >= 3
        assert len({record.event.label for record in records}) >= 3
        check_database(url)


async def test_appends_go_on_after_a_restart_of_the_server(opened, server, url):
    async with opened() as journal:
        epoch = await driven(journal, "a")

        async def restart():
            await trio.to_thread.run_sync(server.stop)
            await trio.to_thread.run_sync(server.start)

        with trio.fail_after(300):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(restart)
                for last in range(60):
                    await journal.append("a", after=last, epoch=epoch, facts=counted(last), summary=RUNNING)
                    await trio.sleep(0.02)
        assert [record.event.number for record in await journal.read("a")] == list(range(60))
    check_database(url)


async def test_a_driver_that_was_stopped_beyond_its_lease_is_fenced(opened):
    async with opened() as journal, opened() as other:
        epoch = await driven(journal, "a", ttl=0.2)
        await trio.sleep(0.3)
        assert await other.claim("a", "another", 60.0) == epoch + 1
        with pytest.raises(Fenced):
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        with pytest.raises(Fenced):
            await journal.renew("a", epoch, 60.0)


def test_a_url_of_the_tests_is_one_that_can_be_shown(url):
    assert "pass" not in parse_address(url).place
