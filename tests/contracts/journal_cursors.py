"""Journal contract: cursors, which say how far copies of the records have got, and the counts of runs."""

import pytest

from runtime.core.errors import UsageProblem
from runtime.core.machine import Summary
from runtime.journal.port import Behind, Tally, nobody
from tests.contracts.toy_events import LONE_SURROGATE, RUNNING, counted, driven

FINISHED = Summary("finished", "success")


async def written(journal, run, records, summary=RUNNING):
    epoch = await driven(journal, run)
    facts = counted(*range(records))
    await journal.append(run, after=0, epoch=epoch, facts=facts, summary=summary)
    await journal.release(run, epoch)


async def behind(journal, name="copies", **which):
    return [(row.run, row.position, row.last_seq) for row in await journal.behind(name, **which)]


class CursorsContract:
    async def test_a_cursor_is_behind_until_it_is_moved(self, journal, open_journal):
        await written(journal, "a", 3)
        await written(journal, "b", 2)
        assert await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)
        assert await behind(journal) == [("a", 0, 3), ("b", 0, 2)]
        assert await journal.move_cursor("copies", "process 1", {"a": 2, "b": 2})
        async with open_journal() as other:
            assert await behind(other) == [("a", 2, 3)]
        assert await behind(journal, "another") == [("a", 0, 3), ("b", 0, 2)]

    async def test_a_cursor_never_goes_back_and_never_past_the_last_record(self, journal):
        await written(journal, "a", 3)
        await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)
        assert await journal.move_cursor("copies", "process 1", {"a": 2})
        assert await journal.move_cursor("copies", "process 1", {"a": 1, "unknown": 7})
        assert await behind(journal) == [("a", 2, 3)]
        assert await journal.move_cursor("copies", "process 1", {"a": 99})
        epoch = await journal.claim("a", "driver", 30.0)
        await journal.append("a", after=3, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert await behind(journal) == [("a", 3, 4)]

    async def test_a_new_cursor_may_skip_what_was_there_before(self, journal):
        await written(journal, "old", 2, FINISHED)
        await written(journal, "open", 2)
        skip = frozenset({"finished"})
        await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody, skip=skip)
        await written(journal, "new", 1, FINISHED)
        await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody, skip=skip)
        assert await behind(journal) == [("open", 0, 2), ("new", 0, 1)]

    async def test_one_process_holds_a_cursor_at_a_time(self, journal, open_journal, clock):
        await written(journal, "a", 1)
        assert await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)
        async with open_journal() as other:
            assert not await other.hold_cursor("copies", "process 2", 30.0, dead=nobody)
            assert not await other.move_cursor("copies", "process 2", {"a": 1})
            assert await other.hold_cursor("another", "process 2", 30.0, dead=nobody)
            assert await behind(other) == [("a", 0, 1)]
            clock.time += 20.0
            assert await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)  # Prolonged.
            clock.time += 20.0
            assert not await other.hold_cursor("copies", "process 2", 30.0, dead=nobody)
            clock.time += 10.0
            assert await other.hold_cursor("copies", "process 2", 30.0, dead=nobody)
            assert not await journal.move_cursor("copies", "process 1", {"a": 1})

    async def test_a_cursor_that_was_left_or_whose_holder_is_dead_may_be_taken(self, journal):
        await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)
        await journal.leave_cursor("copies", "process 2")
        assert not await journal.hold_cursor("copies", "process 2", 30.0, dead=nobody)
        assert await journal.hold_cursor("copies", "process 2", 30.0, dead=lambda owner: owner == "process 1")
        await journal.leave_cursor("copies", "process 2")
        await journal.leave_cursor("unknown", "process 2")
        assert await journal.hold_cursor("copies", "process 3", 30.0, dead=nobody)

    async def test_a_cursor_changes_no_record_and_goes_with_its_run(self, journal):
        await written(journal, "a", 2, FINISHED)
        before = await journal.read("a"), await journal.row("a")
        await journal.hold_cursor("copies", "process 1", 30.0, dead=nobody)
        await journal.move_cursor("copies", "process 1", {"a": 1})
        assert (await journal.read("a"), await journal.row("a")) == before
        await journal.delete({"a": 2})
        assert await behind(journal) == []

    async def test_runs_that_are_behind_are_listed_in_parts(self, journal):
        for run in ("a", "b", "c"):
            await written(journal, run, 1)
        first = await journal.behind("copies", 2)
        assert [row.run for row in first] == ["a", "b"]
        (last,) = await journal.behind("copies", 2, beyond=first[-1].number)
        assert last == Behind(last.number, "c", "planning", 1, 0, 1)

    async def test_runs_are_counted_by_kind_and_status(self, journal, clock):
        assert await journal.tally() == []
        await written(journal, "a", 1)
        begun = clock.time
        clock.time += 5.0
        await written(journal, "b", 1)
        await written(journal, "c", 1, Summary("waiting", "q1", waiting_since=clock.time))
        await written(journal, "d", 1, FINISHED)
        expected = [
            Tally("planning", "finished", 1),
            Tally("planning", "running", 2, None, begun),
            Tally("planning", "waiting", 1, clock.time),
        ]
        assert await journal.tally() == expected
        await journal.claim("a", "driver", 30.0)
        assert (await journal.tally())[1] == Tally("planning", "running", 2, None, clock.time)

    async def test_a_cursors_name_or_holder_that_is_not_valid_unicode_is_refused(self, journal):
        for name, owner in (("copies", LONE_SURROGATE), (LONE_SURROGATE, "process 1")):
            with pytest.raises(UsageProblem):
                await journal.hold_cursor(name, owner, 30.0, dead=nobody)
