"""Random sequences of copies, kills, drives and answers among two files and a database.

At every moment at most one journal drives each run. Once each killed copy was repeated, exactly one does, and it has
every record and every acknowledged answer. `REPLAN_COPIES` sets the number of sequences.
"""

import os
import random

import pytest

from runtime.core.clock import SystemClock
from runtime.core.errors import RunMoved, RunNotFound
from runtime.core.machine import Summary
from runtime.journal.copying import copy_runs, spent_last
from runtime.journal.port import nobody
from runtime.open_journal import open_journal
from runtime.open_offline import open_raw, shown_url
from tests.contracts.toy_events import CODEC, counted

SEQUENCES = int(os.environ.get("REPLAN_COPIES", "15"))
IN_DATABASE = 5
"""One sequence in so many has the database among its journals, since a database is slower than a file."""
STEPS = 12
RUNS = ("one", "two")
WAITING = Summary("waiting", "q1", waiting_since=1.0)


class Killed(Exception):
    """The process is gone."""


class Journals:
    """The journals of a sequence, with what was acknowledged."""

    def __init__(self, urls, at_once=1):
        self.urls = urls
        self.answers = {run: set() for run in RUNS}
        self.records = dict.fromkeys(RUNS, 0)
        self.unfinished = []
        self.number = 0
        self.at_once = at_once

    async def start(self):
        for run in RUNS:
            async with open_journal(self.urls[0], CODEC, SystemClock()) as journal:
                await journal.create(run, run, facts=counted(1), summary=WAITING)
            self.records[run] = 1

    def copy(self, source, target, killed_after=None):
        """Copy all runs; with `killed_after`, the process is killed after so many marks, or additions."""
        calls = 0

        class Dying:
            def __init__(self, target):
                self.target = target

            def add(self, *values):
                nonlocal calls
                if calls == killed_after:
                    raise Killed
                calls += 1
                added = self.target.add(*values)
                if calls == killed_after:
                    raise Killed
                return added

        places = shown_url(source), shown_url(target)
        with open_raw(source) as runs, open_raw(target, make=True) as kept:
            return list(copy_runs(runs, Dying(kept), places, nobody, spent_last, at_once=self.at_once))

    async def step(self, chance):
        url, run = chance.choice(self.urls), chance.choice(RUNS)
        match chance.choice(("copy", "copy", "kill", "answer", "drive")):
            case "copy":
                self.copy_existing(url, chance.choice([other for other in self.urls if other != url]))
            case "kill":
                other = chance.choice([other for other in self.urls if other != url])
                try:
                    self.copy_existing(url, other, chance.randrange(3))
                except Killed:
                    self.unfinished.append((url, other))
            case "answer":
                await self.answer(url, run)
            case _:
                await self.drive(url, run)

    def copy_existing(self, source, target, killed_after=None):
        if is_missing(source):
            return
        self.copy(source, target, killed_after)

    async def answer(self, url, run):
        self.number += 1
        key = f"q{self.number}"
        async with open_journal(url, CODEC, SystemClock()) as journal:
            try:
                receipt = await journal.post(run, key, "yes")
            except (RunMoved, RunNotFound):
                return
        assert receipt.result == "accepted"
        self.answers[run].add(key)

    async def drive(self, url, run):
        async with open_journal(url, CODEC, SystemClock()) as journal:
            try:
                epoch = await journal.claim(run, "driver", 60.0)
            except (RunMoved, RunNotFound):
                return
            row = await journal.row(run)
            assert row.last_seq == self.records[run], "the journal that drives the run has all of its records"
            await journal.append(run, after=row.last_seq, epoch=epoch, facts=counted(2), summary=WAITING)
            await journal.release(run, epoch)
        self.records[run] += 1

    async def drivers(self, run):
        found = []
        for url in self.urls:
            async with open_journal(url, CODEC, SystemClock()) as journal:
                try:
                    epoch = await journal.claim(run, "driver", 60.0)
                except (RunMoved, RunNotFound):
                    continue
                await journal.release(run, epoch)
                found.append((url, len(await journal.read(run)), {item.key for item in await journal.inbox(run)}))
        return found


def is_missing(url):
    """Tell whether a journal's file was not made yet."""
    return url.startswith("sqlite:") and not os.path.exists(url.removeprefix("sqlite:"))  # noqa: PTH110


@pytest.mark.parametrize("seed", range(SEQUENCES))
async def test_each_run_has_exactly_one_journal_that_drives_it_with_every_acknowledged_answer(seed, tmp_path, request):
    chance = random.Random(seed)
    urls = [f"sqlite:{tmp_path / name / 'journal.sqlite3'}" for name in ("a", "b", "c")]
    if seed % IN_DATABASE == 0:
        urls[chance.randrange(1, 3)] = request.getfixturevalue("url")
    journals = Journals(urls, at_once=1 + seed % 2)  # Both runs in one transaction, or each in its own.
    await journals.start()
    for _ in range(STEPS):
        await journals.step(chance)
        if journals.unfinished and chance.random() < 0.5:
            journals.copy(*journals.unfinished.pop())
    for run in RUNS:
        assert len(await journals.drivers(run)) <= 1
    for source, target in journals.unfinished:
        journals.copy(source, target)
    for run in RUNS:
        ((_, records, answers),) = await journals.drivers(run)
        assert records == journals.records[run]
        assert answers == journals.answers[run]


async def test_copying_a_run_back_to_where_it_was_moved_from_is_refused(tmp_path):
    """The answer that only the second journal has is not hidden behind the first journal's older copy (R1)."""
    first, second = (f"sqlite:{tmp_path / name / 'journal.sqlite3'}" for name in ("first", "second"))
    journals = Journals([first, second])
    await journals.start()
    journals.copy(first, second)
    await journals.answer(second, "one")
    done = journals.copy(second, first)
    assert [each.new for each in done] == [False, False]
    assert done[0].problem == (
        f"{shown_url(first)} has a copy of run 'one' that was moved to {shown_url(second)}, "
        f"so the run stays in {shown_url(second)}"
    )
    ((url, _, answers),) = await journals.drivers("one")
    assert url == second
    assert answers == {"q1"}
