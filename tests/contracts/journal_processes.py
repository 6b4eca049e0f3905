"""What holds for several processes on one journal: one driver per run, no lost write, nothing lost to `kill -9`."""

import subprocess
import sys
from pathlib import Path

import pytest
import trio

ROOT = Path(__file__).parents[2]


class ProcessesContract:
    """A suite has the fixtures `url` and `open_journal`, and `check`, which looks at the whole journal afterwards."""

    @pytest.fixture
    def start(self, url):
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

    async def test_of_several_processes_one_drives_a_run(self, open_journal, start):
        async with open_journal() as journal:
            await journal.create("a", "")
            contenders = [start("claim", "a") for _ in range(3)]
            answers = [contender.stdout.readline().split(maxsplit=1) for contender in contenders]
            row = await journal.row("a")
        (winner,) = (contender for contender, (word, _) in zip(contenders, answers, strict=True) if word == "won")
        assert sorted(word for word, _ in answers) == ["held", "held", "won"]
        assert {owner.strip() for word, owner in answers if word == "held"} == {f"process {winner.pid}"}
        assert (row.owner, row.epoch) == (f"process {winner.pid}", 1)

    async def test_processes_write_beside_each_other_without_loss(self, open_journal, start, url):
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
        self.check(url)

    @pytest.mark.parametrize("acknowledged", [1, 7, 150])
    async def test_a_killed_process_loses_nothing_that_was_acknowledged(self, open_journal, start, url, acknowledged):
        contender = start("drive_for_ever", "a")
        for _ in range(acknowledged):
            contender.stdout.readline()
        contender.kill()
        told = acknowledged + len(contender.stdout.readlines())
        with trio.fail_after(300):
            async with open_journal() as journal:
                await journal.post("a", "barrier", "")  # Behind a transaction of the killed process that has not ended.
                stored = await journal.read("a")
                assert (await journal.row("a")).last_seq == len(stored)
        assert told <= len(stored) <= told + 1
        self.check(url)
