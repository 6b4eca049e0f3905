"""Several processes on one journal: one driver per run, no lost write, nothing lost to `kill -9`."""

import subprocess
import sys
from functools import partial

import pytest

from runtime.core.clock import SystemClock
from runtime.journal.port import RunFilter
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.journal_processes import ProcessesContract
from tests.contracts.toy_events import CODEC


@pytest.fixture
def open_journal(path):
    return partial(open_sqlite, path, CODEC, SystemClock())


@pytest.fixture
def url(path):
    return f"sqlite:{path}"


class TestSqlite(ProcessesContract):
    """The contract, on a file that several processes may make at once."""

    def check(self, url):
        """Reading checks the hashes of all records."""

    async def test_several_processes_may_make_the_journal_at_once(self, open_journal, start):
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
