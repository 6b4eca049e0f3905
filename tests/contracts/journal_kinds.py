"""What every journal must do with runs of several kinds: keep them apart, and let none harm another."""

import pytest

from runtime.core.errors import KindUnknown, UsageProblem
from runtime.core.machine import Summary
from runtime.journal.port import Due, Fact, RunFilter
from tests.contracts.toy_events import CODEC, NEGOTIATION, RUNNING, Bid, Counted, counted, driven

BOTH = {"planning": CODEC, "negotiation": NEGOTIATION}
OLDER = {"planning": CODEC, "negotiation": type(NEGOTIATION)([Bid], format=1)}


async def make_negotiation(journal, run="b", summary=RUNNING, *, format=2):
    await journal.create(run, "negotiation", "negotiation", format)
    epoch = await journal.claim(run, "driver", 60.0)
    await journal.append(run, after=0, epoch=epoch, facts=[Fact(Bid(price=7))], summary=summary)
    await journal.release(run, epoch)


class KindsContract:
    async def test_a_row_has_the_kind_and_the_format_of_its_run(self, journal):
        await journal.create("a", "")
        await journal.create("b", "", kind="negotiation", format=3)
        assert [(row.kind, row.format) for row in await journal.runs(RunFilter())] == [
            ("negotiation", 3),
            ("planning", 1),
        ]
        row = await journal.row("b")
        assert (row.kind, row.format) == ("negotiation", 3)

    @pytest.mark.parametrize(("kind", "format"), [("", 1), ("A", 1), ("a-b", 1), ("a" * 65, 1), ("a", 0), ("a", 2**31)])
    async def test_an_invalid_kind_or_format_is_refused(self, journal, kind, format):
        with pytest.raises(UsageProblem) as caught:
            await journal.create("a", "", kind, format)
        assert len(str(caught.value).splitlines()) == 1
        assert await journal.runs(RunFilter()) == []

    async def test_each_run_is_written_and_read_with_the_codec_of_its_kind(self, open_journal):
        async with open_journal(codecs=BOTH) as journal:
            epoch = await driven(journal, "a")
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
            await make_negotiation(journal)
            assert [record.event for record in await journal.read("a")] == [Counted(number=1)]
            assert [record.event for record in await journal.read("b")] == [Bid(price=7)]
            epoch = await journal.claim("b", "driver", 60.0)
            with pytest.raises(UsageProblem, match="Counted"):
                await journal.append("b", after=1, epoch=epoch, facts=counted(1), summary=RUNNING)
        async with open_journal(codecs=BOTH) as journal:  # Also by an opening that has not claimed it.
            await journal.append("b", after=1, epoch=epoch, facts=[Fact(Bid(price=8))], summary=RUNNING)
            assert [record.event.price for record in await journal.read("b", 1)] == [8]

    async def test_equal_events_of_two_kinds_or_formats_have_different_hashes(self, open_journal):
        hashes = set()
        async with open_journal(codecs=BOTH | {"other": NEGOTIATION}) as journal:
            for run, kind, format in (("a", "negotiation", 1), ("b", "negotiation", 2), ("c", "other", 1)):
                await journal.create(run, "", kind, format)
                epoch = await journal.claim(run, "driver", 60.0)
                (record,) = await journal.append(run, after=0, epoch=epoch, facts=[Fact(Bid(price=1))], summary=RUNNING)
                hashes.add(record.hash)
        assert len(hashes) == 3

    @pytest.mark.parametrize(
        ("known", "cause"),
        [
            ({"planning": CODEC}, "run 'b' is of kind 'negotiation', which is not installed here"),
            (
                OLDER,
                (
                    "run 'b' is of kind 'negotiation' in format 2; "
                    "the installed version of this kind reads formats up to 1"
                ),
            ),
        ],
    )
    async def test_a_run_of_an_unknown_kind_is_listed_and_harms_no_other(self, open_journal, known, cause):
        async with open_journal(codecs=BOTH) as journal:
            await make_negotiation(journal, summary=Summary("waiting", "q1"))
        async with open_journal(codecs=known) as journal:
            epoch = await driven(journal, "a")
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
            assert [row.run for row in await journal.runs(RunFilter())] == ["a", "b"]
            assert (await journal.row("b")).summary == Summary("waiting", "q1")
            assert (await journal.post("b", "key", "body")).result == "accepted"
            assert [item.key for item in await journal.inbox("b")] == ["key"]
            for after in (0, 1, 9):
                with pytest.raises(KindUnknown, match=cause) as caught:
                    await journal.read("b", after)
                assert (caught.value.run, caught.value.kind, caught.value.format) == ("b", "negotiation", 2)
                assert caught.value.hint
            epoch = await journal.claim("b", "driver", 60.0)
            with pytest.raises(KindUnknown, match=cause):
                await journal.append("b", after=1, epoch=epoch, facts=[Fact(Bid(price=8))], summary=RUNNING)
            assert [record.event for record in await journal.read("a")] == [Counted(number=1)]

    @pytest.mark.parametrize("kinds", [{}, {"planning": 9}, {"planning": 1, "negotiation": 1}])
    async def test_a_run_is_claimed_only_by_a_driver_that_knows_its_kind(self, open_journal, kinds):
        async with open_journal(codecs=BOTH) as journal:
            await make_negotiation(journal)
            with pytest.raises(KindUnknown, match="run 'b' is of kind 'negotiation'") as caught:
                await journal.claim("b", "driver", 60.0, kinds=kinds)
            assert caught.value.known == kinds.get("negotiation")
            assert ((await journal.row("b")).owner, (await journal.row("b")).epoch) == (None, 1)
            assert await journal.claim("b", "driver", 60.0, kinds={"negotiation": 2}) == 2

    async def test_an_unknown_kind_is_reported_before_a_live_lease(self, open_journal):
        async with open_journal(codecs=BOTH) as journal:
            await make_negotiation(journal)
            await journal.claim("b", "driver", 60.0)
            with pytest.raises(KindUnknown):
                await journal.claim("b", "another", 60.0, kinds={"planning": 1})

    async def test_only_runs_of_the_kinds_asked_for_are_due(self, open_journal, clock):
        async with open_journal(codecs=BOTH) as journal:
            await make_negotiation(journal, "now")
            await make_negotiation(journal, "later", Summary("waiting", next_wake=clock.time + 5.0))
            await make_negotiation(journal, "mail", Summary("waiting", "q1"))
            await make_negotiation(journal, "driven", Summary("waiting", "q1"))
            epoch = await driven(journal, "ours")
            ours = Summary("running", next_wake=clock.time + 7.0)
            await journal.append("ours", after=0, epoch=epoch, facts=counted(1), summary=ours)
            await journal.release("ours", epoch)
            await journal.claim("driven", "driver", 60.0)
            for run in ("mail", "driven"):
                await journal.post(run, "key", "body")
            whole = Due(("now", "mail"), frozenset({"driven"}), clock.time + 5.0)
            assert await journal.due(10) == whole
            assert await journal.due(10, kinds={"planning": 1, "negotiation": 2}) == whole
            assert await journal.due(1, kinds={"negotiation": 3}) == Due(("now",), whole.unread, whole.next)
            for kinds in ({"planning": 1}, {"planning": 1, "negotiation": 1}):
                assert await journal.due(10, kinds=kinds) == Due(next=clock.time + 7.0)
            assert await journal.due(10, kinds={}) == Due()
