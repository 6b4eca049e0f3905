"""What a person does on the pages in Chromium, and one journey of each sort of page also in Firefox (issue 29).

Journeys by keyboard alone are in `test_tabs_and_keys`, those without scripts in `test_browser` and `test_live_replies`,
and `test_browser` shows every page to axe-core and on a narrow screen.
"""

import json
import os

import pytest

from packages.server.tests.long.web import chromium
from packages.server.tests.long.web.browsing import signed_in
from packages.server.tests.web.world import served
from replan.runs.executing import ExecutionOptions, prepare_to_execute, read_plan_file
from replan.runs.reader import ORDERS
from replan.runs.shipped_examples import example_named
from replan.setup.settings import PriceEntry
from tests.cli.samples import BACKTRACKS, PLAN, PROBLEM
from tests.support.openai_server import Answer, serve


class Person:
    """A person with a browser of one of two engines, who is signed in."""

    def __init__(self, page, web):
        self.page, self.web = page, web

    async def go(self, path):
        await self.page.go(f"{self.web.address}{path}")

    def __getattr__(self, name):
        return getattr(self.page, name)

    async def choose(self, selector, value):
        part = f"document.querySelector({json.dumps(selector)})"
        await self.page.until(part)
        await self.page.evaluate(
            f"({part}.value = {json.dumps(value)}, {part}.dispatchEvent(new Event('change', {{bubbles: true}})))"
        )

    async def replace(self, selector, text):
        """Type into a field in place of what it holds."""
        await self.page.until(f"document.querySelector({json.dumps(selector)})")
        await self.page.evaluate(f"document.querySelector({json.dumps(selector)}).value = ''")
        await self.page.type(selector, text)

    async def value(self, selector):
        return await self.page.evaluate(f"document.querySelector({json.dumps(selector)}).value")

    async def mark(self):
        """Set an attribute of the page that a reload removes."""
        await self.page.evaluate("document.body.dataset.marked = 'yes'")

    async def is_marked(self):
        """Return whether that attribute is still set, so that the page was not reloaded."""
        return await self.page.evaluate("document.body.dataset.marked === 'yes'")

    async def count(self, selector):
        """Return how many elements match."""
        return await self.page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    async def said(self, selector):
        """Return the text of the first element that matches, as it is seen."""
        return await self.page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")


@pytest.fixture
def process(request):
    """The process of Chromium; that of another browser where a test says so."""
    return request.getfixturevalue(getattr(request, "param", "browser_process"))


PROCESSES = {"chromium": "browser_process", "firefox": "second_browser_process"}
IN_BOTH = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES.keys(), indirect=True)
IN_FIREFOX = pytest.mark.parametrize("process", ["second_browser_process"], ids=["firefox"], indirect=True)
"""In Firefox only: `test_timeline` has the same work in Chromium."""


@pytest.fixture
async def person(process, tmp_path):
    """Serve a home, and sign in with the browser."""
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web, process.connected() as browser:
        yield await person_of(process, browser, web)


async def person_of(process, browser, web):
    """Return a person who has signed in with a browser."""
    if isinstance(process, chromium.Process):
        return Person(await signed_in(browser, web), web)
    await browser.go(f"{web.address}/sign-in#{web.new_sign_in()}")
    await browser.sees("Inbox")
    return Person(browser, web)


async def finished(person, **options):
    """Start a run that goes back once, and return its id when it has its plan."""
    run = await person.web.start("backtracks", **options)
    await person.web.settled(run, "finished")
    return run


async def test_what_was_done_is_said_until_the_run_has_moved_on_and_not_again(person):
    """Also where the run is over within the seconds for which it is said, so that no event comes after them."""
    run = await person.web.start("asks")
    await person.web.settled(run, "waiting")
    await person.go(f"/runs/{run}")
    await person.type(f"#typed-{run}-q1", "3.12")
    await person.click(f"#form-{run}-q1 button.main")
    await person.sees("The answer is recorded.")
    await person.mark()
    assert await person.evaluate("location.pathname + location.search") == f"/runs/{run}"
    await person.sees("every guard passed")
    await person.until("document.getElementById('notice') === null")
    assert "The answer is recorded." not in await person.text()
    assert await person.is_marked(), "the page was loaded again"


async def test_what_was_done_stays_said_while_nothing_has_happened_since(process, tmp_path):
    """No host drives the run, so that the answer stays unread."""
    async with served(tmp_path) as web:
        run = await web.start("asks")
        await web.settled(run, "waiting")
    async with served(tmp_path, hosts=False) as web, process.connected() as browser:
        person = await person_of(process, browser, web)
        await person.go(f"/runs/{run}")
        await person.type(f"#typed-{run}-q1", "3.12")
        await person.click(f"#form-{run}-q1 button.main")
        await person.sees("The answer is recorded.")
        await person.until("performance.now() > 6000")
        assert "The answer is recorded." in await person.text()
        await person.go("/")
        assert "The answer is recorded." not in await person.text()


async def test_a_run_that_is_over_when_its_page_comes_says_what_was_done_for_some_seconds(person):
    run = await finished(person)
    await person.go(f"/runs/{run}?tree=0&done=limits")
    await person.sees("The new limits are recorded.")
    assert await person.evaluate("location.search") == "?tree=0"
    await person.until("document.getElementById('notice') === null")


@IN_FIREFOX
async def test_the_timeline_has_a_lane_a_step_and_is_zoomed_by_keys_and_buttons(person):
    run = await finished(person)
    await person.go(f"/runs/{run}?tab=timeline")
    await person.until("document.querySelectorAll('.lane').length === 4")
    assert await person.count(".lane rect.call") == 9
    width = "document.querySelector('.lanes').style.width"
    await person.evaluate("document.querySelector('#timeline').focus()")
    await person.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}))"
    )
    await person.until(f"{width} === '200%'")
    await person.click("#zooms button")
    await person.until(f"{width} === '400%'")


@IN_FIREFOX
async def test_the_tree_folds_and_two_attempts_are_compared_with_the_finding_at_its_place(person):
    run = await finished(person)
    await person.go(f"/runs/{run}?tab=search")
    await person.click(".tree details summary")
    assert await person.evaluate("document.querySelector('.tree details').open") is False
    await person.go(f"/runs/{run}/attempts/g_plan/v1.a1?beside=g_plan/v2.a1")
    assert '"step_id": "fix"' in await person.said("mark")
    assert "plan.precondition_unsatisfied" in await person.said(".said")
    assert await person.count("del") > 0
    assert await person.count("ins") > 0


async def test_the_form_explains_a_workflow_and_says_the_worst_case_before_the_click(person):
    await person.go("/new")
    await person.type("#problem", PROBLEM)
    await person.type("#model", "plans")
    await person.sees("30 calls, the limit")
    assert await person.count("#workflows .graph svg") > 3, "each workflow is drawn"
    await person.click("#new button.main")
    await person.sees("every guard passed")


async def test_a_run_is_forked_at_an_attempt_of_its_tree(person):
    run = await finished(person)
    await person.go(f"/runs/{run}/attempts/g_plan/v1.a1")
    await person.click("#fork-here summary")
    await person.click("#fork-here [value='before:g_plan/v1.a1']")
    await person.replace("#fork-calls", "7")
    await person.choose("#fork-model", "template:bug")
    await person.choose("#fork-policy", "belief")
    await person.click("#fork-here button.main")
    await person.sees("every guard passed")
    assert "1 spent of 7 calls" in await person.text()
    assert f"forked from run {run}" in await person.text()
    fork = (await person.evaluate("location.pathname")).rpartition("/")[2]
    state, _ = await person.web.engine.load(fork)
    assert state.config.policy.belief is not None
    await person.go(f"/runs/{fork}/attempts/g_plan/v1.a1")
    await person.choose("#beside", f"{run}:g_plan/v1.a1")
    await person.click(".filter button")
    await person.until("document.querySelector('.pairs del')")
    assert f"of run {run}" in await person.said(".pairs thead")
    assert await person.count("ins") > 0


CHANGE = "document.querySelector('#plan').value = document.querySelector('#plan').value.replace({}, {})"
"""Changes the text of a plan in its form."""


@IN_BOTH
async def test_a_plan_is_edited_after_its_run_has_ended(person):
    """A wrong edit is shown again with its finding. The right one is the plan, and the page says who changed what."""
    run = await finished(person)
    await person.go(f"/runs/{run}/plan")
    await person.sees("The plan of run")
    await person.evaluate(CHANGE.format("'- fixed'", "'- nothing'"))
    await person.click("#edit button.main")
    await person.sees("plan.goal_unreachable")
    await person.evaluate(CHANGE.format("'- nothing'", "'- fixed'"))
    await person.evaluate(CHANGE.format("'name: Fix it'", "'name: Mend it'"))
    await person.click("#edit button.main")
    await person.sees("The run has the edited plan.")
    await person.sees("Edited by a person on the web page:")
    await person.sees("+  name: Mend it")
    assert (await person.web.engine.result(run)).plan_json["steps"][2]["name"] == "Mend it"


@IN_BOTH
async def test_a_list_is_sorted_by_each_of_its_columns(person, monkeypatch):
    """Four runs, whose order is another one by each column."""
    usage = {"prompt_tokens": 90_000, "completion_tokens": 9_000}
    with serve(lambda _body, _headers, _number: Answer.value(PLAN, usage=usage)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        person.web.config.clients.models["priced"] = "writer"
        person.web.config.prices["writer"] = PriceEntry(input_usd_per_mtok=1.0, output_usd_per_mtok=4.0)
        await person.web.settled(await person.web.start("priced", "Costs.", workflow="single"), "finished")
    asking = await person.web.start("asks", "Asks.")
    await person.web.settled(asking, "waiting")
    await finished(person, problem="Backtracks.")
    await person.web.settled(await person.web.start("plans", "Plans."), "finished")
    await person.web.engine.answer(f"{asking}/q1", "3.12", via="web")
    await person.web.settled(asking, "finished")
    orders = {
        "newest": ["Plans.", "Backtracks.", "Asks.", "Costs."],
        "changed": ["Asks.", "Plans.", "Backtracks.", "Costs."],
        "calls": ["Backtracks.", "Asks.", "Plans.", "Costs."],
        "cost": ["Costs.", "Plans.", "Backtracks.", "Asks."],
    }
    assert set(orders) == set(ORDERS)
    shown = "[...document.querySelectorAll('#live td.title > a')].map(each => each.textContent)"
    await person.go("/runs")
    for name in ("changed", "calls", "cost", "newest"):
        assert await person.count(f"th a[href='/runs?sort={name}']") == 1
        await person.click(f"th a[href='/runs?sort={name}']")
        await person.until(f"location.search === '?sort={name}' && document.readyState === 'complete'")
        assert await person.evaluate(shown) == orders[name]
        assert await person.count("th[aria-sort=descending]") == 1


async def test_the_output_of_the_tools_of_an_execution_is_folded(person, tmp_path):
    example = example_named("repair")
    example.copy_project(tmp_path / "project")
    chosen = ExecutionOptions(tools=example.tools, workspace=str(tmp_path / "project"), workflow="single")
    options = {"registry": person.web.engine.registry, "environment": os.environ}
    prepared = prepare_to_execute(read_plan_file(example.plan), chosen, example.model, **options)
    run = await person.web.engine.admit(prepared.request)
    await person.web.settled(run, "finished")
    await person.go(f"/runs/{run}")
    await person.sees("3 of 4 steps done, 1 failed")
    assert await person.count(".checklist .is-failed") == 1
    await person.go(f"/runs/{run}?tab=timeline")
    await person.click("#outputs > summary")
    outputs = await person.count("details[id^=output-]")
    assert outputs >= 4
    assert await person.count("details[id^=output-][open]") == 0
    number = "[...document.querySelectorAll('details[id^=output-]')].findIndex(each => each.querySelector('pre')) + 1"
    name = f"output-{await person.evaluate(number)}"
    text = (await person.evaluate(f"document.querySelector('#{name} pre').textContent")).strip()
    assert text
    seen = f"document.querySelector('#{name} pre').checkVisibility()"
    assert not await person.evaluate(seen)
    await person.click(f"#{name} summary")
    assert await person.evaluate(seen)
    assert await person.count("details[id^=output-][open]") == 1


async def test_a_run_asks_at_its_limit_and_goes_on_with_the_amount_and_the_model_that_a_person_chooses(person):
    await person.go("/new")
    await person.type("#problem", PROBLEM)
    await person.replace("#model", "backtracks")
    await person.click("#more summary")
    await person.type("#max_calls", "2")
    await person.click("#new button.main")
    await person.sees("The run has used 2 of its 2 calls")
    run = (await person.evaluate("location.pathname")).rpartition("/")[2]
    await person.click(f"#form-{run}-q1 input[value='1 more call']")
    await person.click(f"#form-{run}-q1 button.main")
    await person.sees("The run has used 3 of its 3 calls")
    await person.click(f"#form-{run}-q2 input[value='model: NAME']")
    await person.type(f"#typed-{run}-q2", "template:bug")
    await person.click(f"#form-{run}-q2 button.main")
    await person.sees("every guard passed")
    assert (await person.web.settled(run, "finished")).calls == 4
    assert "model: template:bug" in await person.said("#said")
