"""The pages of executions: the live checklist, the plan's graph, and their documents."""

import json
import re
from contextlib import asynccontextmanager

import pytest
import trio

from packages.server.tests.long.web.browsing import check_accessible, check_quiet, signed_in
from packages.server.tests.web.test_api import Program
from packages.server.tests.web.world import PLANS, served
from tests.cli.samples import PLAN, write_script
from tests.long.cli.test_execution_story import ACTIONS, TOOLS, goal, plan, step
from tests.tidy.source import ROOT

GOAL = "EV charging stations for apartment buildings in Portugal"


@pytest.fixture
def replan(warm):
    """Run a command as a process of its own, in the test's home; return what it prints, as JSON."""

    async def run(*arguments, exit_codes=(0,)):
        command = [warm / "replan", *map(str, arguments), "--json"]
        done = await trio.run_process(command, cwd=ROOT, capture_stdout=True, capture_stderr=True, check=False)
        assert done.returncode in exit_codes, done.stderr.decode()
        return json.loads(done.stdout)

    return run


def write_tools(folder, value):
    """Write a plan and tools, and return the arguments that execute it."""
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "actions.py").write_text(ACTIONS)
    (folder / "work").mkdir()
    (folder / "plan.json").write_text(json.dumps(value))
    model = write_script(folder, {"g_plan": []}, "nothing.yaml")
    places = "--tools", folder / "tools.yaml", "--workspace", folder / "work"
    return "execute", folder / "plan.json", *places, "-w", "single", "-m", model


@asynccontextmanager
async def executing(replan, folder, value):
    """Execute a plan in a process of its own for the length of a block."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(replan, *write_tools(folder, value))
        yield
        (folder / "work" / "go").touch()


def statuses(page):
    """Return the status of each step of the checklist, by its id or its title."""
    found = re.findall(r'<li class="is-(\w+)">.*?class="what">(.*?)</span>', page, re.DOTALL)
    return {name: state for state, name in found}


async def until(look):
    with trio.fail_after(300):
        while True:
            if found := await look():
                return found
            await trio.sleep(0.05)


SLOW = plan(
    step("one", "make_a", ["a"]),
    step("two", "slow", ["b"], dependencies=["one"]),
    step("three", "make_b", ["c"], dependencies=["two"], preconditions=["b"]),
    goals=("a", "c"),
    requirements=[goal("a")],
)


async def test_the_checklist_of_an_execution_follows_its_steps_without_a_reload(tmp_path, browser, replan):
    async with served(tmp_path, hosts=False) as web, executing(replan, tmp_path, SLOW):
        run = (await until(web.reader_rows))[0][0].run
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}")
        await page.until("document.querySelector('.checklist .is-current')?.innerText.includes('two')")
        assert await page.evaluate("document.querySelectorAll('.checklist .is-current').length") == 1
        await page.evaluate("window.marked = true")
        await check_accessible(page)
        await page.click("#tab-graph")
        await page.until("document.querySelectorAll('.graph .current').length === 1")
        assert await page.evaluate("document.querySelectorAll('.graph .done').length") == 1
        await page.click("#tab-plan")
        (tmp_path / "work" / "go").touch()
        await page.sees("3 of 3 steps done")
        assert await page.evaluate("document.querySelectorAll('ol.checklist .is-done').length") == 3
        assert await page.evaluate("document.querySelectorAll('ul.checklist .is-done').length") == 1
        assert await page.evaluate("window.marked"), "the page was loaded again"
        check_quiet(page, web)


async def test_a_finished_execution_shows_what_failed_what_was_taken_and_its_plan_as_files(tmp_path, replan):
    async with served(tmp_path, hosts=False) as web:
        done = await replan("execute", "--example", "repair", "--workspace", tmp_path / "repair")
        page = await web.run_page(done["run_id"])
        assert "3 of 4 steps done, 1 failed" in page
        found = statuses(page)
        assert found["Write the fix"] == "failed"
        assert found["Write a better fix, with the report at hand"] == "done"
        assert "step.check_failed" in page
        assert 'class="recovery taken"' in page
        for shown in re.findall(r'<details id="output-.*?</details>', page, re.DOTALL):
            (whole,) = re.findall(r'href="(/runs/[^"]+)"', shown)
            assert "Output of" in (await web.browser.get(whole)).text
        assert {"✓", "✗"} <= set(re.findall(r'aria-hidden="true">([✓✗])</span> <strong>', page))
        assert "Search" not in re.findall(r'<h2 id="h-tree">(.*?)</h2>', page)
        for form in ("json", "markdown", "github-checklist", "mermaid"):
            assert (await web.browser.get(f"/runs/{done['run_id']}/export/{form}")).status_code == 200


async def test_an_approval_is_answered_on_the_page_while_the_checklist_says_what_waits(tmp_path, replan):
    tools = TOOLS.replace("make: {risk: none,", "make: {risk: risky,")
    async with served(tmp_path, hosts=False) as web:
        arguments = write_tools(tmp_path, plan(step("one", "make_a", ["a"]), goals=("a",)))
        (tmp_path / "tools.yaml").write_text(tools)
        asked = await replan(*arguments, "--no-input", exit_codes=(6,))
        page = (await web.browser.get(f"/runs/{asked['run_id']}")).text
        assert statuses(page)["one"] == "waiting"
        assert 'name="picked"' in page
        assert 'value="decline"' not in page, "that is the same as no"
        assert "No process drives this run now" in page


async def test_a_planning_run_and_the_execution_of_its_plan_lead_to_each_other(tmp_path, replan):
    loose = {**PLANS, "g_plan": [{**PLAN, "steps": [step("one", "make_a", ["fixed"], preconditions=["bug"])]}]}
    async with served(tmp_path, hosts=False, scripts={"loose": loose}) as web:
        run = await web.start("loose")
        await web.engine.resume(run)
        arguments = write_tools(tmp_path, {})
        done = await replan("execute", run, *arguments[2:], exit_codes=(0, 3, 6))
        assert f'href="/runs/{done["run_id"]}"' in (await web.browser.get(f"/runs/{run}")).text
        page = (await web.browser.get(f"/runs/{done['run_id']}")).text
        assert f'made from <a class="mono" title="{run}" href="/runs/{run}"' in page


SETS = {"all": {"file": "../tools.yaml", "workspace": "../work"}}
"""The tool sets that clients may use, from the home's folder."""


async def test_a_plan_is_executed_from_the_page_only_where_the_server_was_told_to_allow_it(tmp_path):
    loose = {**PLANS, "g_plan": [{**PLAN, "steps": [step("one", "make_a", ["fixed"], preconditions=["bug"])]}]}
    write_tools(tmp_path, {})
    options = {"scripts": {"loose": loose}, "tools": SETS}
    async with served(tmp_path, **options) as web:
        run = await web.start("loose")
        await web.settled(run, "finished")
        assert "/new/execution" not in (await web.browser.get(f"/runs/{run}")).text
        assert (await web.browser.get("/new/execution")).status_code == 403
        assert (await web.post("/executions", {"plan_of": run, "tools": "all"})).status_code == 403
        program = Program(web)
        assert (await program.post("/api/executions", {"plan_of": run, "tools": "all"})).status_code == 403
        assert (await program.get("/api/offer")).json()["tools"] == []
    async with served(tmp_path, allow_execute=True, **options) as web:
        assert f"/new/execution?plan_of={run}" in (await web.browser.get(f"/runs/{run}")).text
        assert f'value="{run}"' in (await web.browser.get(f"/new/execution?plan_of={run}")).text
        for tools in ("", "none", "../tools.yaml", "/etc/passwd"):
            assert (await web.post("/executions", {"plan_of": run, "tools": tools})).status_code == 422
        for plan_of in ("", "../plan.json", str(tmp_path / "plan.json"), "http://127.0.0.1/plan.json"):
            assert (await web.post("/executions", {"plan_of": plan_of, "tools": "all"})).status_code in (404, 422)
        started = await web.post("/executions", {"plan_of": run, "tools": "all", "model": "template:bug"})
        execution = started.headers["location"].split("/")[2].partition("?")[0]
        await web.settled(execution, "finished")
        assert statuses((await web.browser.get(f"/runs/{execution}")).text)["one"] == "done"


async def test_a_program_starts_executions_by_names_and_each_once(tmp_path):
    loose = {**PLANS, "g_plan": [{**PLAN, "steps": [step("one", "make_a", ["fixed"], preconditions=["bug"])]}]}
    write_tools(tmp_path, {})
    options = {"scripts": {"loose": loose}, "tools": SETS}
    async with served(tmp_path, hosts=False, allow_execute=True, **options) as web:
        program = Program(web)
        offer = (await program.get("/api/offer")).json()
        assert offer["tools"] == ["all"]
        assert "tools.yaml" not in json.dumps(offer)
        run = await web.start("loose")
        await web.engine.resume(run)
        order = {"plan_of": run, "tools": "all", "model": "template:bug"}
        answers = [await program.post("/api/executions", order) for _ in range(2)]
        assert [each.status_code for each in answers] == [201, 200], answers[0].text
        for name, value in (("tools", "/etc"), ("plan_of", "abcdefgh"), ("plan", {}), ("workspace", "/")):
            assert (await program.post("/api/executions", {**order, name: value}, key=name)).status_code in (404, 422)
        assert len(await web.reader_rows()) == 2


async def test_a_client_cannot_have_more_runs_under_way_by_going_on_with_those_that_ended(tmp_path):
    async with served(tmp_path, hosts=False, runs_at_once=1) as web:
        program = Program(web)
        order = {"problem": "# Login fails\n\nThe login fails.", "model": "plans", "max_calls": 2, "at_limit": "stop"}
        first = (await program.post("/api/runs", order, key="1")).json()["run_id"]
        await web.engine.resume(first)
        assert (await web.engine.result(first)).outcome == "budget_exhausted"
        assert (await program.post("/api/runs", order, key="2")).status_code == 201
        answer = await program.post(f"/api/runs/{first}/limits", {"max_calls": 20})
        assert answer.status_code == 429
        assert "the message is recorded" in answer.json()["error"]["message"]
        assert (await program.post(f"/api/runs/{first}/resume")).status_code == 429
        assert (await program.post(f"/api/runs/{first}/messages", {"text": "Use 3.12"})).status_code in (200, 429)


async def test_the_prompt_and_reply_of_each_model_call_of_any_kind_are_shown(tmp_path, replan):
    async with served(tmp_path, hosts=False) as web:
        done = await replan("execute", "--example", "repair", "--workspace", tmp_path / "repair")
        await check_prompts(web, done["run_id"], "basket")


async def check_prompts(web, run, text):
    """Check the page of each model call of a run: its prompt has the text, and its reply is shown."""
    page = (await web.browser.get(f"/runs/{run}?tab=search")).text
    nodes = re.findall(rf'<li><a title="[^"]+" href="(/runs/{run}/attempts/[^"]+)"', page)
    assert nodes
    for node in nodes:
        shown = await web.browser.get(node)
        assert shown.status_code == 200
        assert "Reply to" in shown.text
        assert "not the exact messages" not in shown.text
        assert text in shown.text
