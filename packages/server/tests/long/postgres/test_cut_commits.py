"""A connection that breaks around a commit: nothing is written twice, and what was written is told."""

import pytest
import trio

from packages.server.tests.long.postgres.checker import check_database
from replan_server.postgres.address import parse_address
from replan_server.postgres.journal import open_postgres
from runtime.core.errors import Fenced, JournalUncertain, JournalUnreachable, SequenceConflict
from runtime.core.machine import Summary
from runtime.journal.port import Fact
from tests.contracts.toy_events import CODEC, RUNNING, Counted, Noted, counted, driven, events
from tests.support.tcp_proxy import Fault, running_proxy


@pytest.fixture
def proxy(server):
    with running_proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def opened(server, url, proxy):
    def opened(**options):
        options = {"answer_seconds": 0.5, "retry_seconds": 8.0} | options
        return open_postgres(parse_address(server.url("journal", port=proxy.port)), CODEC, **options)

    return opened


@pytest.mark.parametrize("fault", list(Fault))
async def test_an_append_whose_commit_is_spoiled_is_written_exactly_once(opened, proxy, server, url, fault):
    async with opened() as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        proxy.arm(fault)
        facts = [Fact(Noted(text="a long text")), *counted(2)]
        written = await journal.append("a", after=1, epoch=epoch, facts=facts, summary=Summary("waiting", "q1"))
        assert proxy.struck == 1
        await journal.append("a", after=3, epoch=epoch, facts=counted(3), summary=RUNNING)
        assert (await journal.read("a"))[1:3] == written
        assert await events(journal, "a") == [
            Counted(number=1),
            Noted(text="a long text"),
            Counted(number=2),
            Counted(number=3),
        ]
    check_database(url)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.SILENT])
async def test_every_other_change_whose_commit_is_spoiled_is_made_exactly_once(opened, proxy, url, fault):
    async with opened() as journal:

        async def spoiled(call):
            proxy.arm(fault)
            return await call

        await spoiled(journal.create("a", "", facts=counted(1), owner="driver", ttl=60.0))
        assert (await spoiled(journal.post("a", "key", "body"))).result == "accepted"
        await spoiled(journal.renew("a", 1, 60.0))
        await spoiled(journal.release("a", 1))
        assert await spoiled(journal.claim("a", "another", 60.0)) == 2
        await journal.release("a", 2)
        assert (await spoiled(journal.delete({"a": 1}))).runs == 1
        assert proxy.struck == 6
    check_database(url)


async def test_a_group_whose_commit_is_cut_is_decided_as_a_whole(opened, proxy, url):
    async with opened() as journal:
        runs = [f"run-{number}" for number in range(12)]
        epochs = {run: await driven(journal, run) for run in runs}

        async def append(run):
            await journal.append(run, after=0, epoch=epochs[run], facts=counted(1, 2), summary=RUNNING)

        for fault in (Fault.CUT_AFTER, Fault.CUT_BEFORE):
            proxy.arm(fault)
            async with trio.open_nursery() as nursery:
                for run in runs[:6] if fault is Fault.CUT_AFTER else runs[6:]:
                    nursery.start_soon(append, run)
        assert [len(await journal.read(run)) for run in runs] == [2] * 12
    check_database(url)


async def test_a_driver_that_lost_its_run_during_the_cut_is_fenced(opened, server, url, proxy):
    """The first commit is lost with its connection; before the second try another driver takes the run over."""
    async with opened(answer_seconds=5.0) as journal, open_postgres(parse_address(url), CODEC) as other:
        epoch = await driven(journal, "a", ttl=0.5)
        proxy.arm(Fault.LOSE)
        fenced = list[bool]()

        async def append():
            try:
                await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
            except (Fenced, SequenceConflict):
                fenced.append(True)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(append)
            await trio.sleep(0.8)
            assert await other.claim("a", "another", 60.0) == epoch + 1
            await other.append("a", after=0, epoch=epoch + 1, facts=counted(7), summary=RUNNING)
        assert fenced == [True]
        assert await events(other, "a") == [Counted(number=7)]
    check_database(url)


async def test_a_frozen_client_loses_its_locks_within_seconds(opened, server, url, proxy):
    """Its transaction is open and holds the run's row; the server ends it after two seconds."""
    async with opened() as frozen, open_postgres(parse_address(url), CODEC) as other:
        await frozen.create("a", "")
        proxy.arm(Fault.LOSE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(frozen.post, "a", "frozen", "body")
            await trio.sleep(0.2)
            with trio.fail_after(5.0):
                await other.post("a", "other", "body")
        assert {item.key for item in await other.inbox("a")} == {"frozen", "other"}


async def test_a_commit_that_cannot_be_asked_about_is_told_as_uncertain(opened, proxy, server, url):
    async with opened(retry_seconds=1.0) as journal:
        epoch = await driven(journal, "a")
        proxy.arm(Fault.CUT_AFTER)
        proxy.refuse()
        with pytest.raises(JournalUncertain) as caught:
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        assert caught.value.passing
        assert len(str(caught.value).splitlines()) == 1
    async with open_postgres(parse_address(url), CODEC) as journal:
        assert await events(journal, "a") == [Counted(number=1)]


async def test_a_server_that_stays_away_is_told_and_nothing_was_written(opened, proxy, url):
    async with opened(retry_seconds=1.0) as journal:
        epoch = await driven(journal, "a")
        proxy.refuse()
        proxy.cut_all()
        for call in (
            lambda: journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING),
            lambda: journal.read("a"),
            journal.version,
        ):
            with pytest.raises(JournalUnreachable):
                await call()
    async with open_postgres(parse_address(url), CODEC) as journal:
        assert await events(journal, "a") == []


async def test_reading_goes_on_after_a_cut(opened, proxy):
    async with opened() as journal:
        await journal.create("a", "", facts=counted(1))
        for _ in range(3):
            proxy.cut_all()
            assert await events(journal, "a") == [Counted(number=1)]
            await journal.post("a", "key", "body")
