"""What every journal must do with runs of several codecs, and when its floor is raised above what a program knows."""

import pytest

from runtime.core.errors import FloorRaised, RunNewer
from runtime.core.machine import Summary
from runtime.journal.port import Due, RunFilter
from runtime.journal.versions import CODEC
from tests.contracts.toy_events import RUNNING, Counted, Opener, counted

NEWER = CODEC + 1


async def make(journal, run, summary=RUNNING):
    """Admit a run with one record that nobody holds."""
    await journal.create(run, f"title of {run}", facts=counted(1), summary=summary)


class CodecsContract:
    """A part of `tests.contracts.journal.JournalContract`."""

    @pytest.fixture
    async def raised(self, open_journal: Opener, raise_floor):
        """A journal with a run of this release, then raised, with a run of a newer release; opened as this release."""
        async with open_journal(known=NEWER) as newer:
            await make(newer, "ours")
            raise_floor(NEWER)
            await make(newer, "newer", Summary("waiting", "q1"))
            async with open_journal() as journal:
                yield newer, journal

    async def test_a_run_has_the_codec_of_the_floor_at_its_creation_for_good(self, raised):
        newer, journal = raised
        for each in (newer, journal):
            assert await each.floor() == NEWER
            assert {row.run: row.codec for row in await each.runs(RunFilter())} == {"ours": CODEC, "newer": NEWER}
        epoch = await newer.claim("ours", "driver", 60.0)
        await newer.append("ours", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
        assert ((await newer.row("ours")).codec, (await newer.row("newer")).codec) == (CODEC, NEWER)
        assert [record.event for record in await journal.read("ours")] == [Counted(number=1), Counted(number=2)]

    async def test_the_floor_of_a_new_journal_is_what_its_program_writes(self, open_journal):
        async with open_journal() as journal:
            await make(journal, "a")
            assert (await journal.floor(), (await journal.row("a")).codec) == (CODEC, CODEC)

    async def test_a_run_of_a_newer_release_is_listed_and_not_read(self, raised):
        newer, journal = raised
        await newer.post("newer", "key", "body")
        row = await journal.row("newer")
        assert (row.summary, row.unread, row.needs_newer) == (Summary("waiting", "q1"), True, True)
        assert not (await journal.row("ours")).needs_newer
        assert [item.key for item in await journal.inbox("newer")] == ["key"]
        for after in (0, 1, 9):
            with pytest.raises(RunNewer, match=rf"codec {NEWER} of a newer replan.*upgrade replan") as caught:
                await journal.read("newer", after)
            assert (caught.value.run, caught.value.codec, caught.value.known) == ("newer", NEWER, CODEC)
            assert len(str(caught.value).splitlines()) == 1

    async def test_below_a_raised_floor_nothing_is_begun(self, raised):
        newer, journal = raised
        before = [await newer.row(run) for run in ("ours", "newer")]
        for attempt in (
            lambda: make(journal, "another"),
            lambda: journal.claim("ours", "driver", 60.0),
            lambda: journal.claim("newer", "driver", 60.0),
            lambda: journal.post("ours", "key", "body"),
            lambda: journal.delete({"ours": 1}),
            lambda: journal.due(10),
        ):
            with pytest.raises(
                FloorRaised, match=rf"codec {NEWER} of a newer release, .* knows {CODEC}: .*; upgrade replan"
            ) as caught:
                await attempt()
            assert (caught.value.version, caught.value.newest) == (NEWER, CODEC)
            assert len(str(caught.value).splitlines()) == 1
        assert [await newer.row(run) for run in ("ours", "newer")] == before
        assert await newer.inbox("ours") == []

    async def test_a_driver_writes_what_it_has_begun_when_the_floor_is_raised(self, open_journal, raise_floor):
        async with open_journal() as journal:
            await journal.create("a", "", facts=counted(1), owner="driver", ttl=60.0)
            raise_floor(NEWER)
            await journal.renew("a", 1, 60.0)
            await journal.append("a", after=1, epoch=1, facts=counted(2), summary=Summary("waiting", "q1"))
            await journal.release("a", 1)
        async with open_journal(known=NEWER) as newer:
            assert await newer.claim("a", "newer", 60.0) == 2

    async def test_runs_of_a_newer_release_are_left_alone_where_the_floor_is_not_above(
        self, open_journal, raise_floor, clock
    ):
        """Such runs are copied from a journal whose floor was raised."""
        raise_floor(NEWER)
        async with open_journal(known=NEWER) as newer:
            await make(newer, "newer")
            await make(newer, "later", Summary("waiting", next_wake=clock.time + 5.0))
            await newer.post("newer", "key", "body")
        raise_floor(CODEC)
        async with open_journal() as journal:
            await make(journal, "ours")
            assert await journal.due(10) == Due(("ours",))
            for attempt in (
                lambda: journal.claim("newer", "driver", 60.0),
                lambda: journal.post("newer", "another", "body"),
                lambda: journal.append("newer", after=1, epoch=1, facts=counted(2), summary=RUNNING),
                lambda: journal.delete({"newer": 1}),
            ):
                with pytest.raises(RunNewer):
                    await attempt()
            assert await journal.claim("ours", "driver", 60.0) == 2
        async with open_journal(known=NEWER) as newer:
            assert await newer.due(10) == Due(("newer",), next=clock.time + 5.0)

    async def test_a_newer_release_drives_the_runs_of_this_one_before_and_after(self, open_journal, raise_floor):
        async with open_journal() as journal, open_journal(known=NEWER) as newer:
            for run in ("a", "b"):
                await make(journal, run)
            assert (await newer.due(10)).runs == (await journal.due(10)).runs == ("a", "b")
            epoch = await newer.claim("a", "newer", 60.0)
            await newer.append("a", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
            await newer.release("a", epoch)
            epoch = await journal.claim("a", "driver", 60.0)
            await journal.append("a", after=2, epoch=epoch, facts=counted(3), summary=RUNNING)
            await journal.release("a", epoch)
            raise_floor(NEWER)
            assert (await newer.due(10)).runs == ("a", "b")
            assert [record.event.number for record in await newer.read("a")] == [1, 2, 3]

    async def test_the_hashes_of_runs_differ_by_codec(self, raised):
        newer, _ = raised
        first = [(await newer.read(run))[0] for run in ("ours", "newer")]
        assert first[0].hash != first[1].hash

    async def test_a_host_says_which_codec_it_knows(self, open_journal):
        async with open_journal() as journal, open_journal(known=NEWER) as newer:
            await journal.announce("one", "process 1", 30.0)
            await newer.announce("two", "process 2", 30.0)
            assert {host.host: host.codec for host in await journal.hosts()} == {"one": CODEC, "two": NEWER}
