"""A worker on a queue in memory, on trio's clock: what it fetches, when jobs end, what it does without a queue."""

import trio

from runtime.core.errors import JournalBusy
from runtime.host.host import PRESENCE_SECONDS
from runtime.host.wakeup import Job
from tests.host.fake_home import FakeHome, run_request


class Queue:
    """A queue of jobs for one worker; `broken` lets every call fail. Sweeps ask the journal what is due."""

    def __init__(self, journal):
        self.journal, self.broken = journal, False
        self.waiting, self.doing, self.finished, self.beats = list[str](), dict[int, str](), list[str](), 0
        self.most = 0

    def check(self):
        if self.broken:
            raise JournalBusy("the queue")

    async def fetch(self):
        await trio.lowlevel.checkpoint()
        self.check()
        if not self.waiting:
            return None
        job = Job(1 + len(self.doing) + len(self.finished), self.waiting.pop(0))
        self.doing[job.id] = job.run
        self.most = max(self.most, len(self.doing))
        return job

    async def finish(self, job):
        await trio.lowlevel.checkpoint()
        self.check()
        self.finished.append(self.doing.pop(job.id))

    async def sweep(self, limit, *, dead, kinds, skip):
        self.check()
        due = await self.journal.due(limit + len(skip), dead=dead, kinds=kinds)
        new = [run for run in due.runs if run not in (*skip, *self.waiting)][:limit]
        self.waiting += new
        return len(new)

    async def beat(self):
        await trio.lowlevel.checkpoint()
        self.check()
        self.beats += 1


def running(home):
    return {run for event, run, _ in home.notices if event == "taken_up"}


async def test_a_worker_fetches_no_more_jobs_than_it_has_room_for_and_a_job_ends_when_its_run_is_claimed(
    autojump_clock,
):
    home = FakeHome(seconds=10.0)
    async with home.engine() as engine:
        for run in "abcde":
            await engine.admit(run_request("one"), run=run)
        queue = Queue(engine.journal)
        queue.waiting = list("abcde")
        async with home.hosting(engine, runs_max=2, dispatcher=queue):
            await trio.sleep(5)
            assert (running(home), queue.waiting, queue.doing) == ({"a", "b"}, ["c", "d", "e"], {})
            await trio.sleep(60)
    assert home.busiest == 2
    assert queue.most <= 2
    assert sorted(queue.finished) == list("abcde")
    assert {home.row(run) for run in "abcde"} == {("finished", "success")}


async def test_jobs_for_runs_that_need_no_driver_end_at_once(autojump_clock):
    """Of a run that another process drives, one that has finished, one that waits, and one that does not exist."""
    home = FakeHome(reject=["requirements.missing"])
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="waits")
        async with home.hosting(engine):
            await trio.sleep(5)
            await engine.admit(run_request("a"), run="done")
            await trio.sleep(5)
        await engine.admit(run_request("a"), run="held")
        await engine.journal.claim("held", "another", 600.0)
        queue, before = Queue(engine.journal), len(home.notices)
        queue.waiting = ["held", "done", "waits", "nothing"]
        async with home.hosting(engine, dispatcher=queue):
            await trio.sleep(5)
            assert (queue.waiting, queue.doing) == ([], {})
    assert {event for event, _, _ in home.notices[before:]} <= {"ready", "not_here", "stopping"}
    assert (home.row("waits"), home.row("done")[0]) == (("waiting", "q1"), "finished")


async def test_a_sweep_finds_what_has_no_job_and_a_run_whose_driver_has_died(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="lost")
        await engine.admit(run_request("a"), run="orphan")
        await engine.journal.claim("orphan", "a driver that dies", 20.0)
        async with home.hosting(engine, dispatcher=Queue(engine.journal)):
            await trio.sleep(5)
            assert (home.row("lost"), running(home)) == (("finished", "success"), {"lost"})
            await trio.sleep(20)
            assert running(home) == {"lost", "orphan"}
    assert home.row("orphan") == ("finished", "success")


async def test_without_its_queue_a_worker_takes_what_is_due_and_says_so_once(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        queue = Queue(engine.journal)
        queue.broken = True
        async with home.hosting(engine, dispatcher=queue):
            await engine.admit(run_request("a"), run="first")
            await trio.sleep(PRESENCE_SECONDS)
            assert home.row("first") == ("finished", "success")
            queue.broken = False
            await trio.sleep(10)
            await engine.admit(run_request("a"), run="second")
            await trio.sleep(10)
    assert home.row("second") == ("finished", "success")
    assert queue.finished == ["second"]
    assert [event for event, _, _ in home.notices].count("trouble") == 1
    assert queue.beats > 0


async def test_a_run_of_a_kind_that_is_not_known_here_is_left_to_others_without_a_word(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.journal.create("theirs", "", "another_kind", 1)
        queue = Queue(engine.journal)
        queue.waiting = ["theirs"]
        async with home.hosting(engine, dispatcher=queue):
            await trio.sleep(5)
            queue.waiting = ["theirs"]
            await trio.sleep(5)
    assert queue.finished == ["theirs", "theirs"]
    assert home.events("theirs") == []
