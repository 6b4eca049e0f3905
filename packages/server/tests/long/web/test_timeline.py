"""The timeline of a run's page, zoomed by keys and buttons, a table without scripts; an attempt's marked reply."""

from packages.server.tests.long.web.browsing import check_accessible, check_quiet, signed_in
from packages.server.tests.web.world import served
from tests.cli.samples import BACKTRACKS, delayed_reply

SLOW = {step: [delayed_reply(reply, seconds=0.2) for reply in replies] for step, replies in BACKTRACKS.items()}
ZOOM = "document.querySelector('.lanes').style.width"


async def test_the_timeline_is_zoomed_a_reply_is_marked_and_two_are_compared(tmp_path, browser):
    async with served(tmp_path, scripts={"slow": SLOW}) as web:
        run = await web.start("slow")
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}?tab=search")
        await page.until("document.querySelector('.tree details')")
        await page.evaluate("document.querySelector('.tree details').open = false")
        first = "document.querySelector('.tree details')"
        folded = await page.evaluate(f"{first}.id")
        await web.settled(run, "finished")
        await page.sees("every guard passed")
        assert await page.evaluate(f"document.getElementById('{folded}').open") is False  # Also after it was renewed.
        await page.click("#tab-timeline")
        await page.until("document.querySelectorAll('.lane').length === 4")
        assert await page.evaluate("document.querySelectorAll('.lane rect.call').length") == 9
        await page.evaluate("document.querySelector('#timeline').focus()")
        for key, width in (("+", "200%"), ("+", "400%"), ("-", "200%"), ("0", "100%")):
            await page.evaluate(
                f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"
            )
            assert await page.evaluate(ZOOM) == width
        await page.click("#zooms button")
        assert await page.evaluate(ZOOM) == "200%"

        await page.go(f"{web.address}/runs/{run}/attempts/g_plan/v1.a1?beside=g_plan/v2.a1")
        marked, told, removed, added = await page.evaluate("""['mark', '.said', 'del', 'ins'].map(
            each => [...document.querySelectorAll(each)].map(one => one.innerText).join())""")
        assert '"step_id": "fix"' in marked
        assert "plan.precondition_unsatisfied" in told
        await page.click(".said-at a")
        await page.until("document.querySelector('mark:target').getBoundingClientRect().top < innerHeight")
        assert "nobody_makes_this" in removed
        assert "known" in added
        await check_accessible(page)
        check_quiet(page, web)

        plain = await signed_in(browser, web, script=False, width=390)
        await plain.go(f"{web.address}/runs/{run}?tab=timeline")
        shown = await plain.text()
        for text in ("Timeline", "recon", "2 calls", "All bars with their times and costs: 9"):
            assert text in shown
        assert "Whole run" not in shown
        await plain.go(f"{web.address}/runs/{run}/attempts/g_plan/v1.a1")
        await plain.click(".filter button")
        await plain.sees("The two replies")
        assert (await web.browser.get(f"/runs/{run}/attempts/g_plan/v1.a1?beside=g_recon/v1.a1")).status_code == 404
