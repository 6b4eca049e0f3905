"""Journal contract: deleting runs, with the texts that no other run names."""

import pytest

from runtime.core.errors import Held, RunExists, RunNotFound, SequenceConflict
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.port import Deleted, Fact, RunFilter
from tests.contracts.toy_events import RUNNING, Noted, counted, driven

FINISHED = Summary("finished", "success")


async def noted(journal, run, *texts, free=True):
    """Make a run that has noted some texts, and return the place of its last record."""
    epoch = await driven(journal, run)
    facts = [Fact(Noted(text=text)) for text in texts]
    await journal.append(run, after=0, epoch=epoch, facts=facts, summary=FINISHED)
    if free:
        await journal.release(run, epoch)
    return len(texts)


class DeletionContract:
    async def test_a_deleted_run_is_gone_with_its_messages(self, journal):
        last = await noted(journal, "a", "one", "two")
        await journal.post("a", "key", "body")
        await noted(journal, "b", "three")
        assert await journal.delete({"a": last}) == Deleted(1, 2, 6)
        assert [row.run for row in await journal.runs(RunFilter())] == ["b"]
        for call in (journal.row, journal.read, journal.inbox):
            with pytest.raises(RunNotFound):
                await call("a")
        assert [record.event.text for record in await journal.read("b")] == ["three"]

    async def test_texts_that_others_name_are_kept(self, journal):
        last = await noted(journal, "a", "shared", "own", "own")
        await noted(journal, "b", "shared")
        assert await journal.delete({"a": last}) == Deleted(1, 1, 3)
        assert [record.event.text for record in await journal.read("b")] == ["shared"]

    async def test_a_text_of_several_deleted_runs_is_removed_once(self, journal):
        runs = {run: await noted(journal, run, "shared") for run in "abc"}
        assert await journal.delete(runs) == Deleted(3, 1, 6)
        assert await journal.runs(RunFilter()) == []

    async def test_the_id_can_be_used_again_and_the_texts_too(self, journal):
        last = await noted(journal, "a", "one")
        with pytest.raises(RunExists):
            await journal.create("a", "")
        await journal.delete({"a": last})
        await noted(journal, "a", "one")
        assert [record.event.text for record in await journal.read("a")] == ["one"]

    async def test_what_was_spent_stays_spent(self, journal):
        epoch = await driven(journal, "a")
        summary = Summary("finished", "success", committed=Amount(calls=3, micro_usd=7))
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=summary)
        await journal.release("a", epoch)
        await journal.delete({"a": 1})
        assert await journal.spent_today() == Amount(calls=3, micro_usd=7)

    async def test_a_run_that_is_driven_is_not_deleted(self, journal, clock):
        last = await noted(journal, "a", "one", free=False)
        with pytest.raises(Held):
            await journal.delete({"a": last})
        assert len(await journal.read("a")) == 1
        assert (await journal.delete({"a": last}, dead=lambda _: True)).runs == 1

    async def test_a_run_with_other_records_is_not_deleted(self, journal):
        last = await noted(journal, "a", "one")
        with pytest.raises(SequenceConflict):
            await journal.delete({"a": last - 1})
        assert len(await journal.read("a")) == 1

    async def test_all_are_deleted_or_none(self, journal):
        last = await noted(journal, "a", "one")
        with pytest.raises(RunNotFound):
            await journal.delete({"a": last, "unknown": 1})
        assert [record.event.text for record in await journal.read("a")] == ["one"]

    async def test_a_deleted_run_is_not_due(self, journal, clock):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        await journal.post("a", "key", "body")
        await journal.release("a", epoch)
        assert (await journal.due(9)).runs == ("a",)
        await journal.delete({"a": 1})
        assert (await journal.due(9)).runs == ()

    async def test_a_deleted_run_can_be_admitted_again_with_its_first_records(self, journal):
        await journal.create("a", "", facts=counted(1, 2), owner="driver", ttl=60.0)
        await journal.release("a", 1)
        await journal.delete({"a": 2})
        (record,) = await journal.create("a", "again", facts=counted(3), owner="driver", ttl=60.0)
        assert (record.seq, record.epoch) == (1, 1)
        await journal.append("a", after=1, epoch=1, facts=counted(4), summary=RUNNING)
        assert [record.event for record in await journal.read("a")] == [fact.event for fact in counted(3, 4)]
