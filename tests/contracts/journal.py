"""What every journal must do, said once. A test module subclasses `JournalContract` and gives it `open_journal`.

`open_journal()` opens the same storage each time, also while it is open already, on the `clock` of the test.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, ClassVar, Literal

import pytest
import trio
import trio.testing

from runtime.errors import Fenced, Held, JournalError, RunExists, RunNotFound, SequenceConflict, UsageProblem
from runtime.events import Codec, Event
from runtime.journal import entry
from runtime.journal.port import Fact, InboxItem, Journal, Posted, RunFilter, RunRow
from runtime.machine import Summary


class Noted(Event):
    """An event with a text that is stored apart."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["noted"] = "noted"
    text: str | None


class Counted(Event):
    """An event without texts."""

    kind: Literal["counted"] = "counted"
    number: int
    label: str = ""


class Stranger(Event):
    """An event that the journal's codec does not know."""

    kind: Literal["counted"] = "counted"


Toy = Noted | Counted

CODEC: Codec[Toy] = Codec([Noted, Counted])

Opener = Callable[[], AbstractAsyncContextManager[Journal[Toy]]]

RUNNING = Summary("running")

LONE_SURROGATE = "before \ud800 after"

IMPOSSIBLE_IDS = ["", "A", "-a", ".a", "_a", "a b", "a/b", "a\n", "é", "a" * 65, "a\x00", LONE_SURROGATE]


class HandClock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        """Return the time that the test has set."""
        return self.time

    async def sleep_until(self, when: float) -> None:
        """Jump there."""
        self.time = max(self.time, when)


def counted(*numbers: int) -> list[Fact[Toy]]:
    """Return a fact for each number."""
    return [Fact(Counted(number=number)) for number in numbers]


async def driven(journal: Journal[Toy], run: str, ttl: float = 60.0) -> int:
    """Make a run, claim it and return the epoch."""
    await journal.create(run, f"title of {run}")
    return await journal.claim(run, "driver", ttl)


async def events(journal: Journal[Toy], run: str, after: int = 0) -> list[Toy]:
    """Return the events of a run."""
    return [record.event for record in await journal.read(run, after)]


async def append_number(journal: Journal[Toy], run: str, epoch: int, after: int, number: int) -> None:
    """Append one number, as a task."""
    await journal.append(run, after=after, epoch=epoch, facts=counted(number), summary=RUNNING)


async def settled(journal: Journal[Toy], run: str) -> int:
    """Return the last record's place, once whatever was handed in before is written: a later write comes after it."""
    await journal.post(run, "settled", "")
    return (await journal.row(run)).last_seq


class JournalContract:
    """The suite."""

    @pytest.fixture
    async def journal(self, open_journal: Opener):
        async with open_journal() as journal:
            yield journal

    # Runs and their status rows.

    async def test_a_new_run_has_a_row_and_no_records(self, journal, clock):
        await journal.create("a", "Fix the bug")
        row = RunRow("a", "Fix the bug", clock.time, clock.time, 0, Summary("running"), None, 0)
        assert await journal.row("a") == row
        assert await journal.read("a") == []
        assert await journal.inbox("a") == []

    async def test_a_run_is_admitted_once(self, journal):
        await journal.create("a", "first")
        with pytest.raises(RunExists):
            await journal.create("a", "second")
        assert (await journal.row("a")).title == "first"

    @pytest.mark.parametrize("run", ["a", "0", "a.b_c-d", "a" * 64])
    async def test_a_run_id_of_the_stated_form_is_accepted(self, journal, run):
        await journal.create(run, "")
        assert (await journal.row(run)).run == run

    @pytest.mark.parametrize("run", IMPOSSIBLE_IDS)
    async def test_any_other_run_id_is_refused_in_one_line(self, journal, run):
        with pytest.raises(UsageProblem) as caught:
            await journal.create(run, "")
        assert len(str(caught.value).splitlines()) == 1
        assert await journal.runs(RunFilter()) == []

    @pytest.mark.parametrize("run", ["unknown", *IMPOSSIBLE_IDS])
    async def test_every_call_on_a_run_that_does_not_exist_says_so(self, journal, run):
        calls: list[Callable[[], Any]] = [
            lambda: journal.row(run),
            lambda: journal.claim(run, "driver", 1.0),
            lambda: journal.renew(run, 1, 1.0),
            lambda: journal.release(run, 1),
            lambda: journal.append(run, after=0, epoch=1, facts=counted(1), summary=RUNNING),
            lambda: journal.read(run),
            lambda: journal.post(run, "key", "body"),
            lambda: journal.inbox(run),
        ]
        for call in calls:
            with pytest.raises(RunNotFound):
                await call()

    async def test_runs_are_listed_with_the_one_admitted_last_first(self, journal, clock):
        for run in ("b", "c", "a"):
            await journal.create(run, "")
            clock.time -= 1.0  # The order must not hang on the wall clock.
        assert [row.run for row in await journal.runs(RunFilter())] == ["a", "c", "b"]
        assert [row.run for row in await journal.runs(RunFilter(limit=2))] == ["a", "c"]
        assert await journal.runs(RunFilter(limit=0)) == []

    async def test_runs_are_filtered_by_status_and_by_how_long_they_wait(self, journal):
        summaries = {
            "old": Summary("waiting", "q1", waiting_since=10.0),
            "new": Summary("waiting", "q2", waiting_since=20.0, next_wake=99.5),
            "done": Summary("finished", "success"),
        }
        for run, summary in summaries.items():
            epoch = await driven(journal, run)
            await journal.append(run, after=0, epoch=epoch, facts=counted(1), summary=summary)

        async def listed(**wanted: Any) -> list[str]:
            return [row.run for row in await journal.runs(RunFilter(**wanted))]

        assert await listed(status="waiting") == ["new", "old"]
        assert await listed(status="finished") == ["done"]
        assert await listed(status="unheard of") == []
        assert await listed(waiting_since_before=20.0) == ["old"]
        assert await listed(waiting_since_before=20.5) == ["new", "old"]
        assert (await journal.row("new")).summary == summaries["new"]

    # Leases.

    async def test_every_claim_has_a_new_epoch(self, journal):
        await journal.create("a", "")
        for epoch in (1, 2, 3):
            assert await journal.claim("a", "driver", 60.0) == epoch
            await journal.release("a", epoch)

    async def test_a_live_lease_is_respected_whoever_asks(self, journal, clock):
        await driven(journal, "a", ttl=60.0)
        for owner in ("another", "driver"):
            with pytest.raises(Held) as caught:
                await journal.claim("a", owner, 60.0)
            assert (caught.value.owner, caught.value.until) == ("driver", clock.time + 60.0)

    async def test_a_lease_that_has_run_out_may_be_taken(self, journal, clock):
        await driven(journal, "a", ttl=60.0)
        clock.time += 59.9
        with pytest.raises(Held):
            await journal.claim("a", "another", 60.0)
        clock.time += 0.1
        assert await journal.claim("a", "another", 60.0) == 2

    async def test_the_row_names_the_owner_while_the_lease_lives(self, journal, clock):
        epoch = await driven(journal, "a", ttl=60.0)
        assert (await journal.row("a")).owner == "driver"
        clock.time += 60.0
        assert (await journal.row("a")).owner is None
        assert [row.owner for row in await journal.runs(RunFilter())] == [None]
        await journal.renew("a", epoch, 60.0)
        assert (await journal.row("a")).owner == "driver"
        await journal.release("a", epoch)
        assert (await journal.row("a")).owner is None
        assert (await journal.row("a")).epoch == epoch

    async def test_renewing_prolongs_from_now(self, journal, clock):
        epoch = await driven(journal, "a", ttl=60.0)
        clock.time += 50.0
        await journal.renew("a", epoch, 60.0)
        clock.time += 50.0
        with pytest.raises(Held):
            await journal.claim("a", "another", 60.0)

    async def test_a_lease_that_ran_out_but_was_not_taken_can_be_renewed(self, journal, clock):
        epoch = await driven(journal, "a", ttl=1.0)
        clock.time += 100.0
        await journal.renew("a", epoch, 60.0)
        with pytest.raises(Held):
            await journal.claim("a", "another", 60.0)

    async def test_a_driver_that_lost_its_run_is_fenced(self, journal, clock):
        old = await driven(journal, "a", ttl=1.0)
        await journal.append("a", after=0, epoch=old, facts=counted(1), summary=RUNNING)
        clock.time += 2.0
        new = await journal.claim("a", "another", 60.0)
        with pytest.raises(Fenced) as caught:
            await journal.append("a", after=1, epoch=old, facts=counted(2), summary=Summary("finished"))
        assert (caught.value.epoch, caught.value.current) == (old, new)
        with pytest.raises(Fenced):
            await journal.renew("a", old, 60.0)
        await journal.release("a", old)
        row = await journal.row("a")
        assert (row.owner, row.last_seq, row.summary) == ("another", 1, RUNNING)
        await journal.append("a", after=1, epoch=new, facts=counted(2), summary=RUNNING)

    async def test_nothing_is_appended_without_a_lease(self, journal):
        await journal.create("a", "")
        for epoch in (0, 1, -1):
            with pytest.raises(Fenced):
                await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        epoch = await journal.claim("a", "driver", 60.0)
        await journal.release("a", epoch)
        with pytest.raises(Fenced):
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        with pytest.raises(Fenced):
            await journal.renew("a", epoch, 60.0)
        assert await journal.read("a") == []

    async def test_of_many_that_claim_at_once_one_wins(self, journal):
        await journal.create("a", "")
        won: list[int] = []
        held: list[str] = []

        async def claim(owner: str) -> None:
            try:
                won.append(await journal.claim("a", owner, 60.0))
            except Held as error:
                held.append(error.owner)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(claim, f"driver {number}")
        assert won == [1]
        assert len(held) == 19
        assert len(set(held)) == 1

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
        summary = Summary("waiting", "q1", waiting_since=1_003.0, next_wake=2_000.25)
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2), summary=summary)
        row = await journal.row("a")
        assert (row.last_seq, row.created, row.updated, row.summary) == (2, 1_000.0, 1_003.0, summary)

    async def test_no_facts_at_all_change_the_status_row_only(self, journal):
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert await journal.append("a", after=1, epoch=epoch, facts=[], summary=Summary("waiting")) == []
        row = await journal.row("a")
        assert (row.last_seq, row.summary.status) == (1, "waiting")
        assert len(await journal.read("a")) == 1
        with pytest.raises(SequenceConflict):
            await journal.append("a", after=0, epoch=epoch, facts=[], summary=RUNNING)

    async def test_of_many_appends_after_the_same_record_one_is_written(self, journal):
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

    async def test_many_runs_append_at_once_and_each_stays_whole(self, journal):
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

    async def test_after_a_cancelled_append_the_journal_tells_what_was_written(self, journal):
        epoch = await driven(journal, "a")
        for number in range(10):
            last = await settled(journal, "a")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(append_number, journal, "a", epoch, last, number)
                await trio.testing.wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
        last = await settled(journal, "a")
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
        assert await settled(journal, "a") == 0

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
        with pytest.raises(UsageProblem, match="Stranger"):
            await journal.append("a", after=0, epoch=epoch, facts=[Fact(Stranger())], summary=RUNNING)
        assert await journal.read("a") == []

    async def test_no_other_text_may_be_invalid_either(self, journal):
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

    async def test_what_is_too_large_is_refused_before_any_write(self, journal, monkeypatch):
        monkeypatch.setattr(entry, "TEXT_BYTES_MAX", 100)
        epoch = await driven(journal, "a")
        large = "é" * 51
        for fact in (Fact(Noted(text=large)), Fact(Counted(number=1, label=large))):
            with pytest.raises(UsageProblem):
                await journal.append("a", after=0, epoch=epoch, facts=[fact], summary=RUNNING)
        with pytest.raises(UsageProblem):
            await journal.post("a", "key", large)
        assert await journal.read("a") == []
        await journal.post("a", "key", "é" * 50)

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

    async def test_inboxes_are_apart(self, journal):
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

    async def test_a_message_is_consumed_at_most_once(self, journal):
        epoch = await driven(journal, "a")
        for key in ("one", "two"):
            await journal.post("a", key, "body")
        consuming: Fact[Toy] = Fact(Counted(number=1), inbox=1)
        for facts in ([consuming, consuming], [Fact(Counted(number=2), inbox=2), consuming, consuming]):
            with pytest.raises(JournalError, match="posted message 1 was consumed already"):
                await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
        await journal.append("a", after=0, epoch=epoch, facts=[consuming], summary=RUNNING)
        with pytest.raises(JournalError, match="posted message 1 was consumed already"):
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
        with pytest.raises(JournalError, match="no posted message"):
            await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
        assert await journal.read("a") == []

    async def test_two_runs_consume_messages_of_the_same_number(self, journal):
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            await journal.post(run, "key", "body")
            facts: list[Fact[Toy]] = [Fact(Counted(number=1), inbox=1)]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=RUNNING)

    async def test_of_many_different_answers_to_one_question_one_is_kept(self, journal):
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
                clock.time += 1.0  # Writing what is there already need not count as a change.
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

    async def test_two_openings_share_one_truth(self, open_journal, clock):
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
