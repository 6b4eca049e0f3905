"""A client has a plan executed: with a tool set of the settings, whose tool is one of an MCP server itself."""

import json
import sys
from pathlib import Path

from packages.server.tests.mcp.world import answering, at_rest, called, filled, refused, served
from tests.cli.samples import PROBLEM

PROGRAM = Path(__file__).parents[5] / "tests" / "tools" / "mcp_program.py"
TOOLS = """
mcp_servers:
  tracker: {{command: {words}}}
tools:
  ticket:
    mcp: {{server: tracker, tool: create, arguments: {{title: Fix it}}}}
    risk: {risk}
  check:
    mcp: {{server: tracker, tool: create, arguments: {{title: Look}}}}
    risk: none
generators: {{g: ticket}}
guards: {{human: check, syntax: check}}
"""


def settings(folder, risk):
    """Write a tools file, and return what the settings say of it."""
    words = json.dumps([sys.executable, "-I", str(PROGRAM), "good"])
    (folder / "tools.yaml").write_text(TOOLS.format(words=words, risk=risk))
    (folder / "work").mkdir()
    return {"tickets": {"file": str(folder / "tools.yaml"), "workspace": str(folder / "work")}}


async def test_a_plan_is_executed_with_a_tool_set_of_the_settings(tmp_path, monkeypatch):
    sets = settings(tmp_path, "none")
    async with served(tmp_path, monkeypatch, allow_execute=True, tools=sets) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        assert (await at_rest(client, run))["outcome"] == "success"
        execution = (await called(client, "execute", id=run, tools="tickets", model="template:bug"))["run_id"]
        state = await at_rest(client, execution)
        assert (state["kind"], state["outcome"]) == ("execution", "success")
        [content] = (await client.read_resource(f"replan://runs/{execution}/plan")).contents
        assert json.loads(content.text)["plan_id"] == "p1"
        assert "no tool set 'others'" in await refused(client, "execute", id=run, tools="others")


async def test_no_client_approves_a_step(tmp_path, monkeypatch):
    sets = settings(tmp_path, "risky")
    async with served(tmp_path, monkeypatch, allow_execute=True, tools=sets) as home:
        fill, shown = answering(filled("yes"), filled(answer=True))
        async with home.client(elicitation_callback=fill) as client:
            run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
            assert (await at_rest(client, run))["outcome"] == "success"
            execution = (await called(client, "execute", id=run, tools="tickets", model="template:bug"))["run_id"]
            state = await at_rest(client, execution)
            [question] = state["questions"]
            assert question["text"].startswith("May the step 'find'")
            assert (question["people_only"], shown) == (True, [])
            assert "only a person" in await refused(client, "answer", question=question["id"], answer="yes")
            assert "only a person" in await refused(client, "answer", question=question["id"], decline=True)
        await home.engine.answer(question["id"], "yes", via="web")
