"""A client plans, is asked, answers and gets the plan: over stdio and HTTP, in both eras, with a kill in between."""

import pytest
import trio

from packages.server.tests.mcp.world import (
    ANSWER,
    ERAS,
    TRANSPORTS,
    House,
    answering,
    at_rest,
    broken,
    called,
    filled,
    first_form,
)
from tests.cli.samples import PROBLEM


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_plans_is_asked_in_a_form_answers_and_gets_the_plan(tmp_path, transport, era, commands):
    house, steps = House(tmp_path, commands=commands), []
    fill, shown = answering(filled(ANSWER))

    async def progress(count, total, message):
        steps.append((count, message))

    async with house.server(transport) as connect, connect(mode=era, elicitation_callback=fill) as client:
        assert (client.protocol_version == "2026-07-28") is (era == "auto")
        run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
        result = await client.call_tool("wait", {"id": run}, progress_callback=progress)
        state = result.structured_content
        assert (state["status"], state["outcome"], state["questions"]) == ("finished", "success", [])
        [form] = shown
        assert form.message.startswith("The model asks about the step 'analysis': Which version is it?\nThe step ")
        assert form.requested_schema["properties"]["answer"]["type"] == "string"
        assert steps
        assert any("model calls" in text for _, text in steps)
        found = await called(client, "result", id=run)
        assert found["plan"]["plan_id"] == "p1"
        assert found["outcome"] == "success"


@pytest.mark.parametrize(("transport", "era"), list(zip(TRANSPORTS, ERAS, strict=True)))
async def test_a_client_without_forms_uses_the_plain_tools_and_a_kill_loses_nothing(tmp_path, transport, era, commands):
    house = House(tmp_path, commands=commands)
    with broken():
        async with house.server(transport) as connect, connect(mode=era) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            state = await at_rest(client, run)
            assert state["status"] == "waiting"
            [question] = state["questions"]
            house.kill()
            await client.call_tool("status", {"id": run})
    async with house.server(transport) as connect, connect(mode=era) as client:
        assert (await called(client, "questions"))["questions"] == [question]
        receipt = await called(client, "answer", question=question["id"], answer=ANSWER)
        assert receipt == {"question": question["id"], "result": "accepted", "answer": ANSWER}
        assert (await called(client, "answer", question=question["id"], answer=ANSWER))["result"] == "duplicate"
        assert (await at_rest(client, run))["outcome"] == "success"
        assert (await called(client, "result", id=run))["plan"]["plan_id"] == "p1"


@pytest.mark.parametrize("transport", ["http"])
async def test_a_form_that_a_killed_server_has_sent_is_answered_to_the_next_one(tmp_path, transport, commands):
    house = House(tmp_path, commands=commands)
    with broken():
        async with house.server(transport) as connect, connect(elicitation_callback=answering()[0]) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            asked = await first_form(client, run)
            assert run not in asked.request_state
            house.kill()
            await client.call_tool("status", {"id": run})
    async with house.server(transport) as connect, connect(elicitation_callback=answering()[0]) as client:
        result = await client.session.call_tool(
            "wait", {"id": run}, input_responses={"q1": filled(ANSWER)}, request_state=asked.request_state
        )
        assert result.structured_content["outcome"] == "success"


@pytest.mark.parametrize("transport", ["stdio"])
async def test_a_server_that_is_killed_while_an_older_client_shows_a_form_leaves_the_question_open(
    tmp_path, transport, commands
):
    house = House(tmp_path, commands=commands)

    async def kill(context, params):
        house.kill()
        await trio.sleep_forever()

    with broken():
        async with house.server(transport) as connect, connect(mode="legacy", elicitation_callback=kill) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            with trio.fail_after(300):
                await client.call_tool("wait", {"id": run})
    fill, shown = answering(filled(ANSWER))
    async with house.server(transport) as connect, connect(mode="legacy", elicitation_callback=fill) as client:
        assert (await called(client, "wait", id=run))["outcome"] == "success"
        assert len(shown) == 1
