"""Replies in progress on the pages: their text grows while the model writes, and is gone when the reply is recorded."""

import json
import os
import re

import pytest
import trio

from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.ids import child_run
from packages.server.tests.long.web.browsing import check_accessible, check_quiet, signed_in
from packages.server.tests.web.test_streams import streaming
from packages.server.tests.web.world import served
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import UserConfig
from runtime.models.port import HEARD_MAX
from tests.cli.samples import ANALYSIS, PLAN, PROBLEM, write_script
from tests.long.api.test_children import PARENT, write
from tests.support.openai_server import Answer, serve

HOSTILE = "<img src=x onerror=document.title='taken'>\u202e\x1b[31m"
WORDS = " ".join(f"word{number}" for number in range(900))
TEXT = f"{HOSTILE}{WORDS}\n```json\n{json.dumps(PLAN)}\n```\n"
CALL = "g_plan/v1.a1"


@pytest.fixture
def writes(monkeypatch):
    """A model server that writes a plan, after a hostile and long preface, in some seconds."""
    with serve(lambda _b, _h, _n: Answer.stream(TEXT, pieces=20, gap_seconds=0.25)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        yield server


async def begin(web):
    """Start a run that nobody drives yet; its model is the server's."""
    return await web.start("writer", workflow="single")


def world(folder, **more):
    return served(folder, hosts=False, models={"writer": "gpt-x"}, **more)


async def until(page_of, text):
    with trio.fail_after(300):
        while True:
            answer = await page_of()
            if text in answer.text:
                return answer.text
            await trio.sleep(0.1)


async def test_a_stream_tells_a_reply_while_it_grows_bounded_and_clean(tmp_path, writes):
    """Each time more of it, and no event of it has a cursor that a client would go on from."""
    async with world(tmp_path) as web, trio.open_nursery() as nursery:
        run = await begin(web)
        told = []
        async with web.browser.stream("GET", f"/live?run={run}", timeout=30) as response:
            nursery.start_soon(web.engine.resume, run)
            name = None
            async for line in response.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: ") and name == "reply":
                    told.append(json.loads(line.removeprefix("data: ")))
                elif line.startswith("id: "):
                    assert name != "reply"
                elif not line:
                    name = None
                if told and told[-1]["characters"] == len(TEXT):
                    break
        counts = [each["characters"] for each in told]
        assert counts == sorted(counts)
        assert len(counts) >= 4
        assert {each["request_id"] for each in told} == {CALL}
        assert "\u202e" not in told[0]["text"]
        assert "\x1b" not in told[0]["text"]
        assert max(len(each["text"]) for each in told) <= HEARD_MAX
        assert told[-1]["text"].endswith("```\n")
        result = await web.settled(run)
        assert result.outcome == "success"
        assert web.engine.replies.of(run) == {}


async def test_a_page_without_scripts_shows_the_text_so_far(tmp_path, writes):
    """The page of the run and that of the attempt; both escape it, and both are without it when the reply is there."""
    async with world(tmp_path) as web, trio.open_nursery() as nursery:
        run = await begin(web)
        nursery.start_soon(web.engine.resume, run)
        text = await until(lambda: web.browser.get(f"/runs/{run}"), "word3")
        assert "<img src=x" not in text
        assert "&lt;img src=x" in text
        assert re.search(
            r"plan</a> <span class=\"dim\">for <span data-age=\"\d+\">\d+s</span>.*characters so far",
            text,
        )
        attempt = await until(lambda: web.browser.get(f"/runs/{run}/attempts/{CALL}"), "word3")
        assert "so far" in attempt
        assert "No reply has come yet" not in attempt
        await web.settled(run)
        assert "Under way" not in (await web.browser.get(f"/runs/{run}")).text
        assert "so far" not in (await web.browser.get(f"/runs/{run}/attempts/{CALL}")).text


async def test_a_call_of_another_process_is_shown_as_open_and_without_a_text(tmp_path, writes):
    """The page says nothing that it does not know; a run that nobody drives has nothing under way."""
    async with world(tmp_path) as web, world(tmp_path, signed_in=False) as other:
        run = await begin(web)
        assert "Under way" not in (await web.browser.get(f"/runs/{run}")).text
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other.engine.resume, run)
            text = await until(lambda: web.browser.get(f"/runs/{run}"), "Under way")
            assert 'plan</a> <span class="dim">for' in text
            await trio.sleep(1.0)
            assert other.engine.replies.of(run) != {}
            text = (await web.browser.get(f"/runs/{run}")).text
            assert "characters so far" not in text
            assert re.search(rf'<pre[^>]* id="reply-{CALL}" hidden></pre>', text)
            async with streaming(web, f"/live?run={run}") as events:
                assert (await events.next())[0] in ("at", "changed")
            await web.settled(run)


async def test_the_text_grows_on_an_open_page(tmp_path, writes, browser):
    """It stays at its end, is nobody's markup, and goes when the run has its plan; the page is never loaded again."""
    async with world(tmp_path) as web, trio.open_nursery() as nursery:
        run = await begin(web)
        page = await signed_in(browser, web, width=390)
        await page.go(f"{web.address}/runs/{run}")
        await page.evaluate("window.marked = true")
        nursery.start_soon(web.engine.resume, run)
        part = f"document.getElementById('reply-{CALL}')"
        await page.until(f"{part} && {part}.textContent.includes('word3')")
        first = await page.evaluate(f"{part}.textContent.length")
        await page.until("document.querySelector('[data-age]').textContent.match(/^[1-9]/)")
        await page.until(f"!{part} || {part}.textContent.length > {first}")
        await check_accessible(page)
        await page.until(f"!{part} || {part}.scrollTop + {part}.clientHeight >= {part}.scrollHeight - 2")
        assert await page.evaluate("document.querySelectorAll('#live img').length") == 0
        await page.sees("every guard passed")
        assert await page.evaluate(f"{part} === null")
        assert await page.evaluate("window.marked"), "the page was loaded again"
        assert await page.evaluate("document.title") != "taken"
        check_quiet(page, web)


async def test_a_step_that_is_a_run_with_a_model_of_its_own_shows_its_text_on_its_own_page(tmp_path, writes):
    below = "name: below\naction_pairs:\n  c_plan: {generator: model, guard: plan_medium, model: gpt-x, rmax: 1}\n"
    workflow = write(tmp_path, above=PARENT, below=below)
    async with world(tmp_path) as web:
        spec = write_script(tmp_path, {"g_analysis": [ANALYSIS]}, "analysis.yaml")
        prepared = prepare(
            RunOrder(PlanningInput(PROBLEM, RunOptions(workflow=str(workflow))), spec),
            config=UserConfig(),
            registry=web.engine.registry,
            environment=os.environ,
            now=web.engine.clock.now(),
        ).request
        run = await web.engine.admit(prepared)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(web.engine.resume, run)
            child = child_run(run, "g_plan/v1.a1")

            assert "characters so far" in await until(lambda: web.browser.get(f"/runs/{child}"), "word3")
            assert "Open its run" in (await web.browser.get(f"/runs/{run}?tab=search")).text
