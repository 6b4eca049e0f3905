"""Several processes on one journal: one driver per run, no lost write, nothing lost to `kill -9`."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from runtime.core.clock import SystemClock
from runtime.journal.port import RunFilter
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.toy_events import CODEC

ROOT = Path(__file__).parents[2]


@pytest.fixture
def open_journal(path):
    return partial(open_sqlite, path, CODEC, SystemClock())


@pytest.fixture
def start(path):
    """Start contenders; whatever the test does, none outlives it."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "tests.journal.contender", f"sqlite:{path}", *words]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


async def test_of_several_processes_one_drives_a_run(open_journal, start):
    async with open_journal() as journal:
        await journal.create("a", "")
        contenders = [start("claim", "a") for _ in range(3)]
        answers = [contender.stdout.readline().split(maxsplit=1) for contender in contenders]
        row = await journal.row("a")
    (winner,) = (contender for contender, (word, _) in zip(contenders, answers, strict=True) if word == "won")
    assert sorted(word for word, _ in answers) == ["held", "held", "won"]
    assert {owner.strip() for word, owner in answers if word == "held"} == {f"process {winner.pid}"}
    assert (row.owner, row.epoch) == (f"process {winner.pid}", 1)


async def test_processes_write_beside_each_other_without_loss(open_journal, start):
    async with open_journal() as journal:
        await journal.create("shared", "")
        seen = await journal.version()
        runs = ["one", "two", "three"]
        contenders = [start("drive", run) for run in runs]
        answers = [contender.stdout.readline().strip() for contender in contenders]
        assert [contender.wait() for contender in contenders] == [0, 0, 0]
        assert sorted(answers) == ["accepted", "conflict", "conflict"]
        assert await journal.version() != seen
        for run in runs:
            assert [record.event.number for record in await journal.read(run)] == list(range(50))


async def test_several_processes_may_make_the_journal_at_once(open_journal, start):
    contenders = [start("drive_for_ever", run) for run in ("one", "two", "three")]
    assert [contender.stdout.readline() for contender in contenders] == ["1\n"] * 3
    async with open_journal() as journal:
        assert len(await journal.runs(RunFilter())) == 3


def may_lock(path):
    """Tell whether another process could lock the place by which SQLite knows that a file is in use."""
    program = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
    )
    return subprocess.run([sys.executable, "-c", program, path], stderr=subprocess.DEVNULL, check=False).returncode == 0


async def test_opening_twice_keeps_the_locks_of_the_first_opening(open_journal, path):
    """Closing any handle of a file drops all of the process's locks on it, SQLite's included."""
    async with open_journal() as journal:
        await journal.create("a", "")
        async with open_journal():
            pass
        assert not may_lock(path)
    assert may_lock(path)


@pytest.mark.parametrize("acknowledged", [1, 7, 150])
async def test_a_killed_process_loses_nothing_that_was_acknowledged(open_journal, start, acknowledged):
    contender = start("drive_for_ever", "a")
    for _ in range(acknowledged):
        contender.stdout.readline()
    contender.kill()
    told = acknowledged + len(contender.stdout.readlines())
    with trio.fail_after(10):
        async with open_journal() as journal:
            stored = await journal.read("a")
            assert (await journal.row("a")).last_seq == len(stored)
    assert told <= len(stored) <= told + 1
