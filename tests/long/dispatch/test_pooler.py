"""The queue of workers through PgBouncer in transaction mode: nothing of it is kept in a session."""

from runtime.dispatch.procrastinate import open_dispatcher
from runtime.journal.port import nobody
from runtime.journal.postgres.address import parse_address
from runtime.journal.postgres.journal import open_postgres
from tests.contracts.toy_events import CODEC, RUNNING, counted
from tests.support.postgres import running_pooler


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
