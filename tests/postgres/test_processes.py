"""Several processes on one database: kill -9, stopped processes and a restart of the server lose and double nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from runtime.core.errors import Fenced
from runtime.journal.postgres.address import parse_address
from runtime.journal.postgres.journal import open_postgres
from tests.contracts.toy_events import CODEC, RUNNING, counted, driven
from tests.postgres.checker import check_database

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(url):
    """Start contenders; whatever the test does, none outlives it."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "tests.journal.contender", url, *words]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


@pytest.fixture
def opened(address):
    return lambda **options: open_postgres(address, CODEC, **options)


async def test_of_several_processes_one_drives_a_run(opened, start):
    async with opened() as journal:
        await journal.create("a", "")
        contenders = [start("claim", "a") for _ in range(2)]
        answers = [contender.stdout.readline().split(maxsplit=1)[0] for contender in contenders]
    assert sorted(answers) == ["held", "won"]


async def test_processes_write_beside_each_other_without_loss(opened, start, url):
    async with opened() as journal:
        await journal.create("shared", "")
        runs = ["one", "two"]
        contenders = [start("drive", run) for run in runs]
        answers = [contender.stdout.readline().strip() for contender in contenders]
        assert [contender.wait() for contender in contenders] == [0, 0]
        assert sorted(answers) == ["accepted", "conflict"]
        for run in runs:
            assert [record.event.number for record in await journal.read(run)] == list(range(50))
    check_database(url)


async def test_a_killed_process_loses_nothing_that_was_acknowledged(opened, start, url):
    contender = start("drive_for_ever", "a")
    for _ in range(40):
        contender.stdout.readline()
    contender.kill()
    told = 40 + len(contender.stdout.readlines())
    async with opened() as journal:
        await journal.post("a", "barrier", "")  # Behind a transaction of the killed process that has not ended yet.
        stored = await journal.read("a")
    assert told <= len(stored) <= told + 1
    check_database(url)


async def test_processes_that_are_killed_and_stopped_over_one_run_leave_it_whole(opened, start, url):
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

        with trio.fail_after(30):
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
