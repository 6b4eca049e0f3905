"""Four workers, runs with questions, and everything that can end or delay a worker: nothing is lost or doubled.

`REPLAN_WORKER_ROUNDS=11` does eleven rounds of 200 runs and up to 200 kills, 2,000 in all; by default there is one of
30 runs and up to 30 kills.
"""

import os
import random
import signal
import time

import pytest
import trio

from packages.server.tests.long.dispatch import audit
from packages.server.tests.long.dispatch.fleet import DATABASE, Fleet, finished, make_database, provider
from packages.server.tests.long.postgres.checker import check_database
from tests.support.openai_server import serve
from tests.support.tcp_proxy import Fault, running_proxy

ROUNDS = int(os.environ.get("REPLAN_WORKER_ROUNDS", "1"))
RUNS = KILLS = 200 if "REPLAN_WORKER_ROUNDS" in os.environ else 30
WORKERS = 4
CAPPED, HOME = RUNS // 2, 100 * RUNS
"""Daily budgets in calls: that of a tenant with a third of the runs, which need three calls each, and that of all."""
FAULTS = (Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.DELAY, Fault.HALF_CLOSE)
SECONDS_MAX = 120.0 + 3 * KILLS


def check(fleet, server, runs):
    check_database(server.url(DATABASE))
    audit.check(server.url(DATABASE), fleet.billed())
    rows = fleet.rows("SELECT run, status, tenant, detail FROM replan.runs")
    assert sorted(run for run, *_ in rows) == sorted(runs)
    assert {status for _, status, *_ in rows} == {"finished"}
    return [(tenant, detail) for *_, tenant, detail in rows]


async def some_progress(fleet, chance):
    """Wait until the provider has got a few more calls, so that the kills are spread over the work."""
    more = len(fleet.model.seen) + chance.randint(1, 4)
    with trio.move_on_after(0.5):
        while len(fleet.model.seen) < more:  # noqa: ASYNC110 - a server in threads
            await trio.sleep(0.005)
    await trio.sleep(chance.uniform(0.0, 0.06))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_workers_that_are_killed_at_random_lose_and_double_nothing(tmp_path, server, commands, seed):
    make_database(server)
    chance = random.Random(seed)
    with serve(provider(0.3)) as model, running_proxy(server.port) as proxy:
        config = f"tenants: {{capped: {{calls: {CAPPED}, when_spent: end}}}}\nhome_budget: {{calls: {HOME}}}\n"
        ports = {2: proxy.port, 3: proxy.port}
        fleet = Fleet(tmp_path, server, commands, model, config=config, ports=ports)

        async def strike():
            for slot in range(WORKERS):
                fleet.start(slot)
            for kills in range(1, KILLS + 1):
                struck.append(kills)
                await some_progress(fleet, chance)
                victim = chance.choice(fleet.workers)
                fleet.end(victim, signal.SIGKILL)
                fleet.start(victim.slot)
                fleet.restart_ended()
                if kills % 5 == 0:
                    proxy.arm(chance.choice(FAULTS))
                if kills == KILLS // 2:
                    await trio.to_thread.run_sync(server.stop)
                    await trio.to_thread.run_sync(server.start)

        async def main():
            third = RUNS // 3
            runs = await fleet.admit(third, "capped", 1)
            runs += await fleet.admit(third, "free") + await fleet.admit(RUNS - 2 * third)
            with trio.fail_after(SECONDS_MAX):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(strike)
                    await fleet.answer(finished)
                    nursery.cancel_scope.cancel()
            return runs

        began, struck = time.monotonic(), []
        try:
            runs = trio.run(main)
            codes = [fleet.end(worker, signal.SIGTERM) for worker in list(fleet.workers) if worker.is_ready()]
        finally:
            fleet.kill_all(signal.SIGKILL)
    seconds = time.monotonic() - began
    calls = len(fleet.billed())
    print(f"{len(struck)} kills, {RUNS} runs, {seconds:.1f} s, {proxy.struck} cuts, {calls} calls")
    assert len(struck) > KILLS // 2
    assert codes
    assert set(codes) == {0}, "a worker that was ready drains when it is asked to end"
    rows = check(fleet, server, runs)
    ends = {tenant: {detail for other, detail in rows if other == tenant} for tenant in ("capped", "free", "")}
    assert ends["free"] == ends[""] == {"success"}
    assert ends["capped"] <= {"success", "budget_exhausted"}
    days = dict(fleet.rows("SELECT tenant, max(calls) FROM replan.spending GROUP BY 1"))
    assert days["capped"] <= CAPPED
    assert days[""] <= HOME


TAKEOVER_SECONDS_MAX = 10.0
STALL_SECONDS = 5.0


def claims_after(fleet, moment):
    """Return, of each run that was held at a moment, who held it, and when and by whom it was claimed next."""
    return fleet.rows(
        "WITH held AS (SELECT DISTINCT ON (run) run, epoch, who FROM audit.claims WHERE extract(epoch FROM at) <"
        f" {moment} ORDER BY run, epoch DESC) SELECT held.run, held.who, min(extract(epoch FROM at)) - {moment},"
        " min(later.who) FROM held JOIN audit.claims AS later ON later.run = held.run AND later.epoch = held.epoch + 1"
        " GROUP BY held.run, held.who"
    )


async def lag():
    """Return how late this machine wakes a process, at worst, until this is cancelled: a busy one is late."""
    worst = [0.0]

    async def watch():
        while True:
            before = time.monotonic()
            await trio.sleep(0.05)
            worst[0] = max(worst[0], time.monotonic() - before - 0.05)

    return worst, watch


def test_a_killed_and_a_stopped_worker_are_taken_over_within_ten_seconds_and_a_stalled_one_is_not(
    tmp_path, server, commands
):
    """On other machines, which cannot see that the process has ended, and in the middle of its transaction, too."""
    make_database(server)
    with serve(provider(30.0)) as model:
        fleet = Fleet(tmp_path, server, commands, model, concurrency=10)

        async def main():
            runs = await fleet.admit(30)  # No process asks a server that has not answered yet more than ten times.
            workers = [fleet.start(slot) for slot in range(3)]
            with trio.fail_after(300):
                while len(model.seen) < len(runs):  # noqa: ASYNC110 - a server in threads
                    await trio.sleep(0.05)
            for slot in (3, 4):
                fleet.start(slot)
            await trio.sleep(2.5)  # All leases have been renewed at times of their own.
            worst, watch = await lag()
            killed, stopped, stalled = workers
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watch)
                moment = time.time()
                fleet.end(killed, signal.SIGKILL)
                stopped.command.send_signal(signal.SIGSTOP)
                stalled.command.send_signal(signal.SIGSTOP)
                await trio.sleep(STALL_SECONDS)
                stalled.command.send_signal(signal.SIGCONT)
                await trio.sleep(TAKEOVER_SECONDS_MAX - STALL_SECONDS + 2 * worst[0] + 1.0)
                stopped.command.send_signal(signal.SIGCONT)
                nursery.cancel_scope.cancel()
            await trio.sleep(1.0)
            return moment, killed, stopped, stalled, worst[0]

        try:
            moment, killed, stopped, stalled, late = trio.run(main)
            found = claims_after(fleet, moment)
        finally:
            fleet.kill_all(signal.SIGKILL)
    seconds = {
        worker.role: sorted(float(after) for _, who, after, _ in found if who == worker.role)
        for worker in (killed, stopped, stalled)
    }
    print({role: [round(each, 1) for each in taken] for role, taken in seconds.items()}, f"late {late:.2f}")
    assert not seconds[stalled.role], "taken from a worker that was stalled for 5 s"
    for worker in (killed, stopped):
        taken = seconds[worker.role]
        assert len(taken) == 10
        assert taken[int(len(taken) * 0.95)] <= TAKEOVER_SECONDS_MAX + 2 * late
    check_database(server.url(DATABASE))
