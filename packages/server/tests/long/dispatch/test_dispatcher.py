"""The queue of workers: which jobs there are, in which order they are fetched, and what a sweep makes again."""

import psycopg
import pytest
import trio

from packages.server.tests.support.postgres import running_pooler
from replan_server.postgres.address import parse_address
from replan_server.postgres.connecting import connect
from replan_server.postgres.journal import open_postgres
from replan_server.workers import tables
from replan_server.workers.procrastinate import STALLED_SECONDS, open_dispatcher
from runtime.core.errors import Held
from runtime.core.machine import Summary
from runtime.journal.port import nobody
from tests.contracts.toy_events import CODEC, RUNNING, counted, driven

WAITS = Summary("waiting", "q1", waiting_since=5.0)


@pytest.fixture
def opened(address):
    return lambda: open_postgres(address, CODEC)


@pytest.fixture
def dispatching(address):
    return lambda: open_dispatcher(address)


def jobs(server, condition="true"):
    with psycopg.connect(server.url("workers")) as connection:
        rows = connection.execute(
            f"SELECT queueing_lock, status::text FROM replan_jobs.procrastinate_jobs WHERE {condition} ORDER BY id"
        )
        return rows.fetchall()


async def admitted(journal, run, **more):
    await journal.create(run, "", facts=counted(1), summary=RUNNING, **more)


def swept(dispatcher, limit=10, skip=()):
    return dispatcher.sweep(limit, dead=nobody, kinds=None, skip=skip)


async def test_an_admitted_run_has_a_job_in_the_same_transaction(opened, server, dispatching):
    async with opened() as journal, dispatching() as dispatcher:
        await admitted(journal, "a")
        assert jobs(server) == [("a", "todo")]
        job = await dispatcher.fetch()
        assert job.run == "a"
        assert jobs(server) == [("a", "doing")]
        assert await dispatcher.fetch() is None
        await dispatcher.finish(job)
        assert jobs(server) == []


async def test_a_run_that_is_driven_gets_no_job_and_one_that_is_released_gets_one(opened, server):
    async with opened() as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        await journal.post("a", "key", "body")
        assert jobs(server) == []
        await journal.release("a", epoch)
        assert jobs(server) == [("a", "todo")]


async def test_a_run_that_waits_gets_a_job_with_its_answer_and_only_one(opened, server):
    async with opened() as journal:
        await journal.create("a", "", facts=counted(1), summary=WAITS)
        assert jobs(server) == []
        await journal.post("a", "answer", "yes")
        await journal.post("a", "note", "more")
        assert jobs(server) == [("a", "todo")]


async def test_a_run_whose_time_has_not_come_has_no_job_until_a_sweep_finds_it_due(opened, server, dispatching):
    async with opened() as journal, dispatching() as dispatcher:
        later = Summary("waiting", "", next_wake=journal.now() + 0.3)
        await journal.create("a", "", facts=counted(1), summary=later)
        assert jobs(server) == []
        assert await swept(dispatcher) == 0
        await trio.sleep(0.35)
        assert await swept(dispatcher) == 1
        assert await swept(dispatcher) == 0
        assert (await dispatcher.fetch()).run == "a"


@pytest.mark.parametrize("summary", [Summary("parked"), Summary("finished", "success"), WAITS])
async def test_what_nobody_has_to_drive_gets_no_job(opened, server, dispatching, summary):
    async with opened() as journal, dispatching() as dispatcher:
        await journal.create("a", "", facts=counted(1), summary=summary)
        await journal.create("empty", "")
        assert await swept(dispatcher) == 0
        assert jobs(server) == []


async def test_a_sweep_makes_again_what_the_queue_has_lost(opened, server, dispatching):
    async with opened() as journal, dispatching() as dispatcher:
        for run in "abc":
            await admitted(journal, run)
        await journal.claim("c", "driver", 60.0)
        server.execute("workers", "TRUNCATE replan_jobs.procrastinate_jobs CASCADE")
        assert await swept(dispatcher, limit=1) == 1
        assert await swept(dispatcher, skip=["b"]) == 0
        assert await swept(dispatcher) == 1
        assert jobs(server) == [("a", "todo"), ("b", "todo")]


async def test_a_sweep_finds_the_runs_of_drivers_that_have_died(opened, server, dispatching):
    async with opened() as journal, dispatching() as dispatcher:
        await driven(journal, "ended", ttl=0.1)
        await journal.append("ended", after=0, epoch=1, facts=counted(1), summary=RUNNING)
        await journal.create("dead", "", facts=counted(1), summary=RUNNING, owner="dead driver", ttl=60.0)
        await journal.create("alive", "", facts=counted(1), summary=RUNNING, owner="driver", ttl=60.0)
        await trio.sleep(0.15)
        assert await dispatcher.sweep(10, dead=lambda owner: owner == "dead driver", kinds=None, skip=()) == 2
        assert jobs(server) == [("ended", "todo"), ("dead", "todo")]
        with pytest.raises(Held):
            await journal.claim("alive", "another", 1.0)


async def test_sweeps_at_the_same_time_make_one_job_for_each_run(opened, server, dispatching):
    async with opened() as journal, dispatching() as one, dispatching() as other:
        for number in range(20):
            await admitted(journal, f"run-{number:02}")
        server.execute("workers", "TRUNCATE replan_jobs.procrastinate_jobs CASCADE")
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(swept, one, 30)
                nursery.start_soon(swept, other, 30)
        found = jobs(server)
        assert len(found) == len(set(found)) == 20


async def test_a_job_is_fetched_by_one_worker(opened, dispatching):
    async with opened() as journal, dispatching() as one, dispatching() as other:
        for number in range(20):
            await admitted(journal, f"run-{number:02}")
        fetched = []

        async def fetch_all(dispatcher):
            while (job := await dispatcher.fetch()) is not None:
                fetched.append(job.run)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch_all, one)
            nursery.start_soon(fetch_all, other)
        assert sorted(fetched) == [f"run-{number:02}" for number in range(20)]


async def test_a_queue_that_is_out_of_order_fails_no_append(opened, server, url):
    server.execute("workers", "ALTER TABLE replan_jobs.procrastinate_jobs RENAME TO elsewhere")
    try:
        async with opened() as journal:
            await admitted(journal, "a")
            assert (await journal.post("a", "key", "body")).result == "accepted"
            assert (await journal.due(10)).runs == ("a",)
    finally:
        server.execute("workers", "ALTER TABLE replan_jobs.elsewhere RENAME TO procrastinate_jobs")


async def test_what_a_killed_worker_left_is_deleted(opened, server, dispatching, monkeypatch):
    async with opened() as journal, dispatching() as living:
        async with dispatching() as killed:
            monkeypatch.setattr(killed, "leave", trio.lowlevel.checkpoint)
            await admitted(journal, "a")
            await killed.fetch()
        await living.beat()
        assert jobs(server) == [("a", "doing")]
        age = (
            f"UPDATE replan_jobs.procrastinate_workers SET last_heartbeat = now() - interval '{STALLED_SECONDS + 1} s'"
        )
        server.execute("workers", age)
        await living.beat()
        assert jobs(server) == []


def test_the_tables_are_made_once_and_replaced_where_they_are_older(server, address):
    connection = connect(address)
    tables.make(connection, "tests")
    assert tables.stamp_of(connection) == tables.stamp()
    server.execute("workers", "CREATE TABLE replan_jobs.mark (one integer)")
    tables.make(connection, "tests")
    assert connection.execute("SELECT to_regclass('replan_jobs.mark') IS NOT NULL").fetchone()[0]
    server.execute("workers", "COMMENT ON SCHEMA replan_jobs IS '0.3.9.0'")
    tables.make(connection, "tests")
    assert not connection.execute("SELECT to_regclass('replan_jobs.mark') IS NOT NULL").fetchone()[0]
    server.execute("workers", "COMMENT ON SCHEMA replan_jobs IS '99.0.0.0'")
    tables.make(connection, "tests")
    assert tables.stamp_of(connection) == (99, 0, 0, 0)
    server.execute("workers", f"COMMENT ON SCHEMA replan_jobs IS '{'.'.join(map(str, tables.stamp()))}'")
    connection.close()


async def test_a_worker_that_others_took_for_dead_is_given_jobs_again(opened, server, dispatching):
    """As after a pause of the machine, or of the database for all workers at once."""
    async with opened() as journal, dispatching() as paused, dispatching() as other:
        with psycopg.connect(server.url("workers")) as connection:
            connection.execute("UPDATE replan_jobs.procrastinate_workers SET last_heartbeat = now() - interval '1h'")
        await other.beat()
        await paused.beat()
        await admitted(journal, "a")
        assert (await paused.fetch()).run == "a"


async def test_jobs_are_made_fetched_swept_and_deleted_through_a_pooler(server, url):
    with running_pooler(server) as port:
        address = parse_address(server.url("workers", port=port))
        async with open_postgres(address, CODEC) as journal, open_dispatcher(address) as dispatcher:
            for run in "ab":
                await journal.create(run, "", facts=counted(1), summary=RUNNING)
            job = await dispatcher.fetch()
            assert job.run == "a"
            await dispatcher.finish(job)
            server.execute("workers", "TRUNCATE replan_jobs.procrastinate_jobs CASCADE")
            assert await dispatcher.sweep(9, dead=nobody, kinds=None, skip=["a"]) == 1
            assert (await dispatcher.fetch()).run == "b"
            await dispatcher.beat()
