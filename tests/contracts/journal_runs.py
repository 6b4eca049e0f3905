"""Journal contract: runs, their status rows and their leases."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from runtime.core.errors import Fenced, Held, RunExists, RunNotFound, UsageProblem
from runtime.core.machine import Summary
from runtime.journal.port import ORDINARY, RunFilter, Totals
from tests.contracts.toy_events import IMPOSSIBLE_IDS, LONE_SURROGATE, RUNNING, counted, driven, row_of


class RunsContract:
    # Runs and their status rows.

    async def test_a_new_run_has_a_row_and_no_records(self, journal, clock):
        await journal.create("a", "Fix the bug")
        row = row_of("a", "Fix the bug", clock.time, Summary("running"))
        assert await journal.row("a") == row
        assert await journal.runs(RunFilter()) == [row]
        assert (row.summary, row.placement, row.unread) == (Summary("running"), ORDINARY, False)
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
    async def test_every_call_on_an_unknown_run_raises_run_not_found(self, journal, run):
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

    async def test_runs_are_listed_from_the_newest_admission_to_the_oldest(self, journal, clock):
        for run in ("b", "c", "a"):
            await journal.create(run, "")
            clock.time -= 1.0  # The order must not depend on the wall clock.
        assert [row.run for row in await journal.runs(RunFilter())] == ["a", "c", "b"]
        assert [row.run for row in await journal.runs(RunFilter(limit=2))] == ["a", "c"]
        assert await journal.runs(RunFilter(limit=0)) == []

    async def test_the_questions_of_a_summary_are_in_its_row_and_in_a_list_that_asks_for_them(self, journal):
        epochs = {run: await driven(journal, run) for run in ("a", "b", "c")}

        async def append(run: str, asks: bytes) -> None:
            after, summary = (await journal.row(run)).last_seq, Summary("running", asks=asks)
            await journal.append(run, after=after, epoch=epochs[run], facts=counted(1), summary=summary)

        async def listed(**wanted: Any) -> dict[str, bytes]:
            return {row.run: row.summary.asks for row in await journal.runs(RunFilter(**wanted))}

        assert await listed(asks=True) == {}
        await append("a", b"[1]")
        await append("c", b"\x00[2]")
        assert await listed(asks=True) == {"c": b"\x00[2]", "a": b"[1]"}
        assert await listed() == {"c": b"", "b": b"", "a": b""}
        assert await listed(asks=True, limit=1) == {"c": b"\x00[2]"}
        assert await listed(asks=True, run_start="a", status="running") == {"a": b"[1]"}
        assert [(await journal.row(run)).summary.asks for run in "abc"] == [b"[1]", b"", b"\x00[2]"]
        await append("a", b"[1, 3]")
        await append("c", b"")
        assert await listed(asks=True) == {"a": b"[1, 3]"}
        await journal.create("d", "", facts=counted(1), summary=Summary("waiting", "q1", asks=b"[4]"))
        await journal.release("a", epochs["a"])
        await journal.delete({"a": 2})
        assert await listed(asks=True) == {"d": b"[4]"}

    async def test_runs_are_filtered_by_status_and_by_waiting_time(self, journal):
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
        assert await listed(unfinished=True) == ["new", "old"]
        assert await listed(unfinished=True, status="finished") == []
        assert await listed(limit=1, begin=1) == ["new"]
        assert await listed(begin=2) == ["old"]
        assert await listed(begin=3) == []
        assert await listed(waiting_since_before=20.0) == ["old"]
        assert await listed(waiting_since_before=20.5) == ["new", "old"]
        assert (await journal.row("new")).summary == summaries["new"]

    async def test_runs_are_filtered_by_the_beginning_of_their_title(self, journal):
        titles = {
            "a": "plan x7: fix",
            "b": "plan x: fix",
            "c": "Plan x: fix",
            "d": "plan x",
            "e": "a plan x: fix",
            "f": "100% é_",
        }
        for run, title in titles.items():
            await journal.create(run, title)

        async def listed(start: str) -> list[str]:
            return [row.run for row in await journal.runs(RunFilter(title_start=start))]

        assert await listed("plan x: ") == ["b"]
        assert await listed("plan x") == ["d", "b", "a"]
        assert await listed("100% é_") == ["f"]
        assert await listed("10_") == []
        assert len(await listed("")) == 6
        with pytest.raises(UsageProblem):
            await listed(LONE_SURROGATE)

    async def test_runs_are_listed_by_the_start_of_their_ids(self, journal):
        for run in ("k7m2", "k7m2.a", "k7", "a.k7m2", "k7_m2"):
            await journal.create(run, "")

        async def listed(start: str) -> list[str]:
            return [row.run for row in await journal.runs(RunFilter(run_start=start))]

        assert await listed("k7m2") == ["k7m2.a", "k7m2"]
        assert await listed("k7_") == ["k7_m2"]
        assert await listed("%") == await listed("K7") == []
        assert len(await listed("")) == 5
        with pytest.raises(UsageProblem):
            await listed(LONE_SURROGATE)

    async def test_runs_that_are_no_steps_of_others_are_listed_alone(self, journal):
        for run in ("a", "a.b", "a.b.c", "d"):
            await journal.create(run, "")
        assert [row.run for row in await journal.runs(RunFilter(tops=True))] == ["d", "a"]
        assert [row.run for row in await journal.runs(RunFilter(tops=True, begin=1, limit=1))] == ["a"]

    async def test_the_totals_of_runs_count_all_that_match(self, journal, clock):
        assert await journal.totals(RunFilter()) == Totals(0, 0, 0)
        await journal.create("a", "", facts=counted(1, 2), summary=Summary("finished", "success"))
        await journal.create("a.b", "", facts=counted(1), owner="driver", ttl=60.0)
        await journal.create("c", "Fix", facts=counted(1, 2, 3), owner="driver", ttl=30.0)
        assert await journal.totals(RunFilter()) == Totals(3, 6, 2)
        assert await journal.totals(RunFilter(limit=1, begin=2)) == Totals(3, 6, 2)
        assert await journal.totals(RunFilter(tops=True)) == Totals(2, 5, 1)
        assert await journal.totals(RunFilter(status="finished")) == Totals(1, 2, 0)
        assert await journal.totals(RunFilter(unfinished=True, title_start="F")) == Totals(1, 3, 1)
        clock.time += 30.0
        assert await journal.totals(RunFilter()) == Totals(3, 6, 1)
        with pytest.raises(UsageProblem):
            await journal.totals(RunFilter(title_start=LONE_SURROGATE))

    # Leases.

    async def test_every_claim_has_a_new_epoch(self, journal):
        await journal.create("a", "")
        for epoch in (1, 2, 3):
            assert await journal.claim("a", "driver", 60.0) == epoch
            await journal.release("a", epoch)

    async def test_a_live_lease_refuses_every_claim(self, journal, clock):
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

    async def test_a_driver_that_lost_its_lease_is_fenced(self, journal, clock):
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

    async def test_only_one_of_many_concurrent_claims_succeeds(self, journal):
        await journal.create("a", "")
        epochs: list[int] = []
        holders: list[str] = []

        async def claim(owner: str) -> None:
            try:
                epochs.append(await journal.claim("a", owner, 60.0))
            except Held as error:
                holders.append(error.owner)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(claim, f"driver {number}")
        assert epochs == [1]
        assert len(holders) == 19
        assert len(set(holders)) == 1
