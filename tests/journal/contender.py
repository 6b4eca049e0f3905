"""A program of its own that uses a journal beside others: FILE TASK ARGUMENT...; see `test_processes`."""

import os
import sys
from pathlib import Path

import trio

from runtime.core.clock import SystemClock
from runtime.core.errors import Held
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.toy_events import CODEC, RUNNING, counted, driven


def say(*words):
    """Tell the test something, at once and whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def claim(journal, run):
    """Try to become the run's driver, and hold on until standard input ends."""
    try:
        say("won", await journal.claim(run, f"process {os.getpid()}", 60.0))
    except Held as error:
        say("held", error.owner)
    sys.stdin.read()


async def drive(journal, run):
    """Make a run, append to it as fast as possible, and answer a question that all are asked."""
    epoch = await driven(journal, run)
    for last in range(50):
        await journal.append(run, after=last, epoch=epoch, facts=counted(last), summary=RUNNING)
    say((await journal.post("shared", "question", run)).result)


async def drive_for_ever(journal, run):
    """Append until killed, telling what was acknowledged."""
    epoch, last = await driven(journal, run), 0
    while True:
        await journal.append(run, after=last, epoch=epoch, facts=counted(last), summary=RUNNING)
        last += 1
        say(last)


TASKS = {task.__name__: task for task in (claim, drive, drive_for_ever)}


async def main(file, task, *arguments):
    async with open_sqlite(Path(file), CODEC, SystemClock()) as journal:
        await TASKS[task](journal, *arguments)


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
