"""Commands about one run do not read the rows of all runs: those of a large journal take seconds."""

import pytest

from replan.runs.linked_runs import made_from
from replan.runs.run_ids import ALL, run_named
from runtime.core.clock import SystemClock
from runtime.core.errors import RunNotFound
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
        assert await run_named(journal, "k7m2x9qa") == "k7m2x9qa"
        assert journal.asked == []
        assert await run_named(journal, "k7m2x9") == "k7m2x9qa"
        assert journal.asked == [ALL]
        with pytest.raises(RunNotFound):
            await run_named(journal, "none")


async def test_executions_of_a_plan_are_found_by_their_title():
    async with open_memory(CODEC, SystemClock()) as opened:
        journal = Counting(opened)

        class Reader:
            pass

        Reader.journal = journal
        assert await made_from(Reader(), "k7m2x9qa") == []
        [which] = journal.asked
        assert which.title_start == "plan k7m2x9qa: "
