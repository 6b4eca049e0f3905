"""A person's work in a second real browser (Firefox): sign in, start, answer and cancel."""

from packages.server.tests.web.world import served
from tests.cli.samples import PROBLEM


async def test_a_run_is_started_answered_and_cancelled(tmp_path, second_browser):
    """Without scripts, `test_browser` does the same in Chromium."""
    browser = second_browser
    async with served(tmp_path, signed_in=False) as web:
        await browser.go(f"{web.address}/sign-in")
        await browser.go(f"{web.address}/sign-in#{web.sign_in_token}")  # In the same tab, which loads nothing.
        await browser.sees("Nothing waits for you.")
        run = await start(browser, web)
        await browser.sees("Which version is it?")
        await browser.type(f"#typed-{run}-q1", "3.12")
        await browser.click(f"#form-{run}-q1 button.main")
        await browser.sees("The answer is recorded.")
        await browser.sees("every guard passed")
        await browser.click("#tab-timeline")
        await browser.sees("All bars with their times and costs")

        run = await start(browser, web)
        await web.settled(run, "waiting")
        await browser.go(f"{web.address}/runs/{run}")
        await browser.click("#cancel summary")
        await browser.click("#form-cancel input[name=sure]")
        await browser.click("#form-cancel button")
        await browser.sees("The run is cancelled.")
        assert (await web.settled(run, "finished")).outcome == "cancelled"
        assert await browser.errors(web.address) == []


async def start(browser, web):
    """Start a run that asks on the page, and return its id."""
    await browser.go(f"{web.address}/new")
    await browser.type("#problem", PROBLEM)
    await browser.type("#model", "asks")
    await browser.click("#new button.main")
    await browser.sees("The run is recorded.")
    return (await browser.address()).partition("?")[0].rpartition("/")[2]
