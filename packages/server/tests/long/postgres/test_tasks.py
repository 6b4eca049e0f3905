"""Tasks of MCP on a database: two servers with homes of their own answer for the same ids, and one of them dies."""

import pytest
import trio

from packages.server.tests.long.mcp.test_task_kills import SLOW, connected, kept
from packages.server.tests.long.postgres.checker import check_database
from packages.server.tests.mcp.task_client import cancelled, new_task, polled, until, updated
from packages.server.tests.mcp.world import ANSWER, House, broken, filled
from tests.cli.samples import PROBLEM


class Worker(House):
    def __init__(self, folder, url, **options):
        folder.mkdir()
        super().__init__(folder, **options)
        self.url = url

    @property
    def environment(self):
        return {**super().environment, "REPLAN_JOURNAL": self.url}


@pytest.fixture
def workers(tmp_path, url, commands):
    return [Worker(tmp_path / name, url, commands=commands, scripts={"slow": SLOW}) for name in ("one", "two")]


async def agreed(one, two, task):
    """Return the state of a task once two sessions are told the same: a record may be written between two polls."""
    with trio.fail_after(300):
        while True:
            state = await polled(one, task)
            if kept(state) == kept(await polled(two, task)):
                return state
            await trio.sleep(0.05)


async def test_two_servers_answer_alike_for_the_same_task(workers, url):
    one, two = workers
    async with (
        one.server("http") as first,
        two.server("http") as second,
        connected(first) as client,
        connected(second) as other,
    ):
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await until(other.session, task, "input_required")
        assert (await agreed(client.session, other.session, task))["status"] == "input_required"
        async with trio.open_nursery() as nursery:  # Both answer at once; the first one counts.
            nursery.start_soon(lambda: updated(client.session, task, q1=filled(ANSWER)))
            nursery.start_soon(lambda: updated(other.session, task, q1=filled("3.11")))
        await until(client.session, task)
        assert (await agreed(client.session, other.session, task))["status"] == "completed"
        task = (await new_task(other, "plan", problem=PROBLEM, model="asks")).taskId
        await until(client.session, task, "input_required")
        await cancelled(client.session, task)
        assert (await until(other.session, task))["status"] == "cancelled"
    check_database(url)


@pytest.mark.parametrize("status", ["working", "input_required", "completed"])
async def test_the_other_server_goes_on_with_the_task_of_a_killed_one(workers, url, status):
    one, two = workers
    model = {"working": "slow", "input_required": "asks", "completed": "plans"}[status]
    async with two.server("http") as second, connected(second) as other:
        with broken():
            async with one.server("http") as first, connected(first) as client:
                task = (await new_task(client, "plan", problem=PROBLEM, model=model)).taskId
                state = await until(client.session, task, status)
                assert state["status"] == status
                one.kill()
                await polled(client.session, task)
        assert (await polled(other.session, task))["createdAt"] == state["createdAt"]
        await until(other.session, task, "input_required")
        if status == "input_required":
            await updated(other.session, task, q1=filled(ANSWER))
        state = await until(other.session, task)
        assert state["status"] == "completed"
        assert state["result"]["structuredContent"]["outcome"] == "success"
    check_database(url)
