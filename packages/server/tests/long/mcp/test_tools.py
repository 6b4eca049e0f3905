"""The tools and resources: what each takes and gives, whom they obey, and what they refuse."""

import json
import re

import pytest
import trio
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from actors.config.model_spec import TEMPLATES
from packages.server.tests.mcp.world import (
    ANSWER,
    ERAS,
    answering,
    at_rest,
    called,
    filled,
    first_form,
    refused,
    served,
)
from packages.server.tests.web.test_hostile_texts import REVIEWED
from packages.server.tests.web.world import PLANS
from replan_server.mcp import asking
from replan_server.mcp.server import offered_tools
from replan_server.mcp.serving import NAME, security
from runtime.core.errors import JournalError, UsageProblem
from tests.cli.samples import ANALYSIS, LOST, PLAN, PROBLEM

CHOICE = {"question": "Which version is it?", "choices": ["3.11", "3.12"]}


async def test_every_tool_is_described_with_schemas_and_hints(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, allow_execute=True) as home, home.client() as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert [*listed] == [*offered_tools(allow_execute=True)]
        for tool in listed.values():
            assert tool.description
            assert tool.input_schema["additionalProperties"] is False
            assert tool.output_schema["type"] == "object"
        assert {name for name, tool in listed.items() if tool.annotations.read_only_hint} == {
            "status",
            "questions",
            "result",
            "rest_of_plan",
            "check_plan",
        }
        assert {name for name, tool in listed.items() if tool.annotations.destructive_hint} == {
            "cancel",
            "edit_plan",
            "execute",
            "undo",
        }
        assert {name for name, tool in listed.items() if tool.annotations.open_world_hint} == {
            "edit_plan",
            "execute",
            "undo",
        }


async def test_without_the_option_there_is_no_tool_that_executes(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        assert "execute" not in {tool.name for tool in (await client.list_tools()).tools}
        assert "no tool 'execute'" in await refused(client, "execute", id="k7m2x9qa", tools="all")


async def test_a_plan_is_checked_without_a_run(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client("read") as client:
        report = await called(client, "check_plan", plan=PLAN)
        assert report["valid"] is True
        rejected = await called(client, "check_plan", plan=LOST, level="expansive")
        assert rejected["findings"][0]["code"] == "plan.precondition_unsatisfied"
        assert (await called(client, "check_plan", plan={"steps": 7}))["valid"] is False
        assert "level" in await refused(client, "check_plan", plan=PLAN, level="maximal")


async def test_an_error_names_arguments_and_says_what_a_client_can_do_next(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        unknown = "no run 'nonesuch' (the resource replan://runs lists the runs)"
        for tool in ("status", "result", "wait", "cancel", "questions"):
            assert await refused(client, tool, id="nonesuch") == unknown
        with pytest.raises(MCPError, match=re.escape(unknown)):
            await client.read_resource("replan://runs/nonesuch/plan")
        assert await refused(client, "status") == "id: the argument is missing (needed: id)"
        assert await refused(client, "tell", id="x", text="") == "text: should not be empty"
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        await at_rest(client, run)
        assert (
            await refused(client, "cancel", id=run)
            == f"id: run {run} has finished already (success) (`result` shows its result)"
        )


async def test_resources_show_what_may_be_chosen_the_runs_the_plan_and_the_search(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, max_calls=50) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        await at_rest(client, run)
        read = {}
        for name in ("offer", "runs", f"runs/{run}/plan", f"runs/{run}/tree", f"runs/{run}/result"):
            [content] = (await client.read_resource(f"replan://{name}")).contents
            assert content.mime_type == "application/json"
            read[name] = json.loads(content.text)
        assert read["offer"]["models"] == ["default", *TEMPLATES, "exact", "asks", "plans"]
        assert read["offer"]["ceilings"]["max_calls"] == 50
        assert read["offer"]["tools"] == []
        assert [row["run_id"] for row in read["runs"]["runs"]] == [run]
        assert read[f"runs/{run}/plan"]["plan_id"] == "p1"
        assert [node["step"] for node in read[f"runs/{run}/tree"]["nodes"]][-1] == "g_plan"
        for wrong in ("replan://runs/nobody22/plan", "replan://runs/../../etc/passwd", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)


async def test_the_list_of_runs_takes_conditions_an_order_and_pages(tmp_path, monkeypatch):
    """As the HTTP API does: all conditions hold together, and a value that no run can have is refused with its name."""
    monkeypatch.setattr("replan_server.mcp.server.ROWS_MAX", 2)
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        runs = {}
        for name, model in (("Alpha", "plans"), ("Beta", "asks"), ("Gamma", "plans")):
            problem = f"# {name} breaks\n\nThe login fails.\n"
            runs[name] = (await called(client, "plan", problem=problem, model=model))["run_id"]
            await at_rest(client, runs[name])

        async def listed(query):
            [content] = (await client.read_resource(f"replan://runs{query}")).contents
            page = json.loads(content.text)
            return [row["title"].split()[0] for row in page["runs"]], page["more"]

        assert await listed("") == (["Gamma", "Beta"], True)
        assert await listed("?page=1") == (["Alpha"], False)
        assert await listed("?page=9") == ([], False)
        assert await listed("?status=waiting") == (["Beta"], False)
        assert await listed("?q=ALPHA") == (["Alpha"], False)
        assert await listed("?q=breaks&status=finished&kind=planning") == (["Gamma", "Alpha"], False)
        assert await listed("?kind=execution") == ([], False)
        assert await listed("?cost=0.5") == ([], False)
        assert (await listed("?sort=changed&status=finished"))[0] == ["Gamma", "Alpha"]
        refusals = {
            "?status=happy": "status: there is no such status (running, waiting, parked, finished, moved)",
            "?kind=none": "kind: there is no such kind",
            "?sort=colour": "sort: there is no such sort (newest, changed, calls, cost)",
            "?cost=-1": "cost: this is not an amount in dollars (a number such as 0.05)",
            "?page=x": "page: this is not a page number (the first page is 0)",
            "?colour=red": "colour: runs cannot be selected by this name (status, q, kind, cost, sort, page)",
        }
        for query, text in refusals.items():
            with pytest.raises(MCPError, match=re.escape(text)):
                await client.read_resource(f"replan://runs{query}")


async def test_scopes_of_tokens_hold_for_tools(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home:
        async with home.client("control") as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            [question] = (await at_rest(client, run))["questions"]
        fill, shown = answering(filled(ANSWER))
        async with home.client("read", elicitation_callback=fill) as client:
            assert (await called(client, "wait", id=run))["status"] == "waiting"
            assert shown == []
            for tool, arguments in (
                ("plan", {"problem": "x"}),
                ("answer", {"question": question["id"], "answer": "x"}),
                ("tell", {"id": run, "text": "x"}),
                ("cancel", {"id": run}),
            ):
                assert "needs the scope" in await refused(client, tool, **arguments)
        async with home.client("answer") as client:
            assert "needs the scope control" in await refused(client, "cancel", id=run)
            assert (await called(client, "answer", question=question["id"], answer=ANSWER))["result"] == "accepted"


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_is_declined_closed_or_shown_again_where_its_answer_does_not_fit(tmp_path, monkeypatch, era):
    asking = {**PLANS, "g_analysis": [{**ANALYSIS, "open_questions": [CHOICE]}, ANALYSIS, ANALYSIS]}
    async with served(tmp_path, monkeypatch, scripts={"choice": asking}) as home:
        fill, shown = answering(filled("2.7"), ElicitResult(action="cancel"))
        async with home.client(mode=era, elicitation_callback=fill) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="choice"))["run_id"]
            assert (await called(client, "wait", id=run))["status"] == "waiting"
            assert shown[0].requested_schema["properties"]["answer"]["enum"] == ["3.11", "3.12"]
            assert shown[1].message.startswith("The last answer does not fit")
        fill, shown = answering(ElicitResult(action="decline"))
        async with home.client(name="other", mode=era, elicitation_callback=fill) as client:
            assert (await called(client, "wait", id=run))["outcome"] == "success"
            assert len(shown) == 1


async def test_a_form_that_was_answered_elsewhere_is_taken_back_from_an_older_client(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "STEP_SECONDS", 0.05)
    async with served(tmp_path, monkeypatch) as home:

        async def never(context, params):
            await home.engine.answer(f"{run}/q1", ANSWER, via="cli")
            await trio.sleep_forever()

        async with home.client(mode="legacy", elicitation_callback=never) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            with trio.fail_after(300):
                assert (await called(client, "wait", id=run))["outcome"] == "success"


@pytest.mark.parametrize("passing", [True, False])
async def test_a_journal_that_fails_while_a_form_is_shown_ends_the_call_with_its_error_unless_it_passes(
    tmp_path, monkeypatch, passing
):
    """An older client's form stays open over a fault that passes."""
    real, wrong = asking.open_questions, False

    async def failing(call, run):
        if wrong:
            error = JournalError("the journal is on fire")
            error.passing = passing
            raise error
        return await real(call, run)

    async def fill(context, form):
        nonlocal wrong
        wrong = True
        await trio.sleep(0.3 if passing else 60)
        wrong = False
        return filled(ANSWER)

    monkeypatch.setattr(asking, "STEP_SECONDS", 0.05)
    monkeypatch.setattr(asking, "open_questions", failing)
    async with served(tmp_path, monkeypatch) as home, home.client(mode="legacy", elicitation_callback=fill) as client:
        run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
        with trio.fail_after(300):
            result = await client.call_tool("wait", {"id": run})
    if passing:
        assert result.structured_content["outcome"] == "success"
    else:
        assert result.is_error
        assert "the journal is on fire" in result.content[0].text


async def test_what_is_sealed_is_refused_from_another_client_for_another_run_and_when_it_was_changed(
    tmp_path, monkeypatch
):
    async with served(tmp_path, monkeypatch) as home:
        async with home.client(elicitation_callback=answering()[0]) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            other = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
            asked = await first_form(client, run)
            forms = {"q1": filled(ANSWER)}
            for state, arguments in (
                (asked.request_state[:-2] + "AA", {"id": run}),
                (asked.request_state, {"id": other}),
                ("v1.AAAA", {"id": run}),
            ):
                with pytest.raises(MCPError):
                    await client.session.call_tool("wait", arguments, input_responses=forms, request_state=state)
            strange = {"q9": filled(ANSWER)}
            result = await client.session.call_tool(
                "wait", {"id": run}, input_responses=strange, request_state=asked.request_state
            )
            assert result.is_error
        async with home.client(name="other", elicitation_callback=answering()[0]) as client:
            with pytest.raises(MCPError):
                await client.session.call_tool(
                    "wait", {"id": run}, input_responses=forms, request_state=asked.request_state
                )
        assert (await home.engine.result(run)).status == "waiting"


def test_the_key_of_the_seal_is_private_and_stays(tmp_path):
    one, other = security(tmp_path), security(tmp_path)
    assert other.codec.unseal(one.codec.seal(b"text")) == b"text"
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    (tmp_path / NAME).chmod(0o644)
    with pytest.raises(UsageProblem, match="belongs to another user, or other users"):
        security(tmp_path)
    (tmp_path / NAME).chmod(0o600)
    (tmp_path / NAME).write_bytes(b"short")
    with pytest.raises(UsageProblem, match="instead of 32"):
        security(tmp_path)


async def test_only_a_person_answers_a_review_and_a_form_never_shows_it(tmp_path, monkeypatch):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    scripts = {"one": {"g_plan": [PLAN, PLAN]}}
    async with served(tmp_path, monkeypatch, scripts=scripts, workflows={"reviewed": str(workflow)}) as home:
        fill, shown = answering(filled("approve"))
        async with home.client(elicitation_callback=fill) as client:
            run = (await called(client, "plan", problem=PROBLEM, workflow="reviewed", model="one"))["run_id"]
            state = await at_rest(client, run)
            [question] = state["questions"]
            assert question["people_only"] is True
            assert "artifact" not in question
            assert "a person has to answer" in state["next"]
            assert shown == []
            assert "only a person" in await refused(client, "answer", question=question["id"], answer="approve")


async def test_without_a_host_status_says_that_nobody_drives_the_run(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        state = await called(client, "wait", id=run)
        assert (state["status"], state["driven"]) == ("parked", False)
        assert "no process drives this run" in state["next"]
        assert (await called(client, "cancel", id=run))["cancelled"] is True
        assert (await called(client, "status", id=run))["outcome"] == "cancelled"


async def test_wait_returns_after_the_seconds_that_it_was_given(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        monkeypatch.setattr("replan_server.service.service.is_at_rest", lambda *_: False)
        begun = trio.current_time()
        await called(client, "wait", id=run, seconds=0.2)
        assert 0.2 <= trio.current_time() - begun < 20
        assert "seconds" in await refused(client, "wait", id=run, seconds=51)
