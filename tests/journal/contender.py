"""A program of its own that uses a journal beside others: URL TASK ARGUMENT...; see `test_processes`."""

import os
import sys
from contextlib import suppress

import trio

from runtime.core.clock import SystemClock
from runtime.core.errors import Fenced, Held
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.port import Fact
from runtime.open_journal import open_journal
from tests.contracts.toy_events import CODEC, RUNNING, Counted, counted, driven


def say(*words):
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


async def compete(journal, run):
    """Take a run again and again, and append under one's own name, consuming a message each time; told in between."""
    name = f"process {os.getpid()}"
    while True:
        try:
            epoch = await journal.claim(run, name, 0.3)
        except Held:
            await trio.sleep(0.02)
            continue
        with suppress(Fenced):
            for _ in range(20):
                last = (await journal.row(run)).last_seq
                consumed = {record.inbox for record in await journal.read(run)}
                await journal.post(run, f"{name}/{epoch}/{last}", "body")
                fresh = [item.inbox for item in await journal.inbox(run) if item.inbox not in consumed][:1]
                facts = [Fact(Counted(number=last, label=name), inbox) for inbox in fresh or [None]]
                summary = Summary("running", committed=Amount(calls=last))
                await journal.append(run, after=last, epoch=epoch, facts=facts, summary=summary)
                say(last + 1)
            await journal.release(run, epoch)


TASKS = {task.__name__: task for task in (claim, compete, drive, drive_for_ever)}


async def main(url, task, *arguments):
    async with open_journal(url, CODEC, SystemClock()) as journal:
        await TASKS[task](journal, *arguments)


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
