"""A run as a task of the extension of 2026-07-28: made, polled, asked for input, cancelled and followed."""

import json
import os
import re
import signal
from dataclasses import replace

import pytest
import trio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    ElicitResult,
    Request,
)

from actors.values.answers import ANSWER_MAX
from packages.server.tests.long.mcp.test_executions import settings
from packages.server.tests.mcp.suite_tools import ASKS_TWO
from packages.server.tests.mcp.task_client import (
    STATE,
    Listen,
    Named,
    TasksExtension,
    cancelled,
    listened,
    new_task,
    polled,
    until,
    updated,
)
from packages.server.tests.mcp.world import ANSWER, TRANSPORTS, House, answering, called, filled, refused, served
from replan.runs.changes import record_crash
from replan.setup.settings import read_user_config
from replan_server.mcp.calls import TASKS
from replan_server.service.access import remove_token
from replan_server.service.orders import Order, ServerOffer
from replan_server.service.store import Store
from runtime.journal.port import Placement
from tests.cli.samples import PLAN, PROBLEM

FORMS = {"elicitation_callback": answering()[0]}
"""A client that shows forms; none is ever sent to it by a server with tasks."""


async def left_alone(home, run):
    """Wait until nobody drives a run."""
    with trio.fail_after(300):
        while (await home.engine.journal.row(run)).owner is not None:  # noqa: ASYNC110 -- another task drives it
            await trio.sleep(0.02)


def with_tasks(**options):
    """Return the options of a client that takes tasks and shows forms."""
    return {**FORMS, "extensions": [TasksExtension()], **options}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_call_is_a_task_that_asks_is_answered_and_comes_to_the_plan(tmp_path, transport, commands):
    house = House(tmp_path, commands=commands)
    async with house.server(transport) as connect, connect(**with_tasks()) as client:
        assert client.server_capabilities.extensions == {TASKS: {}}
        task = await new_task(client, "plan", problem=PROBLEM, model="asks")
        assert task.status in ("working", "input_required")
        assert re.fullmatch("[a-z2-9]{16}", task.taskId)
        state = await until(client.session, task.taskId, "input_required")
        assert set(state) - {"_meta"} == {
            "resultType",
            "taskId",
            "status",
            "statusMessage",
            "createdAt",
            "lastUpdatedAt",
            "ttlMs",
            "pollIntervalMs",
            "inputRequests",
        }
        assert (state["resultType"], state["ttlMs"]) == ("complete", None)
        [(name, form)] = state["inputRequests"].items()
        assert form["method"] == "elicitation/create"
        assert "Which version is it?" in form["params"]["message"]
        ack = await updated(client.session, task.taskId, **{name: filled(ANSWER)})
        assert set(ack) <= {"resultType", "_meta"}
        state = await until(client.session, task.taskId)
        assert (state["status"], state["statusMessage"]) == ("completed", "success: every guard passed")
        answer = CallToolResult.model_validate(state["result"])
        assert answer.is_error is False
        assert answer.structured_content["plan"]["plan_id"] == PLAN["plan_id"]
        assert json.loads(answer.content[0].text) == answer.structured_content
        told = await called(client, "status", id=task.taskId)
        assert (told["run_id"], told["outcome"]) == (task.taskId, "success")


@pytest.mark.parametrize("transport", ["http"])
async def test_the_clients_library_finishes_a_task_for_a_plain_call(tmp_path, transport, commands):
    """The client library validates the result of a task by the output schema of its tool."""
    house = House(tmp_path, commands=commands)
    extension = TasksExtension(fill=lambda form: filled(ANSWER))
    async with house.server(transport) as connect, connect(**with_tasks(extensions=[extension])) as client:
        await client.list_tools()
        result = await client.call_tool("plan", {"problem": PROBLEM, "model": "asks"})
        assert result.structured_content["plan"]["plan_id"] == PLAN["plan_id"]


async def test_only_calls_that_start_a_run_are_tasks_and_only_for_clients_that_take_them(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home:
        async with home.client(name="tasks", **with_tasks()) as client:
            assert (await called(client, "questions"))["questions"] == []
            assert "more than" not in await refused(client, "plan", problem="", model="plans")
        async with home.client(name="plain") as client:
            assert "run_id" in await called(client, "plan", problem=PROBLEM, model="plans")
        async with home.client(name="older", mode="legacy", **with_tasks()) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
            with pytest.raises(MCPError) as raised:
                await polled(client.session, run)
            assert raised.value.code == METHOD_NOT_FOUND


async def test_a_client_that_does_not_declare_tasks_is_told_what_is_missing(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        for send in (polled, updated, cancelled, listened):
            with pytest.raises(MCPError) as raised:
                await send(client.session, run)
            assert raised.value.code == MISSING_REQUIRED_CLIENT_CAPABILITY
            assert raised.value.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


async def test_an_id_of_no_task_is_one_line(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        for send in (polled, updated, cancelled):
            with pytest.raises(MCPError, match=r"no task 'nonesuch'") as raised:
                await send(client.session, "nonesuch")
            assert raised.value.code == INVALID_PARAMS
        for wrong in ("../../etc/passwd", "k7m2\x00x9qa", "K7M2X9QA", "é" * 50, "x" * 150):
            with pytest.raises(MCPError, match="no task") as raised:
                await polled(client.session, wrong)
            assert raised.value.code == INVALID_PARAMS


async def test_a_task_of_another_tenant_is_none(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, tenant="ours") as home, home.client(**with_tasks()) as client:
        ours = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        assert (await until(client.session, ours, "input_required"))["status"] == "input_required"
        offer = ServerOffer(read_user_config(home.house.home / "config.yaml"), home.house.home, home.engine.root)
        prepared = offer.prepare(Order(PROBLEM, model="asks"), home.engine.registry).request
        theirs = await replace(home.engine, placement=Placement("theirs")).admit(prepared)
        await home.settled(theirs, "waiting")
        for send in (polled, updated, cancelled):
            with pytest.raises(MCPError, match=f"no task '{theirs}'"):
                await send(client.session, theirs, **({"q1": filled(ANSWER)} if send is updated else {}))
        row = await home.engine.journal.row(theirs)
        assert (row.status, row.last_posted) == ("waiting", 0)


async def test_a_header_that_names_another_task_is_refused(tmp_path, monkeypatch):
    class Unnamed(Request):
        """A poll without the header."""

    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        with pytest.raises(MCPError) as raised:
            await client.session.send_request(Unnamed(method="tasks/get", params=Named(task_id=task)), STATE)
        assert raised.value.code == HEADER_MISMATCH


async def test_the_methods_need_the_scopes_of_the_tools(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(name="c", **with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await until(client.session, task, "input_required")
        async with home.client("read", **with_tasks()) as reader:
            state = await polled(reader.session, task)
            assert (state["status"], "inputRequests" in state) == ("working", False)
            with pytest.raises(MCPError, match="needs the scope answer"):
                await updated(reader.session, task, q1=filled(ANSWER))
            with pytest.raises(MCPError, match="needs the scope control"):
                await cancelled(reader.session, task)
        async with home.client("answer", **with_tasks()) as answerer:
            await updated(answerer.session, task, q1=filled(ANSWER))
            assert (await until(answerer.session, task))["status"] == "completed"


async def test_a_client_without_forms_is_told_how_to_answer(tmp_path, monkeypatch):
    async with (
        served(tmp_path, monkeypatch) as home,
        home.client(name="c", extensions=[TasksExtension()]) as client,
    ):
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await home.settled(task, "waiting")
        state = await polled(client.session, task)
        assert (state["status"], "inputRequests" in state) == ("working", False)
        assert state["statusMessage"] == "waiting: ask your user, call `answer`, then `wait`"
        await called(client, "answer", question=f"{task}/q1", answer=ANSWER)
        assert (await until(client.session, task))["status"] == "completed"


async def test_the_first_answer_counts_and_forms_of_no_open_question_are_ignored(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await until(client.session, task, "input_required")
        await updated(client.session, task, q1=ElicitResult(action="cancel"), q9=filled("x"))
        assert (await polled(client.session, task))["status"] == "input_required"
        await updated(client.session, task, q1=filled(ANSWER))
        await updated(client.session, task, q1=filled("3.11"))
        assert (await until(client.session, task))["status"] == "completed"
        posted = await home.engine.journal.inbox(task)
        assert [ANSWER in str(each) for each in posted] == [True]


async def test_of_two_forms_one_may_be_answered_first(tmp_path, monkeypatch):
    async with (
        served(tmp_path, monkeypatch, scripts={"asks_two": ASKS_TWO}) as home,
        home.client(**with_tasks()) as client,
    ):
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks_two")).taskId
        await home.settled(task, "waiting")
        state = await polled(client.session, task)
        first, second = state["inputRequests"]
        assert state["statusMessage"] == "2 questions are open"
        await updated(client.session, task, **{second: filled(ANSWER)})
        assert [*(await polled(client.session, task))["inputRequests"]] == [first]
        await updated(client.session, task, **{first: filled(ANSWER)})
        assert (await until(client.session, task))["status"] == "completed"


async def test_an_answer_that_does_not_fit_is_refused_and_the_form_stays_open(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await until(client.session, task, "input_required")
        for wrong in (ElicitResult(action="accept", content={}), filled("x" * (ANSWER_MAX + 1))):
            with pytest.raises(MCPError, match=r"inputResponses: q1: ") as raised:
                await updated(client.session, task, q1=wrong)
            assert raised.value.code == INVALID_PARAMS
            assert "\n" not in str(raised.value)
        assert [*(await polled(client.session, task))["inputRequests"]] == ["q1"]
        await updated(client.session, task, q1=ElicitResult(action="decline"))
        assert (await until(client.session, task))["status"] == "completed"


async def test_a_cancelled_task_stays_so_and_a_cancel_of_an_ended_one_does_nothing(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        for model, ended in (("asks", "cancelled"), ("plans", "completed")):
            task = (await new_task(client, "plan", problem=PROBLEM, model=model)).taskId
            await until(client.session, task, "input_required")
            for _ in range(2):
                ack = await cancelled(client.session, task)
                assert set(ack) <= {"resultType", "_meta"}
            state = await until(client.session, task)
            assert (state["status"], "error" in state) == (ended, False)
            assert ("result" in state) is (ended == "completed")


async def test_an_end_without_success_is_an_error_of_the_tool_and_a_bug_one_of_the_server(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="plans", max_calls=1, at_limit="stop")).taskId
        state = await until(client.session, task)
        assert (state["status"], state["result"]["isError"]) == ("completed", True)
        assert state["result"]["structuredContent"]["outcome"] == "budget_exhausted"
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        await home.settled(task, "waiting")
        await left_alone(home, task)
        await record_crash(home.engine, task, ZeroDivisionError("none"))
        state = await until(client.session, task)
        assert (state["status"], "result" in state) == ("failed", False)
        assert state["error"]["code"] == INTERNAL_ERROR
        assert "ZeroDivisionError" in state["error"]["message"]


async def test_a_run_that_goes_on_after_its_end_is_a_task_that_works_again(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="plans", max_calls=1, at_limit="stop")).taskId
        assert (await until(client.session, task))["result"]["isError"] is True
        await called(client, "limits", id=task, max_calls=30)
        state = await until(client.session, task)
        assert (state["status"], state["statusMessage"]) == ("completed", "success: every guard passed")


async def test_a_server_that_stops_ends_its_subscriptions(tmp_path, commands):
    house, extension = House(tmp_path, commands=commands), TasksExtension()
    async with house.server("http") as connect, connect(**with_tasks(extensions=[extension])) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        with trio.fail_after(300):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(listened, client.session, task)
                await extension.has_told("input_required")
                os.kill(house.processes[-1], signal.SIGTERM)


async def test_a_result_that_is_too_large_is_an_error_of_the_tool(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.mcp.calls.ANSWER_BYTES_MAX", 500)
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="plans")).taskId
        state = await until(client.session, task)
        assert (state["status"], state["result"]["isError"]) == ("completed", True)
        assert "show RUN --json" in state["result"]["content"][0]["text"]


async def test_a_bug_of_the_server_is_one_line_without_its_text(tmp_path, monkeypatch):
    async def broken(call, run):
        raise RuntimeError("sk-secret-in-an-exception")

    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client(**with_tasks()) as client:
        monkeypatch.setattr("replan_server.mcp.task_methods.read_task", broken)
        with pytest.raises(MCPError, match="internal error; the log has the details") as raised:
            await polled(client.session, "k7m2x9qa")
        assert raised.value.code == INTERNAL_ERROR


async def test_a_subscription_is_checked_and_ends_where_there_is_nothing_to_follow(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        with trio.fail_after(300):
            assert set(await listened(client.session, "nonesuch")) <= {"resultType", "_meta"}
        for wrong in ([1], "k7m2x9qa", ["x"] * 51):
            request = Listen(method="subscriptions/listen", params={"notifications": {"taskIds": wrong}})
            with pytest.raises(MCPError, match="at most 50 ids") as raised:
                await client.session.send_request(request, STATE)
            assert raised.value.code == INVALID_PARAMS


async def test_a_subscription_ends_when_its_token_is_revoked(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(name="other", **with_tasks()) as other:
        extension = TasksExtension()
        async with home.client(name="gone", **with_tasks(extensions=[extension])) as client:
            task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
            with trio.fail_after(300):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(listened, client.session, task)
                    await extension.has_told("input_required")
                    Store(home.house.home).change(lambda state: remove_token(state, "gone"))
                    await updated(other.session, task, q1=filled(ANSWER))  # A change, so that it is looked at at once.
        await until(other.session, task)
        assert extension.told[-1]["status"] == "input_required"


async def test_a_fork_is_a_task_too(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="plans")).taskId
        await until(client.session, task)
        fork = await new_task(client, "fork", id=task, at="before:g_plan/v1.a1")
        assert fork.taskId != task
        assert (await until(client.session, fork.taskId))["status"] == "completed"


async def test_an_execution_whose_approval_is_for_people_works_until_a_person_answers(tmp_path, monkeypatch):
    sets = settings(tmp_path, "risky")
    async with (
        served(tmp_path, monkeypatch, allow_execute=True, tools=sets) as home,
        home.client(**with_tasks()) as client,
    ):
        plan = (await new_task(client, "plan", problem=PROBLEM, model="plans")).taskId
        await until(client.session, plan)
        task = (await new_task(client, "execute", id=plan, tools="tickets", model="template:bug")).taskId
        await home.settled(task, "waiting")
        state = await polled(client.session, task)
        assert (state["status"], "inputRequests" in state) == ("working", False)
        assert "a person has to answer" in state["statusMessage"]
        [question] = (await called(client, "questions", id=task))["questions"]
        name = question["id"].rpartition("/")[2]
        await updated(client.session, task, **{name: filled("yes")})
        assert [each["id"] for each in (await called(client, "questions", id=task))["questions"]] == [question["id"]]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_subscription_tells_each_state_to_the_end(tmp_path, transport, commands):
    house, extension = House(tmp_path, commands=commands), TasksExtension()
    async with house.server(transport) as connect, connect(**with_tasks(extensions=[extension])) as client:
        task = (await new_task(client, "plan", problem=PROBLEM, model="asks")).taskId
        with trio.fail_after(300):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(listened, client.session, task, "nonesuch")
                await extension.has_told("input_required")
                await updated(client.session, task, q1=filled(ANSWER))
        last = await polled(client.session, task)
        await extension.has_told("completed")
        told = [each["status"] for each in extension.told]
        assert {each["taskId"] for each in extension.told} == {task}
        assert told[-1] == "completed"
        assert told.count("completed") == 1
        kept = {name: value for name, value in last.items() if name not in ("_meta", "resultType")}
        assert {name: value for name, value in extension.told[-1].items() if name != "_meta"} == kept
