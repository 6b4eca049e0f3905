"""What workers are given: the queue is lost, a worker is frozen in a transaction, another leaves, all share limits."""

import signal
import time

import pytest
import trio

from packages.server.tests.long.dispatch import audit
from packages.server.tests.long.dispatch.fleet import DATABASE, Fleet, finished, make_database, provider
from packages.server.tests.long.postgres.checker import check_database
from replan_server.postgres.address import parse_address
from replan_server.workers.procrastinate import open_dispatcher
from runtime.journal.port import nobody
from tests.support.openai_server import serve
from tests.support.server_process import wait_until

SECONDS_MAX = 120.0


@pytest.fixture
def fleet_of(tmp_path, server, commands):
    """Return a function that makes a fleet with a database of its own; its workers are killed at the end."""
    fleets = []

    def fleet_of(model, **more):
        make_database(server)
        fleets.append(Fleet(tmp_path, server, commands, model, **more))
        return fleets[-1]

    yield fleet_of
    for fleet in fleets:
        fleet.kill_all(signal.SIGKILL)


def run_to_the_end(fleet, runs, meanwhile=None, **options):
    """Admit runs, answer their questions, and return once they have ended; a task may do harm meanwhile."""

    async def main():
        await fleet.admit(runs, **options)
        with trio.fail_after(SECONDS_MAX):
            async with trio.open_nursery() as nursery:
                if meanwhile is not None:
                    nursery.start_soon(meanwhile)
                await fleet.answer(finished)
                nursery.cancel_scope.cancel()

    trio.run(main)


def check(fleet, server):
    check_database(server.url(DATABASE))
    audit.check(server.url(DATABASE), fleet.billed())
    assert fleet.rows("SELECT DISTINCT status, detail FROM replan.runs") == [("finished", "success")]


def test_a_queue_that_loses_all_of_its_jobs_again_and_again_loses_no_run(fleet_of, server):
    with serve(provider(0.05)) as model:
        fleet = fleet_of(model)
        for slot in (0, 3):
            fleet.start(slot)

        async def lose():
            while True:
                server.execute(DATABASE, "TRUNCATE replan_jobs.procrastinate_jobs CASCADE")
                await trio.sleep(0.1)

        run_to_the_end(fleet, 24, lose)
        assert fleet.kill_all(signal.SIGTERM) == [0, 0]
        check(fleet, server)


def test_a_worker_that_is_frozen_in_a_transaction_holds_nobody_up_and_is_fenced(fleet_of, server):
    with serve(provider(0.05)) as model:
        fleet = fleet_of(model)
        fleet.start(0)
        frozen = fleet.start(1, freeze={"at": "replan_server.postgres.committing:write", "nth": 12})
        began = time.monotonic()
        run_to_the_end(fleet, 16)
        assert time.monotonic() - began < 60.0
        frozen.command.send_signal(signal.SIGCONT)
        assert fleet.kill_all(signal.SIGTERM) == [0, 0]
        check(fleet, server)


def test_a_worker_that_is_asked_to_stop_hands_over_what_has_been_paid_for(fleet_of, server):
    """It takes no more runs, its replies in flight are recorded, and no call is asked for again."""
    with serve(provider(1.0)) as model:
        fleet = fleet_of(model, concurrency=8)
        leaving = fleet.start(0)

        async def leave():
            await trio.to_thread.run_sync(wait_until, lambda: len(model.seen) >= 8, "no call", 60.0)
            fleet.start(3)
            await trio.to_thread.run_sync(wait_until, fleet.workers[-1].is_ready, "not ready", 60.0)
            assert fleet.end(leaving, signal.SIGTERM) == 0

        run_to_the_end(fleet, 12, leave)
        assert fleet.kill_all(signal.SIGTERM) == [0]
        check(fleet, server)
        assert len(model.seen) == 3 * 12
        assert fleet.rows("SELECT sum(calls) FROM replan.runs") == [(3 * 12,)]


def test_jobs_come_by_priority_then_from_the_tenant_with_the_fewest_runs_then_by_age(fleet_of, server):
    """A tenant with many runs does not keep the others waiting, and a sweep fills what did not fit into the queue."""
    fleet = fleet_of(None)
    address = parse_address(server.url(DATABASE))

    async def main():
        many = await fleet.admit(80, "many")
        few = await fleet.admit(2, "few")
        urgent = await fleet.admit(1, "many", 5)
        waiting = fleet.rows("SELECT count(*) FROM replan_jobs.procrastinate_jobs WHERE queue_name = 'replan/many'")
        assert waiting == [(65,)]
        fetched = []
        async with open_dispatcher(address) as dispatcher:
            while len(fetched) < 83:
                job = await dispatcher.fetch()
                if job is None:
                    assert await dispatcher.sweep(100, dead=nobody, kinds=None, skip=fetched) > 0
                    continue
                fetched.append(job.run)
                server.execute(DATABASE, f"UPDATE replan.runs SET owner = 'w', lease_end = 9e9 WHERE run = '{job.run}'")
                await dispatcher.finish(job)
        assert fetched[:5] == [*urgent, few[0], many[0], few[1], many[1]]
        assert fetched[5:] == many[2:]

    fleet.model = type("NoModel", (), {"base_url": "http://127.0.0.1:1/v1"})
    trio.run(main)
