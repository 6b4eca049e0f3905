"""Commands about one run do not read the rows of all runs: those of a large journal take seconds."""

import json
from dataclasses import replace

import pytest

from replan.cli.reading import FIRST_ROWS, newest_run
from replan.runs.families import runs_made_from
from replan.runs.inbox import all_questions
from replan.runs.run_ids import ALL, resolve_run
from runtime.core.clock import SystemClock
from runtime.core.errors import RunNotFound
from runtime.core.machine import Summary
from runtime.journal.memory import open_memory
from tests.contracts.toy_events import CODEC, counted


class Counting:
    """A journal that notes which lists are asked for."""

    def __init__(self, journal):
        self.journal, self.asked = journal, []

    def __getattr__(self, name):
        return getattr(self.journal, name)

    async def runs(self, which):
        self.asked.append(which)
        return await self.journal.runs(which)


async def test_a_whole_id_is_looked_up_and_a_prefix_is_searched():
    async with open_memory(CODEC, SystemClock()) as opened:
        journal = Counting(opened)
        await journal.create("k7m2x9qa", "", facts=counted(1))
        assert await resolve_run(journal, "k7m2x9qa") == "k7m2x9qa"
        assert journal.asked == []
        assert await resolve_run(journal, "k7m2x9") == "k7m2x9qa"
        assert journal.asked == [replace(ALL, run_start="k7m2x9")]
        with pytest.raises(RunNotFound):
            await resolve_run(journal, "none")


async def test_the_newest_run_is_found_in_the_first_rows():
    async with open_memory(CODEC, SystemClock()) as opened:

        class Reader:
            journal = Counting(opened)

        with pytest.raises(RunNotFound):
            await newest_run(Reader())
        await opened.create("oldest", "", facts=counted(1))
        assert await newest_run(Reader()) == "oldest"
        for number in range(FIRST_ROWS):
            await opened.create(f"oldest.{number}", "", facts=counted(1))
        Reader.journal.asked.clear()
        assert await newest_run(Reader()) == "oldest"
        assert [which.limit for which in Reader.journal.asked] == [FIRST_ROWS, FIRST_ROWS * 10]
        await opened.create("newest", "", facts=counted(1))
        Reader.journal.asked.clear()
        assert await newest_run(Reader()) == "newest"
        assert [which.limit for which in Reader.journal.asked] == [FIRST_ROWS]


async def test_executions_of_a_plan_are_found_by_their_title():
    async with open_memory(CODEC, SystemClock()) as opened:
        journal = Counting(opened)

        class Reader:
            pass

        Reader.journal = journal
        assert await runs_made_from(Reader(), "k7m2x9qa") == []
        [which] = journal.asked
        assert which.title_start == "plan k7m2x9qa: "


async def test_questions_are_listed_from_the_rows_of_the_runs_that_ask_and_no_run_is_read():
    """As R2 found: 1,000 of 20,000 runs were folded for it."""
    asks = json.dumps([{"id": "q1", "text": "Which version?", "asked": "2026-11-24T00:00:00Z"}])
    async with open_memory(CODEC, SystemClock()) as opened:
        for number in range(3):
            await opened.create(f"asks{number}", "", facts=counted(1), summary=Summary("waiting", "q1", 1.0, asks=asks))
        await opened.create("works", "", facts=counted(1))

        class Reader:
            journal = Counting(opened)

        asked = await all_questions(Reader())
        assert [each["text"] for each in asked.questions] == ["Which version?"] * 3
        assert asked.problems == ()
        [which] = Reader.journal.asked
        assert which.asks is True
