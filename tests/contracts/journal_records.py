"""Journal contract: records and their texts."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from runtime.core.errors import SequenceConflict, UsageProblem
from runtime.core.machine import Summary
from runtime.journal import validation
from runtime.journal.port import Fact, RunFilter
from tests.contracts.toy_events import (
    LONE_SURROGATE,
    RUNNING,
    Counted,
    Noted,
    Toy,
    UnknownEvent,
    append_number,
    counted,
    driven,
    events,
    last_written,
)


class RecordsContract:
    # Appending and reading.

    async def test_what_was_appended_is_read_back(self, journal, clock):
        epoch = await driven(journal, "a")
        first = await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2), summary=RUNNING)
        clock.time += 5.0
        second = await journal.append("a", after=2, epoch=epoch, facts=[Fact(Noted(text="long"))], summary=RUNNING)
        assert [*first, *second] == await journal.read("a")
        assert [(r.run, r.seq, r.at, r.epoch, r.inbox) for r in (*first, *second)] == [
            ("a", 1, 1_000.0, epoch, None),
            ("a", 2, 1_000.0, epoch, None),
            ("a", 3, 1_005.0, epoch, None),
        ]
        assert await events(journal, "a") == [Counted(number=1), Counted(number=2), Noted(text="long")]

    async def test_hashes_are_hex_and_all_different(self, journal):
        epoch = await driven(journal, "a")
        records = await journal.append("a", after=0, epoch=epoch, facts=counted(7, 7, 7), summary=RUNNING)
        assert len({record.hash for record in records}) == 3
        assert {len(bytes.fromhex(record.hash)) for record in records} == {32}

    async def test_equal_events_of_two_runs_have_different_hashes(self, journal):
        hashes = set()
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            (record,) = await journal.append(run, after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
            hashes.add(record.hash)
        assert len(hashes) == 2

    async def test_reading_can_start_after_any_record(self, journal):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2, 3), summary=RUNNING)
        for after in range(4):
            assert [record.seq for record in await journal.read("a", after)] == list(range(after + 1, 4))
        assert await journal.read("a", 99) == []
        assert len(await journal.read("a", -1)) == 3

    @pytest.mark.parametrize("after", [0, 1, 3, 99, -1])
    async def test_an_append_must_follow_the_last_record(self, journal, after):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2), summary=RUNNING)
        with pytest.raises(SequenceConflict) as caught:
            await journal.append("a", after=after, epoch=epoch, facts=counted(3), summary=Summary("finished"))
        assert (caught.value.after, caught.value.last) == (after, 2)
        assert len(await journal.read("a")) == 2
        assert (await journal.row("a")).summary == RUNNING

    async def test_the_status_row_changes_with_the_append(self, journal, clock):
        epoch = await driven(journal, "a")
        clock.time += 3.0
        summary = Summary("waiting", "q1", waiting_since=1_003.0, next_wake=2_000.25, near="calls 80")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2), summary=summary)
        row = await journal.row("a")
        assert (row.last_seq, row.created, row.updated, row.summary) == (2, 1_000.0, 1_003.0, summary)

    async def test_an_append_without_facts_changes_only_the_status_row(self, journal):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert await journal.append("a", after=1, epoch=epoch, facts=[], summary=Summary("waiting")) == []
        row = await journal.row("a")
        assert (row.last_seq, row.summary.status) == (1, "waiting")
        assert len(await journal.read("a")) == 1
        with pytest.raises(SequenceConflict):
            await journal.append("a", after=0, epoch=epoch, facts=[], summary=RUNNING)

    async def test_only_one_of_many_appends_after_the_same_record_is_written(self, journal):
        epoch = await driven(journal, "a")
        written: list[int] = []

        async def append(number: int) -> None:
            try:
                await journal.append("a", after=0, epoch=epoch, facts=counted(number), summary=RUNNING)
                written.append(number)
            except SequenceConflict:
                pass

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(append, number)
        assert [event.number for event in await events(journal, "a")] == written
        assert len(written) == 1

    async def test_a_cancelled_append_returns_its_records_if_they_were_written(self, journal):
        epoch, returned = await driven(journal, "a"), list[int]()

        async def append(after: int) -> None:
            records = await journal.append("a", after=after, epoch=epoch, facts=counted(after), summary=RUNNING)
            returned.append(records[0].seq)

        for moment in range(6):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(append, len(returned))
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            assert [record.seq for record in await journal.read("a")] == returned
        assert returned

    async def test_concurrent_appends_of_many_runs_do_not_mix(self, journal):
        async def drive(run: str) -> None:
            epoch = await driven(journal, run)
            for last in range(0, 20, 2):
                facts = [Fact(Counted(number=last)), Fact(Noted(text=f"{run} {last}"))]
                await journal.append(run, after=last, epoch=epoch, facts=facts, summary=RUNNING)

        runs = [f"run-{number}" for number in range(30)]
        async with trio.open_nursery() as nursery:
            for run in runs:
                nursery.start_soon(drive, run)
        for run in runs:
            records = await journal.read(run)
            assert [record.seq for record in records] == list(range(1, 21))
            assert records[-1].event == Noted(text=f"{run} 18")

    async def test_after_a_cancelled_append_the_journal_shows_what_was_written(self, journal):
        epoch = await driven(journal, "a")
        for number in range(10):
            last = await last_written(journal, "a")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(append_number, journal, "a", epoch, last, number)
                await trio.testing.wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
        last = await last_written(journal, "a")
        await journal.append("a", after=last, epoch=epoch, facts=counted(99), summary=RUNNING)
        numbers = [event.number for event in await events(journal, "a")]
        assert numbers == sorted(set(numbers))
        assert numbers[-1] == 99

    async def test_an_append_that_was_cancelled_before_it_began_is_not_written(self, journal):
        epoch = await driven(journal, "a")
        with trio.CancelScope() as scope:
            scope.cancel()
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert scope.cancelled_caught
        assert await last_written(journal, "a") == 0

    # Texts.

    @pytest.mark.parametrize("text", ["", "short", "zeichen: äöü 漢字 🙂", "nul \x00 inside", "x" * 3_000_000])
    async def test_a_text_comes_back_as_it_was(self, journal, text):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=[Fact(Noted(text=text))], summary=RUNNING)
        assert await events(journal, "a") == [Noted(text=text)]

    async def test_an_absent_text_comes_back_absent(self, journal):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=[Fact(Noted(text=None))], summary=RUNNING)
        assert await events(journal, "a") == [Noted(text=None)]

    async def test_runs_share_their_texts(self, journal):
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            facts: list[Fact[Toy]] = [Fact(Noted(text="the same")), Fact(Noted(text="the same"))]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=RUNNING)
            assert await events(journal, run) == [Noted(text="the same")] * 2

    @pytest.mark.parametrize("event", [Noted(text=LONE_SURROGATE), Counted(number=1, label=LONE_SURROGATE)])
    async def test_an_event_that_is_not_valid_unicode_is_refused_before_any_write(self, journal, event):
        epoch = await driven(journal, "a")
        with pytest.raises(UsageProblem) as caught:
            await journal.append("a", after=0, epoch=epoch, facts=[*counted(1), Fact(event)], summary=RUNNING)
        assert len(str(caught.value).splitlines()) == 1
        assert await journal.read("a") == []
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)

    async def test_an_event_outside_the_union_is_refused_before_any_write(self, journal):
        epoch = await driven(journal, "a")
        with pytest.raises(UsageProblem, match="UnknownEvent"):
            await journal.append("a", after=0, epoch=epoch, facts=[Fact(UnknownEvent())], summary=RUNNING)
        assert await journal.read("a") == []

    async def test_every_other_argument_must_be_valid_unicode(self, journal):
        epoch = await driven(journal, "a")
        calls: list[Callable[[], Any]] = [
            lambda: journal.create("b", LONE_SURROGATE),
            lambda: journal.runs(RunFilter(status=LONE_SURROGATE)),
            lambda: journal.claim("a", LONE_SURROGATE, 1.0),
            lambda: journal.post("a", LONE_SURROGATE, "body"),
            lambda: journal.post("a", "key", LONE_SURROGATE),
            lambda: journal.append("a", after=0, epoch=epoch, facts=[], summary=Summary(LONE_SURROGATE)),
            lambda: journal.append("a", after=0, epoch=epoch, facts=[], summary=Summary("waiting", LONE_SURROGATE)),
        ]
        for call in calls:
            with pytest.raises(UsageProblem):
                await call()
        assert await journal.inbox("a") == []
        assert [row.run for row in await journal.runs(RunFilter())] == ["a"]

    async def test_a_text_or_message_that_is_too_large_is_refused_before_any_write(self, journal, monkeypatch):
        monkeypatch.setattr(validation, "TEXT_BYTES_MAX", 100)
        epoch = await driven(journal, "a")
        large = "é" * 51
        for fact in (Fact(Noted(text=large)), Fact(Counted(number=1, label=large))):
            with pytest.raises(UsageProblem):
                await journal.append("a", after=0, epoch=epoch, facts=[fact], summary=RUNNING)
        with pytest.raises(UsageProblem):
            await journal.post("a", "key", large)
        assert await journal.read("a") == []
        await journal.post("a", "key", "é" * 50)
