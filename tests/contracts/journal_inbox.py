"""Journal contract: posted messages, versions, and several openings of one storage."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio

from runtime.core.errors import Fenced, Held, JournalError
from runtime.core.machine import Summary
from runtime.journal.port import Fact, InboxItem, Posted, RunFilter
from tests.contracts.toy_events import RUNNING, Counted, Noted, Toy, counted, driven, events


class InboxContract:
    # The inbox.

    async def test_a_message_is_accepted_once(self, journal, clock):
        await journal.create("a", "")
        assert await journal.post("a", "q1", "yes") == Posted("accepted", 1, "yes")
        clock.time += 1.0
        assert await journal.post("a", "q1", "yes") == Posted("duplicate", 1, "yes")
        assert await journal.post("a", "q1", "no") == Posted("conflict", 1, "yes")
        assert await journal.post("a", "q2", "no") == Posted("accepted", 2, "no")
        items = [InboxItem(1, "q1", "yes", 1_000.0), InboxItem(2, "q2", "no", 1_001.0)]
        assert await journal.inbox("a") == items
        assert await journal.inbox("a", 1) == items[1:]
        assert await journal.inbox("a", 2) == []

    async def test_each_run_has_its_own_inbox(self, journal):
        for run in ("a", "b"):
            await journal.create(run, "")
            assert await journal.post(run, "key", run) == Posted("accepted", 1, run)
        assert [item.body for item in await journal.inbox("b")] == ["b"]

    async def test_people_may_post_while_a_driver_holds_the_run(self, journal):
        epoch = await driven(journal, "a")
        await journal.post("a", "key", "body")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)

    async def test_a_record_names_the_message_it_consumes(self, journal):
        epoch = await driven(journal, "a")
        await journal.post("a", "key", "body")
        facts: list[Fact[Toy]] = [Fact(Counted(number=1), inbox=1), *counted(2)]
        await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
        assert [record.inbox for record in await journal.read("a")] == [1, None]
        assert [item.inbox for item in await journal.inbox("a")] == [1]

    async def test_the_row_shows_unread_messages_until_the_last_is_consumed(self, journal):
        epoch = await driven(journal, "a")
        await driven(journal, "b")
        assert not (await journal.row("a")).unread
        for key in ("one", "two"):
            await journal.post("a", key, "body")
        unread = []
        for number in (1, 2):
            assert {row.run: row.unread for row in await journal.runs(RunFilter())} == {"a": True, "b": False}
            fact: Fact[Toy] = Fact(Counted(number=number), inbox=number)
            await journal.append("a", after=number - 1, epoch=epoch, facts=[fact], summary=RUNNING)
            unread.append((await journal.row("a")).unread)
        assert unread == [True, False]

    async def test_a_message_to_a_finished_run_is_unread_once_the_run_goes_on(self, journal):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=Summary("finished"))
        for key in ("one", "two"):
            await journal.post("a", key, "body")
        unread = [(await journal.row("a")).unread]
        for number, status in ((1, "finished"), (0, "running"), (2, "running")):
            fact: Fact[Toy] = Fact(Counted(number=number), inbox=number or None)
            after = (await journal.row("a")).last_seq
            await journal.append("a", after=after, epoch=epoch, facts=[fact], summary=Summary(status))
            unread.append((await journal.row("a")).unread)
        assert unread == [False, False, True, False]
        assert (await journal.due(9)).unread == frozenset()

    async def test_a_message_is_consumed_at_most_once(self, journal):
        epoch = await driven(journal, "a")
        for key in ("one", "two"):
            await journal.post("a", key, "body")
        consuming: Fact[Toy] = Fact(Counted(number=1), inbox=1)
        for facts in ([consuming, consuming], [Fact(Counted(number=2), inbox=2), consuming, consuming]):
            with pytest.raises(JournalError, match="posted message 1 was already consumed"):
                await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
        await journal.append("a", after=0, epoch=epoch, facts=[consuming], summary=RUNNING)
        with pytest.raises(JournalError, match="posted message 1 was already consumed"):
            await journal.append("a", after=1, epoch=epoch, facts=[*counted(5), consuming], summary=Summary("finished"))
        assert len(await journal.read("a")) == 1
        assert (await journal.row("a")).summary == RUNNING
        await journal.append("a", after=1, epoch=epoch, facts=[Fact(Counted(number=2), inbox=2)], summary=RUNNING)

    @pytest.mark.parametrize("inbox", [0, 2, -1])
    async def test_only_a_message_that_was_posted_to_the_run_is_consumed(self, journal, inbox):
        epoch = await driven(journal, "a")
        await journal.create("b", "")
        await journal.post("a", "key", "body")
        for key in ("one", "two"):
            await journal.post("b", key, "body")
        facts: list[Fact[Toy]] = [Fact(Counted(number=1), inbox=inbox)]
        with pytest.raises(JournalError, match=r"no message -?[0-9] was posted"):
            await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
        assert await journal.read("a") == []

    async def test_two_runs_consume_messages_of_the_same_number(self, journal):
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            await journal.post(run, "key", "body")
            facts: list[Fact[Toy]] = [Fact(Counted(number=1), inbox=1)]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=RUNNING)

    async def test_only_one_of_many_different_answers_to_a_question_is_kept(self, journal):
        await journal.create("a", "")
        answers: list[Posted] = []

        async def post(body: str) -> None:
            answers.append(await journal.post("a", "q1", body))

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(post, str(number))
        assert sorted(answer.result for answer in answers) == ["accepted", *["conflict"] * 9]
        (kept,) = await journal.inbox("a")
        assert {answer.body for answer in answers} == {kept.body}

    # Versions and other openings.

    async def test_the_version_changes_with_every_change_and_with_nothing_else(self, journal, open_journal, clock):
        async with open_journal() as other:
            seen = await journal.version()
            commits: list[Callable[[], Any]] = [
                lambda: other.create("a", ""),
                lambda: other.claim("a", "driver", 60.0),
                lambda: other.append("a", after=0, epoch=1, facts=counted(1), summary=RUNNING),
                lambda: other.post("a", "key", "body"),
                lambda: other.renew("a", 1, 60.0),
                lambda: other.release("a", 1),
                lambda: journal.create("b", ""),
                lambda: journal.post("b", "key", "body"),
            ]
            for commit in commits:
                assert await journal.version() == seen
                clock.time += 1.0  # A write that changes nothing may leave the version as it is.
                await commit()
                assert await journal.version() != seen
                seen = await journal.version()
            await journal.read("a")
            await journal.runs(RunFilter())
            await other.inbox("a")
            assert await journal.version() == seen

    async def test_what_was_written_is_there_after_reopening(self, open_journal):
        async with open_journal() as journal:
            epoch = await driven(journal, "a")
            await journal.post("a", "key", "body")
            facts: list[Fact[Toy]] = [Fact(Noted(text="kept"), inbox=1)]
            written = await journal.append("a", after=0, epoch=epoch, facts=facts, summary=Summary("waiting", "q1"))
            row = await journal.row("a")
        async with open_journal() as journal:
            assert await journal.read("a") == written
            assert await journal.row("a") == row
            assert [item.key for item in await journal.inbox("a")] == ["key"]
            with pytest.raises(Held):
                await journal.claim("a", "another", 60.0)
            await journal.append("a", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
            assert len(await journal.read("a")) == 2

    async def test_two_openings_see_the_same_content(self, open_journal, clock):
        async with AsyncExitStack() as stack:
            ours = await stack.enter_async_context(open_journal())
            theirs = await stack.enter_async_context(open_journal())
            epoch = await driven(ours, "a")
            await ours.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
            assert await events(theirs, "a") == [Counted(number=1)]
            with pytest.raises(Held):
                await theirs.claim("a", "another", 60.0)
            clock.time += 61.0
            assert await theirs.claim("a", "another", 60.0) == epoch + 1
            with pytest.raises(Fenced):
                await ours.append("a", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
            await theirs.append("a", after=1, epoch=epoch + 1, facts=counted(2), summary=RUNNING)
            assert [record.epoch for record in await ours.read("a")] == [epoch, epoch + 1]
