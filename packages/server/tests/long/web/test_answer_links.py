"""A question is answered in a browser through a signed link."""

import re

from packages.server.tests.long.web.test_journeys import IN_BOTH, person_of, process  # noqa: F401 -- a fixture
from packages.server.tests.web.test_answer_pages import path_of, serving
from packages.server.tests.web.test_hostile_texts import REVIEWED
from tests.cli.samples import PLAN


async def test_in_a_browser_a_link_is_answered_and_a_second_click_is_refused(process, tmp_path):  # noqa: F811
    async with serving(tmp_path) as web, process.connected() as browser:
        person = await person_of(process, browser, web)
        run = await web.start("asks")
        await web.settled(run, "waiting")
        link = f"{web.loopback}{path_of(web, run)}"
        await person.page.go(link)
        await person.sees("Question for ana")
        await person.type(f"#typed-{run}-q1", "3.12")
        await person.click(f"#form-{run}-q1 button.main")
        await person.sees("Answered by ana through a link")
        await web.settled(run, "finished")
        await person.page.go(link)
        await person.sees("This question was answered by ana through a link.")
        await person.go(f"/runs/{run}")
        await person.sees("ana answered through a link: 3.12")
        assert re.search("3.12", await person.said("#said"))


@IN_BOTH
async def test_in_a_browser_an_approval_takes_two_steps(process, tmp_path):  # noqa: F811
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    async with (
        serving(tmp_path, scripts={"one": {"g_plan": [PLAN]}}, workflows={"reviewed": str(workflow)}) as web,
        process.connected() as browser,
    ):
        person = await person_of(process, browser, web)
        run = await web.start("one", workflow="reviewed")
        await web.settled(run, "waiting")
        await person.page.go(f"{web.loopback}{path_of(web, run, 'bob')}")
        await person.click("input[value=approve]")
        await person.click(f"#form-{run}-q1 button.main")
        await person.sees("Confirm as bob")
        assert await web.engine.journal.inbox(run) == []
        await person.click("#confirm button.main")
        await person.sees("Answered by bob through a link")
        assert (await web.settled(run, "finished")).outcome == "success"
