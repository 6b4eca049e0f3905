"""What a worker does with the jobs that an engine hands to it."""

from runtime.host.host import Placing
from runtime.host.wakeup import Job
from runtime.journal.port import nobody


class Engine:
    """An engine that notes which jobs are finished."""

    def __init__(self, *jobs):
        self.jobs, self.finished = [*jobs], []

    async def fetch(self):
        return self.jobs.pop(0) if self.jobs else None

    async def finish(self, job):
        self.finished.append(job.id)

    async def sweep(self, limit, *, dead, kinds, skip):
        return 0


async def test_a_second_job_of_a_run_that_is_not_claimed_yet_leaves_no_job_behind():
    """The first one is under way, so that the trigger may make another one for the same run."""
    engine = Engine(Job(1, "a"), Job(2, "a"))
    placing = Placing(engine, nobody, None)
    for _ in range(2):
        placing.hold(await placing.next(1, []))
    placing.end("a")
    await placing.finish_ended()
    assert sorted(engine.finished) == [1, 2]
