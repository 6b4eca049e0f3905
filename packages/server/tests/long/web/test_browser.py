"""A person's work in a real browser (Chromium): start, watch, answer, raise a limit, cancel; also without scripts."""

import json
import os
import subprocess
from importlib.util import find_spec

import trio

from packages.server.tests.long.web.browsing import check_accessible, check_quiet, signed_in
from packages.server.tests.web.world import PLANS, served
from replan.runs.executing import ExecutionOptions, prepare_to_execute, read_plan_file
from replan.runs.kind_interface import installed_interfaces
from replan.runs.shipped_examples import example_named
from replan_server.web.run_page import LISTS
from tests.cli.samples import ANALYSIS, ASKING, BACKTRACKS, PLAN, RECON, delayed_reply, write_script
from tests.tidy.source import ROOT

ASKS_RECON = {**RECON, "open_questions": ["Which database is it?"]}
TWO = {
    **PLANS,
    "g_analysis": [ASKING, *[ANALYSIS] * 3],
    "g_recon": [delayed_reply(ASKS_RECON, seconds=1.0), *[RECON] * 3],
}
"""A script in which two steps ask, the analysis first."""
SLOW = {step: [delayed_reply(reply, seconds=0.3) for reply in replies] for step, replies in BACKTRACKS.items()}
"""A script whose search grows while one looks on."""
FIND, *_ = PLAN["steps"]
SIDES = [f"side{number}" for number in range(9)]
WIDE = {
    **PLAN,
    "goal_state": SIDES,
    "total_retry_budget": 20,
    "steps": [
        {**FIND, "on_failure": "escalate", "failure_effects": []},
        *(
            {
                **FIND,
                "step_id": each,
                "name": each,
                "dependencies": ["find"],
                "preconditions": ["known"],
                "effects": [each],
                "on_failure": "escalate",
                "failure_effects": [],
            }
            for each in SIDES
        ),
    ],
}
"""A plan whose graph is wider than any screen: nine steps beside each other below the first one."""
PROBLEM = "The login fails with a timeout when the session store is slow."


async def test_a_run_is_started_watched_answered_and_cancelled_on_the_page(tmp_path, browser):
    async with served(tmp_path, scripts={"slow": SLOW, "two": TWO}, signed_in=False) as web:
        page = await browser.page()
        await page.go(f"{web.address}/sign-in")
        await page.evaluate(f"location.hash = '{web.sign_in_token}'")  # In the same tab, which loads nothing.
        await page.sees("Nothing waits for you.")
        assert web.sign_in_token not in str(page.requests)

        await page.go(f"{web.address}/new")
        await page.type("#problem", PROBLEM)
        await page.evaluate("document.querySelector('#model').value = 'slow'")
        await page.click("#new button.main")
        await page.sees("The run is recorded.")
        await page.evaluate("window.marked = true")
        await page.sees("analysis")
        await page.click("#tab-search")
        await page.sees("back to analysis, recon because of")
        await page.sees("every guard passed")
        await page.click("#tab-graph")
        await page.until("document.querySelectorAll('.graph rect').length === 3")
        assert await page.evaluate("window.marked"), "the page was loaded again"

        asking = await web.start("two")
        await page.go(f"{web.address}/")
        await page.sees("Which database is it?")
        await page.sees("Which version is it?")
        await page.type(f"#typed-{asking}-q1", "not sent yet")
        last = f"#typed-{asking}-q2"
        await page.type(last, "Postgres 16")
        await page.click(f"#form-{asking}-q2 button.main")
        await page.sees("The answer is recorded.")
        assert "Which database is it?" not in await page.text()
        await page.type(f"#typed-{asking}-q1", "3.12")
        await page.press("Tab", 9)
        await page.press("Enter", 13)
        await page.sees("Nothing waits for you.")
        await web.settled(asking, "finished")

        limited = await web.start("plans", limits={"max_calls": 2})
        await web.settled(limited, "finished")
        await page.go(f"{web.address}/runs/{limited}")
        await page.sees("budget_exhausted")
        await page.evaluate("document.querySelector('#limits').open = true")
        await page.type("#max_calls", "12")
        await page.click("#form-limits button.main")
        await page.sees("every guard passed")

        cancelled = await web.start("asks")
        await web.settled(cancelled, "waiting")
        await page.go(f"{web.address}/runs/{cancelled}")
        await page.evaluate("document.querySelector('#cancel').open = true")
        await page.click("#form-cancel input[name=sure]")
        await page.click("#form-cancel button")
        await page.sees("The run is cancelled.")
        check_quiet(page, web)


async def test_everything_works_without_scripts(tmp_path, browser):
    async with served(tmp_path, signed_in=False) as web:
        page = await browser.page(script=False, width=375)
        await page.go(f"{web.address}/sign-in")
        await page.type("#token", f"{web.address}/sign-in#{web.sign_in_token}")
        await page.click("#sign-in button.main")
        await page.sees("Nothing waits for you.")
        await page.go(f"{web.address}/new")
        await page.type("#problem", PROBLEM)
        await page.evaluate("document.querySelector('#model').value = 'asks'")
        await page.click("#new button.main")
        await page.sees("The run is recorded.")
        run = (await page.evaluate("location.pathname")).rpartition("/")[2]
        await web.settled(run, "waiting")
        await page.go(f"{web.address}/")
        await page.type(f"#typed-{run}-q1", "3.12")
        await page.click(f"#form-{run}-q1 button.main")
        await page.sees("The answer is recorded.")
        await web.settled(run, "finished")
        await page.go(f"{web.address}/runs/{run}")
        await page.sees("every guard passed")
        check_quiet(page, web)


async def test_a_graph_that_is_wider_than_the_screen_opens_at_its_first_box(tmp_path, browser):
    place = """(() => {
      const graph = document.querySelector('.graph').getBoundingClientRect();
      const box = document.querySelector('.graph g').getBoundingClientRect();
      return [box.left >= graph.left && box.right <= graph.right, document.querySelector('.graph').scrollLeft, scrollY];
    })()"""
    async with served(tmp_path, scripts={"wide": {**PLANS, "g_plan": [WIDE]}}) as web:
        run = await web.start("wide")
        assert (await web.settled(run, "finished")).outcome == "success"
        page = await signed_in(browser, web, width=375)
        for width in (375, 1100):
            await page.look(width=width)
            await page.go(f"{web.address}/runs/{run}?tab=graph")
            await page.sees("every guard passed")
            seen, left, top = await page.evaluate(place)
            assert (seen, top) == (True, 0)
            assert left > 300
        check_quiet(page, web)


async def test_two_browsers_see_each_others_work_and_keep_what_is_typed(tmp_path, browser):
    async with served(tmp_path, scripts={"two": TWO}) as web:
        run = await web.start("two")
        await web.settled(run, "waiting")
        one, two = await signed_in(browser, web), await signed_in(browser, web)
        for page in (one, two):
            await page.go(f"{web.address}/runs/{run}")
            await page.sees("Which database is it?")
        await two.type(f"#typed-{run}-q1", "half an answ")
        await one.type(f"#typed-{run}-q2", "Postgres 16")
        await one.click(f"#form-{run}-q2 button.main")
        await two.until(f"!document.querySelector('#form-{run}-q2')")
        assert await two.evaluate(f"document.querySelector('#typed-{run}-q1').value") == "half an answ"
        await one.type(f"#typed-{run}-q1", "3.12")
        await one.click(f"#form-{run}-q1 button.main")
        await two.sees("every guard passed")
        for page in (one, two):
            check_quiet(page, web)


async def test_every_page_is_accessible_in_light_and_dark_and_on_a_narrow_screen(tmp_path, browser):
    async with served(tmp_path, scripts={"two": TWO, "backtracks": BACKTRACKS}) as web:
        run, asking = await web.start("backtracks"), await web.start("two")
        await web.settled(run, "finished")
        await web.settled(asking, "waiting")
        paths = [
            "/",
            "/runs",
            "/new",
            *(f"/runs/{run}?tab={tab}" for tab in LISTS),
            f"/runs/{asking}",
            f"/runs/{run}/records",
            "/runs?q=nothing",
        ]
        paths += [
            *(f"/new/{interface.kind}" for interface in installed_interfaces()),
            f"/runs/{run}/attempts/g_plan/v1.a1",
            f"/questions/{asking}/q1",
        ]
        paths += [
            f"/runs/{name}?tab={tab}" for name in await of_other_kinds(web, tmp_path / "project") for tab in LISTS
        ]
        page = await signed_in(browser, web)
        for path in paths:
            await page.go(f"{web.address}{path}")
            await check_accessible(page)
        check_quiet(page, web)
        stranger = await browser.page()
        for path in ("/sign-in", "/nothing"):
            await stranger.go(f"{web.address}{path}")
            await check_accessible(stranger)


async def of_other_kinds(web, workspace):
    """Begin an execution, and an acquisition where its package is installed, that wait for a person; return the ids."""
    options = {"registry": web.engine.registry, "environment": os.environ}
    example = example_named("repair")
    example.copy_project(workspace)
    chosen = ExecutionOptions(tools=example.tools, workspace=str(workspace), approval="each", workflow="single")
    execution = prepare_to_execute(read_plan_file(example.plan), chosen, example.model, **options)
    waiting = [execution]
    if find_spec("replan_acquire"):
        from replan_acquire.acquiring import prepare_to_acquire
        from replan_acquire.acquisition.prepare import AcquisitionInput

        wish = AcquisitionInput(goal="EV charging stations in Portugal", profile="market_size")
        waiting.append(prepare_to_acquire(wish, str(ROOT / "docs" / "examples" / "market"), "quoting:", **options))
    results = [await web.engine.begin(prepared.request) for prepared in waiting]
    assert {result.status for result in results} == {"waiting"}
    return [result.run_id for result in results]


async def test_a_page_that_is_older_than_its_stream_renews_itself(tmp_path, browser):
    """As one that was read just before a record was written, and whose stream began just after."""
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        page = await signed_in(browser, web)
        for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/records"):
            await page.go(f"{web.address}{path}")
            await page.evaluate("window.marked = true; dispatchEvent(new Event('pagehide'))")
            cursor = await page.evaluate("document.getElementById('live').dataset.cursor")
            await page.evaluate("document.getElementById('live').innerHTML = 'old'")
            await page.evaluate("document.getElementById('live').dataset.cursor = 'old'")
            await page.evaluate("dispatchEvent(new Event('pageshow'))")
            await page.until(f"document.getElementById('live').dataset.cursor === {json.dumps(cursor)}")
            assert await page.evaluate("document.getElementById('live').innerText !== 'old' && window.marked"), path
        check_quiet(page, web)


async def test_after_a_server_was_killed_the_pages_of_the_next_show_what_was_answered_meanwhile(
    tmp_path, browser, commands
):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    model = write_script(tmp_path, TWO)
    (home / "config.yaml").write_text(f"clients:\n  models:\n    two: {model}\n")

    def start(port):
        command = [commands.folder / "replan", "serve", "--port", str(port), "--json"]
        server = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE)
        address = server.stdout.readline().decode().partition('"url": "')[2].partition('"')[0]
        return server, address

    server, address = await trio.to_thread.run_sync(start, 0)
    try:
        base, port = address.partition("/sign-in")[0], int(address.partition("/sign-in")[0].rpartition(":")[2])
        page = await browser.page()
        await page.go(address)
        await page.sees("Nothing waits for you.")
        await page.go(f"{base}/new")
        await page.type("#problem", PROBLEM)
        await page.evaluate("document.querySelector('#model').value = 'two'")
        await page.click("#new button.main")
        await page.sees("Which database is it?")
        await page.evaluate("window.marked = true")
        commands.kill(server.pid)
        server.wait()
        server.stdout.close()
        await page.sees("The server cannot be reached.")
        run = (await page.evaluate("location.pathname")).rpartition("/")[2]
        answer = [commands.folder / "replan", "answer", f"{run}/q2", "Postgres"]
        await trio.run_process(answer, cwd=ROOT, capture_stderr=True)
        server, address = await trio.to_thread.run_sync(start, port)
        assert address.partition("/sign-in")[0] != base, "the name of the pages that an open page knows still holds"
        assert await page.evaluate("window.marked && !document.querySelector('#offline').hidden")
        await page.go(base)
        await page.sees("this server has another host name")
        await page.go(address)
        await page.until("location.pathname === '/'")
        await page.go(f"{address.partition('/sign-in')[0]}/runs/{run}")
        await page.until(f"document.querySelector('#live') && !document.querySelector('#form-{run}-q2')")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
