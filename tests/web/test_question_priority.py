"""Every face lists questions by their priority, and shows one that is not normal."""

import json
import re

import pytest
import trio
from click.testing import CliRunner

from replan.cli.app import app
from tests.cli.samples import PLAN, PROBLEM
from tests.mcp.world import called
from tests.mcp.world import served as served_mcp
from tests.web.test_hostile_texts import REVIEWED
from tests.web.world import served

SCRIPTS = {"reviewed": {"g_plan": [PLAN]}}


async def on_the_page(web):
    page = (await web.browser.get("/")).text
    assert page.count("high priority") == 1
    return re.findall(r'id="question-(\w+)-q1"', page)


async def over_http(web):
    answer = await web.client.get("/api/questions", headers=web.token("read"))
    return named(answer.json()["questions"])


async def on_the_command_line(web):
    del web
    listed, shown = [
        await trio.to_thread.run_sync(CliRunner().invoke, app, ["questions", *options]) for options in ([], ["--json"])
    ]
    assert listed.stdout.count("Priority: high.") == 1
    order = named(json.loads(shown.stdout)["questions"])
    assert re.findall(r"^(\w+)/q1 ", listed.stdout, re.MULTILINE) == order
    return order


def named(questions):
    """Return the runs of questions in their order; the first is of high priority, and the others are normal."""
    assert [each["priority"] for each in questions] == ["high", "normal"]
    return [each["run_id"] for each in questions]


FACES = {"command line": on_the_command_line, "page": on_the_page, "HTTP": over_http}


@pytest.mark.parametrize("face", FACES)
async def test_a_face_lists_an_approval_before_an_older_question(tmp_path, face):
    workflow = tmp_path / "workflow.yaml"
    workflow.write_text(REVIEWED)
    async with served(tmp_path, hosts=False, scripts=SCRIPTS, workflows={"reviewed": str(workflow)}) as web:
        older, newer = await web.start("asks"), await web.start("reviewed", workflow="reviewed")
        for run in (older, newer):
            await web.engine.resume(run)
        assert await FACES[face](web) == [newer, older]


async def test_mcp_lists_an_approval_before_an_older_question(tmp_path, monkeypatch):
    workflow = tmp_path / "workflow.yaml"
    workflow.write_text(REVIEWED)
    options = {"scripts": SCRIPTS, "workflows": {"reviewed": str(workflow)}}
    async with served_mcp(tmp_path, monkeypatch, hosts=False, **options) as home, home.client() as client:
        order = {"problem": PROBLEM, "model": "reviewed", "workflow": "reviewed"}
        runs = [
            (await called(client, "plan", **each))["run_id"]
            for each in ({**order, "model": "asks", "workflow": "search"}, order)
        ]
        for run in runs:
            await home.engine.resume(run)
        assert named((await called(client, "questions"))["questions"]) == runs[::-1]
