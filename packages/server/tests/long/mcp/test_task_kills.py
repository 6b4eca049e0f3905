"""A server is killed while a task is in each of its states; the next server goes on with the same id."""

from functools import partial

import pytest
import trio
from mcp.shared.exceptions import MCPError

from packages.server.tests.mcp.task_client import TasksExtension, cancelled, new_task, polled, until, updated
from packages.server.tests.mcp.world import ANSWER, TRANSPORTS, House, answering, broken, filled
from packages.server.tests.web.world import PLANS
from replan.runs.changes import record_crash
from replan.runs.home import open_home
from replan.setup.plugins import registry
from replan.setup.settings import read_user_config
from tests.cli.samples import ANALYSIS, PROBLEM, delayed_reply

SLOW = {**PLANS, "g_analysis": [delayed_reply(ANALYSIS, seconds=2.0)] * 3}
"""A script whose first reply takes its time."""
MODELS = {"working": "slow", "input_required": "asks", "completed": "plans", "cancelled": "asks"}
"""The model with which a task comes to a state, alone or by a cancel."""


def connected(connect):
    """Connect a client that takes tasks and shows forms."""
    return connect(elicitation_callback=answering()[0], extensions=[TasksExtension()])


def kept(state):
    """Return what two servers say alike: all but how they call themselves."""
    return {name: value for name, value in state.items() if name != "_meta"}


async def in_state(client, status):
    """Bring a new task into a state, and return its id and what was last said of it."""
    task = (await new_task(client, "plan", problem=PROBLEM, model=MODELS[status])).taskId
    if status == "cancelled":
        await until(client.session, task, "input_required")
        await cancelled(client.session, task)
    state = await until(client.session, task, status)
    while status != "working":  # The host may have a record more to write before the run is at rest.
        await trio.sleep(0.1)
        before, state = state, await polled(client.session, task)
        if kept(state) == kept(before):
            break
    assert state["status"] == status
    return task, state


async def killed_in(house, transport, status):
    """Have a server killed once a new task is in a state; return the task's id and the state."""
    with broken():
        async with house.server(transport) as connect, connected(connect) as client:
            task, state = await in_state(client, status)
            house.kill()
            await polled(client.session, task)
    return task, state


@pytest.mark.parametrize(("transport", "status"), list(zip(("stdio", "http", "http", "stdio"), MODELS, strict=True)))
async def test_a_killed_server_leaves_the_task_in_its_state_for_the_next_one(tmp_path, transport, status, commands):
    house = House(tmp_path, commands=commands, scripts={"slow": SLOW})
    task, before = await killed_in(house, transport, status)
    async with house.server(transport) as connect, connected(connect) as client:
        after = await polled(client.session, task)
        if status == "working":
            assert after["createdAt"] == before["createdAt"]
            after = await until(client.session, task, "input_required")
            assert after["status"] == "completed"
            assert after["result"]["structuredContent"]["outcome"] == "success"
            return
        with trio.move_on_after(60):  # A result says whether a host drives the run; the next host has just begun.
            while kept(after) != kept(before):
                await trio.sleep(0.1)
                after = await polled(client.session, task)
        assert kept(after) == kept(before)
        if status == "input_required":
            await updated(client.session, task, q1=filled(ANSWER))
            assert (await until(client.session, task))["status"] == "completed"


@pytest.mark.parametrize("transport", ["http"])
async def test_a_task_that_a_bug_has_ended_is_failed_to_each_server_after_it(
    tmp_path, transport, commands, monkeypatch
):
    house = House(tmp_path, commands=commands)
    task, _ = await killed_in(house, transport, "input_required")
    monkeypatch.setenv("REPLAN_HOME", str(house.home))
    config = read_user_config(house.home / "config.yaml")
    async with open_home(config=config, registry=registry()) as engine:
        with trio.fail_after(300):
            while (await engine.journal.row(task)).owner is not None:  # noqa: ASYNC110 -- the lease of the killed one ends
                await trio.sleep(0.05)
        await record_crash(engine, task, ZeroDivisionError("none"))
    states = []
    with broken():
        async with house.server(transport) as connect, connected(connect) as client:
            states.append(await polled(client.session, task))
            house.kill()
            await polled(client.session, task)
    async with house.server(transport) as connect, connected(connect) as client:
        states.append(await polled(client.session, task))
    assert states[0]["status"] == "failed"
    assert "ZeroDivisionError" in states[0]["error"]["message"]
    assert kept(states[0]) == kept(states[1])


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_call_whose_answer_a_kill_has_cut_off_is_the_same_task_when_it_is_repeated(
    tmp_path, transport, commands
):
    """The client has a key of its own, and no id; the server is killed at some moment of the call."""
    house, tasks = House(tmp_path, commands=commands), []
    call = partial(new_task, tool="plan", problem=PROBLEM, model="asks", idempotency_key="once")

    async def kill(seconds):
        await trio.sleep(seconds)
        house.kill()

    for seconds in (0.0, 0.02, 0.05):
        with broken():
            async with house.server(transport) as connect, connected(connect) as client:
                await client.session.send_ping()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(kill, seconds)
                    tasks.append((await call(client)).taskId)
                    await trio.sleep(1.0)
                    await polled(client.session, tasks[-1])
    async with house.server(transport) as connect, connected(connect) as client:
        tasks.append((await call(client)).taskId)
        assert len(set(tasks)) == 1
        assert (await until(client.session, tasks[0], "input_required"))["status"] == "input_required"


async def test_the_task_of_a_run_that_was_moved_has_failed_and_that_of_a_deleted_one_is_none(tmp_path, commands):
    house = House(tmp_path, commands=commands)
    task, _ = await killed_in(house, "stdio", "completed")

    async def replan(*words):
        command = [str(commands.folder / "replan"), *words]
        await trio.run_process(command, env=house.environment, capture_stdout=True, capture_stderr=True)

    journals = [f"sqlite:{folder / 'journal.sqlite3'}" for folder in (house.home, tmp_path)]
    await replan("home", "copy", *journals)
    async with house.server("stdio") as connect, connected(connect) as client:
        state = await polled(client.session, task)
        assert (state["status"], "result" in state) == ("failed", False)
        assert state["error"]["message"] == state["statusMessage"]
        assert "was moved to" in state["statusMessage"]
        assert str(tmp_path / "journal.sqlite3") in state["statusMessage"]
        await cancelled(client.session, task)
        assert kept(await polled(client.session, task)) == kept(state)
        deleted, _ = await in_state(client, "completed")
        await replan("home", "delete", deleted)
        with pytest.raises(MCPError, match=f"no task '{deleted}'"):
            await polled(client.session, deleted)
