"""What a person does on the pages, each in both browsers (issue 29): the table below says what each journey shows.

Journeys by keyboard alone are in `test_tabs_and_keys`, those without scripts in `test_browser` and `test_live_replies`,
and every page is looked at on a narrow screen in `test_browser`.
"""

import json

import pytest

from tests.cli.samples import BACKTRACKS, PROBLEM
from tests.web import chromium
from tests.web.browsing import AXE, RULES, signed_in
from tests.web.test_browser import of_other_kinds
from tests.web.world import served

DAYS = "\n".join(f"Line {number}: the same happens with the report of day {number}." for number in range(40))
LONG = f"{PROBLEM}\n\n{DAYS}"


class Person:
    """A person with a browser of one of two engines, who is signed in."""

    def __init__(self, page, web):
        self.page, self.web = page, web

    async def go(self, path):
        await self.page.go(f"{self.web.address}{path}")

    def __getattr__(self, name):
        return getattr(self.page, name)

    async def count(self, selector):
        """Return how many elements match."""
        return await self.page.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    async def said(self, selector):
        """Return the text of the first element that matches, as it is seen."""
        return await self.page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")


@pytest.fixture(params=["browser_process", "second_browser_process"], ids=["chromium", "firefox"])
def process(request):
    """The process of one of the browsers."""
    return request.getfixturevalue(request.param)


@pytest.fixture
async def person(process, tmp_path):
    """Serve a home, and sign in with the browser."""
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web, process.connected() as browser:
        if isinstance(process, chromium.Process):
            yield Person(await signed_in(browser, web), web)
        else:
            await browser.go(f"{web.address}/sign-in#{web.new_sign_in()}")
            await browser.sees("Nothing waits for you.")
            yield Person(browser, web)


async def finished(person, **options):
    """Start a run that goes back once, and return its id when it has its plan."""
    run = await person.web.start("backtracks", **options)
    await person.web.settled(run, "finished")
    return run


async def test_a_run_says_what_was_asked_and_a_long_text_is_folded(person):
    run = await finished(person, problem=LONG)
    await person.go(f"/runs/{run}")
    await person.sees("What was asked")
    assert await person.evaluate("document.querySelector('#problem').open") is False
    await person.click("#problem summary")
    await person.sees("Line 39: the same happens")
    facts = await person.said("section p.meta")
    assert "workflow" in facts
    assert "model" in facts


async def test_answers_and_tells_stand_in_their_order_and_a_notice_goes_with_the_next_event(person):
    run = await person.web.start("asks")
    await person.web.settled(run, "waiting")
    await person.go(f"/runs/{run}")
    await person.click("#tell summary")
    await person.type("#form-tell textarea", "Mind the second page")
    await person.click("#form-tell button.main")
    await person.sees("Mind the second page")
    await person.type(f"#typed-{run}-q1", "3.12")
    await person.click(f"#form-{run}-q1 button.main")
    await person.sees("every guard passed")
    said = await person.said("#said")
    assert said.index("Mind the second page") < said.index("3.12")
    await person.go(f"/runs/{run}")
    assert "The answer is recorded." not in await person.text()


async def test_the_timeline_has_a_lane_a_step_and_is_zoomed_by_keys_and_buttons(person):
    run = await finished(person)
    await person.go(f"/runs/{run}")
    await person.until("document.querySelectorAll('.lane').length === 4")
    assert await person.count(".lane rect.call") == 8
    width = "document.querySelector('.lanes').style.width"
    await person.evaluate("document.querySelector('#timeline').focus()")
    await person.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}))"
    )
    await person.until(f"{width} === '200%'")
    await person.click("#zooms button")
    await person.until(f"{width} === '400%'")


async def test_the_tree_folds_and_two_attempts_are_compared_with_the_finding_at_its_place(person):
    run = await finished(person)
    await person.go(f"/runs/{run}")
    await person.click(".tree details summary")
    assert await person.evaluate("document.querySelector('.tree details').open") is False
    await person.go(f"/runs/{run}/attempts/g_plan/v1.a1?beside=g_plan/v2.a2")
    assert '"step_id": "fix"' in await person.said("mark")
    assert "plan.precondition_unsatisfied" in await person.said(".said")
    assert await person.count("del") > 0
    assert await person.count("ins") > 0


async def test_the_graph_has_whole_labels_and_one_arrow_between_two_boxes(person):
    run = await finished(person)
    await person.go(f"/runs/{run}")
    labels = await person.evaluate("[...document.querySelectorAll('.graph text')].map(each => each.textContent)")
    assert labels
    assert [label for label in labels if "…" in label] == []
    arrows = await person.evaluate("[...document.querySelectorAll('.graph path')].map(each => each.getAttribute('d'))")
    assert len(arrows) == len(set(arrows))


async def test_the_form_explains_a_workflow_and_says_the_worst_case_before_the_click(person):
    await person.go("/new")
    await person.type("#problem", PROBLEM)
    await person.type("#model", "plans")
    await person.sees("30 calls, the limit")
    assert await person.count("#workflows .graph svg") > 3, "each workflow is drawn"
    await person.click("#new button.main")
    await person.sees("every guard passed")


async def test_a_run_is_forked_and_started_again_with_other_limits(person):
    run = await finished(person)
    await person.go(f"/runs/{run}")
    await person.click("#fork")
    await person.until("document.querySelector('#problem') && document.querySelector('#problem').value")
    assert (await person.evaluate("document.querySelector('#problem').value")).strip() == PROBLEM.strip()
    await person.go(f"/runs/{run}")
    await person.click("#again")
    await person.until("document.querySelector('[name=max_calls]')")
    await person.evaluate("document.querySelector('[name=max_calls]').value = ''")
    await person.type("[name=max_calls]", "9")
    await person.click("#new button.main")
    await person.sees("The run is recorded.")


async def test_a_list_is_filtered_by_its_text_and_keeps_its_order(person):
    kept, other = await finished(person, problem="Export loses rows."), await finished(person, problem="Login is slow.")
    await person.go("/runs?q=Export")
    await person.sees("Export loses rows.")
    assert "Login is slow." not in await person.text()
    await person.go("/runs?sort=cost")
    await person.sees("Login is slow.")
    assert kept != other


async def test_an_acquisition_shows_its_fields_and_an_execution_the_output_of_its_tools(person, tmp_path):
    acquisition, execution = await of_other_kinds(person.web, tmp_path / "project")
    await person.go(f"/runs/{acquisition}")
    await person.sees("Waits for you")
    assert await person.count(".lines p") > 0
    await person.go(f"/runs/{execution}")
    await person.sees("steps done")
    assert await person.count(".checklist li") > 0


async def test_axe_finds_nothing_on_the_pages(person, tmp_path):
    run, asking = await finished(person), await person.web.start("asks")
    await person.web.settled(asking, "waiting")
    code = AXE.read_text(encoding="utf-8")
    paths = ["/", "/runs", "/new", "/new/acquisition", f"/runs/{run}", f"/runs/{asking}", f"/runs/{run}/records"]
    paths += [f"/runs/{run}/attempts/g_plan/v1.a1", f"/questions/{asking}/q1"]
    paths += [f"/runs/{name}" for name in await of_other_kinds(person.web, tmp_path / "project")]
    for path in paths:
        await person.go(path)
        await person.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        found = await person.evaluate(
            f"(() => {{ {code}; return axe.run(document, {json.dumps(RULES)}).then(found => found.violations) }})()"
        )
        assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == [], path
