"""The page of a long run that the server has not read yet begins at once, and goes on when the run is read."""

import pytest
import trio

from packages.server.tests.long.web.browsing import check_accessible, check_quiet, signed_in
from packages.server.tests.web.world import served
from replan_server.service.cached_reader import CachedReader
from runtime.core.errors import JournalDamaged

READ = "Reading the "


@pytest.fixture
def gate(monkeypatch):
    """Count every run as long, and read one once the gate is open."""
    monkeypatch.setattr("replan_server.service.cached_reader.AT_ONCE_MAX", 0)
    event, read = trio.Event(), CachedReader._read

    async def later(self, run):
        await event.wait()
        return await read(self, run)

    monkeypatch.setattr(CachedReader, "_read", later)
    return event


async def test_the_page_begins_before_the_run_is_read_and_its_end_replaces_the_beginning(tmp_path, gate):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        async with web.browser.stream("GET", f"/runs/{run}?done=told") as answer:
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            pieces = answer.aiter_text()
            first = await anext(pieces)
            while READ not in first:
                first += await anext(pieces)
            assert "Login fails</h1>" in first
            assert "The message is recorded." in first
            assert 'id="live"' not in first
            gate.set()
            rest = "".join([piece async for piece in pieces])
        assert rest.count('id="live"') == 1
        assert rest.rstrip().endswith("</html>")
        assert (first + rest).count("<body") == 1
        again = (await web.browser.get(f"/runs/{run}")).text
        assert READ not in again, "what is known already is shown at once"


async def test_a_page_that_renews_itself_has_no_beginning(tmp_path, gate):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        gate.set()
        answer = await web.browser.get(f"/runs/{run}", headers={"hx-request": "true"})
        assert READ not in answer.text
        assert 'id="live"' in answer.text


async def test_a_run_that_turns_out_to_be_damaged_is_said_below_the_beginning(tmp_path, gate, monkeypatch):
    async def damaged(*_):
        raise JournalDamaged("run x", "record 7 was changed")

    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        monkeypatch.setattr(CachedReader, "_read", damaged)
        answer = await web.browser.get(f"/runs/{run}")
        assert READ in answer.text
        assert "record 7 was changed" in answer.text
        assert answer.text.rstrip().endswith("</html>")
        assert (await web.browser.get(f"/runs/{run}?tree=x")).status_code == 422
        assert (await web.browser.get("/runs/nothing1")).status_code == 404


async def test_a_person_sees_the_beginning_and_then_the_page_without_it(tmp_path, gate, browser):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        page = await signed_in(browser, web)
        await page.call("Page.navigate", url=f"{web.address}/runs/{run}")
        await page.until(f"document.body && document.body.innerText.includes('{READ}')")
        gate.set()
        await page.sees("What was asked")
        assert await page.evaluate(f"document.body.innerText.includes('{READ}')") is False
        assert await page.evaluate("[...document.querySelectorAll('h1')].filter(each => each.offsetParent).length") == 1
        await check_accessible(page)
        check_quiet(page, web)


async def test_the_beginning_is_hidden_without_scripts_too(tmp_path, monkeypatch, browser):
    monkeypatch.setattr("replan_server.service.cached_reader.AT_ONCE_MAX", 0)
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        page = await signed_in(browser, web, script=False)
        await page.go(f"{web.address}/runs/{run}")
        await page.sees("What was asked")
        assert READ in await page.evaluate("document.body.textContent")
        assert READ not in await page.evaluate("document.body.innerText")
