"""The page of a run in a real browser (Chromium): its height, and its tabs by keyboard, without scripts, and live."""

import os

import pytest

from actors.planning.prepare import PlanningInput
from packages.server.tests.long.web.browsing import check_quiet, signed_in
from packages.server.tests.web.world import served
from replan.runs.executing import ExecutionOptions, prepare_to_execute, read_plan_file
from replan.runs.prepare import RunOrder, prepare
from replan.runs.shipped_examples import example_named
from tests.cli.samples import BACKTRACKS
from tests.tidy.source import ROOT

SCREENS = 2 * 900
"""The height of two screens."""
EXAMPLES = sorted(path.parent.name for path in (ROOT / "configs" / "examples").glob("*/plan.json"))
PROBLEMS = sorted((ROOT / "configs" / "problems").glob("*.md"))
HEIGHT = "document.documentElement.scrollHeight"


async def show_page(browser, web, request):
    """Carry out a run, and return the height of its page on a wide screen, before anything is unfolded."""
    run = (await web.engine.begin(request)).run_id
    page = await signed_in(browser, web, width=1280, height=900)
    await page.go(f"{web.address}/runs/{run}")
    await page.sees("Records")
    check_quiet(page, web)
    return await page.evaluate(HEIGHT)


@pytest.mark.parametrize("approval", ["none", "each"])
async def test_the_page_of_an_executed_example_has_at_most_two_screens(tmp_path, browser, approval):
    """Also while it waits for an approval."""
    async with served(tmp_path, hosts=False) as web:
        options = {"registry": web.engine.registry, "environment": os.environ}
        for name in EXAMPLES:
            example = example_named(name)
            example.copy_project(tmp_path / name)
            chosen = ExecutionOptions(tools=example.tools, workspace=str(tmp_path / name), approval=approval)
            prepared = prepare_to_execute(read_plan_file(example.plan), chosen, example.model, **options)
            assert await show_page(browser, web, prepared.request) <= SCREENS, name


async def test_the_page_of_a_planned_problem_has_at_most_two_screens(tmp_path, browser):
    async with served(tmp_path, hosts=False) as web:
        for problem in PROBLEMS:
            order = RunOrder(PlanningInput(problem.read_text(encoding="utf-8")), "template:bug")
            prepared = prepare(order, registry=web.engine.registry, environment=os.environ)
            assert await show_page(browser, web, prepared.request) <= SCREENS, problem.name


async def test_a_tab_opens_by_keyboard_in_place_and_the_way_back_leads_to_the_one_before(tmp_path, browser):
    """What was typed stays, and so does the focus."""
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}")
        await page.type(f"#typed-{run}-q1", "half an answer")
        await page.evaluate("window.marked = true; document.querySelector('#tab-plan').focus()")
        await page.press("Tab", 9)
        await page.press("Tab", 9)
        assert await page.evaluate("document.activeElement.id") == "tab-timeline"
        await page.press("Enter", 13)
        await page.until("document.querySelector('.lane')")
        assert await page.evaluate("document.activeElement.id") == "tab-timeline"
        assert await page.evaluate("document.querySelector('.tabs [aria-current=page]').id") == "tab-timeline"
        assert await page.evaluate("location.search") == "?tab=timeline"
        await page.evaluate("history.back()")
        await page.until("document.querySelector('#live').dataset.tab === 'plan'")
        assert await page.evaluate(f"document.querySelector('#typed-{run}-q1').value") == "half an answer"
        assert await page.evaluate("window.marked"), "the page was loaded again"
        check_quiet(page, web)


async def test_the_tabs_and_the_steps_unfold_without_scripts(tmp_path, browser):
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        page = await signed_in(browser, web, script=False, width=390)
        await page.go(f"{web.address}/runs/{run}")
        seen = "document.querySelector('#step-find .lines').checkVisibility()"
        assert not await page.evaluate(seen)
        await page.click("#step-find summary")
        assert await page.evaluate(seen)
        for name, part in {"graph": ".graph", "timeline": ".lane", "search": ".tree a", "records": "#record-1"}.items():
            assert not await page.evaluate(f"Boolean(document.querySelector('{part}'))")
            await page.click(f".tabs a[href*='{name}']")
            await page.until(f"document.querySelector('{part}')")
        await page.click(".tabs a")
        await page.until("document.querySelector('#step-find')")
        check_quiet(page, web)


async def test_the_open_tab_and_what_is_open_in_it_stay_while_the_page_renews_itself(tmp_path, browser):
    """And a folded part keeps the focus. The run waits for an answer until its rows are counted."""
    async with served(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}")
        await page.click("#problem summary")
        await page.click("#tab-timeline")
        await page.until("document.querySelector('#bars')")
        await page.click("#bars summary")
        rows = "document.querySelectorAll('#bars tbody tr').length"
        first = await page.evaluate(rows)
        await web.engine.answer(f"{run}/q1", "3.12")
        await page.until(f"{rows} > {first}")
        for name in ("problem", "bars"):
            assert await page.evaluate(f"document.getElementById('{name}').open"), name
        assert await page.evaluate("document.activeElement.parentElement.id") == "bars"
        await page.sees("every guard passed")
        assert await page.evaluate("document.querySelector('#live').dataset.tab") == "timeline"
        check_quiet(page, web)


async def test_a_part_stays_open_or_folded_if_the_page_renews_itself_at_once_after_the_click(tmp_path, browser):
    """Before the browser has told of it by the event `toggle`."""
    renew = """(() => {
      const part = document.getElementById("live"), tell = name => document.dispatchEvent(new CustomEvent(name));
      document.querySelector("#problem summary").click();
      tell("htmx:beforeSwap");
      part.outerHTML = window.sent;
      tell("htmx:afterSwap");
      return document.getElementById("problem").open;
    })()"""
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}")
        await page.sees("every guard passed")
        await page.evaluate("window.sent = document.getElementById('live').outerHTML")
        assert await page.evaluate(renew) is True
        assert await page.evaluate(renew) is False
        check_quiet(page, web)
