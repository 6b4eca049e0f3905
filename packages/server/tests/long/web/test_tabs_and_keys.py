"""Many tabs at once, and the pages by keyboard alone, in a real browser (Chromium)."""

from packages.server.tests.long.web.browsing import check_quiet, signed_in
from packages.server.tests.web.world import served
from replan.runs.kind_interface import installed_interfaces

FOCUSABLE = """[...document.querySelectorAll("a[href], button, input, textarea, select, summary, [tabindex='0']")]
  .filter(each => each.type !== "hidden" && each.checkVisibility() && !each.disabled)
  .filter(each => each.type !== "radio" || each === (each.form.querySelector(`[name=${each.name}]:checked`)
    || each.form.querySelector(`[name=${each.name}]`)))
  .length"""
"""How many elements the keyboard must reach; of radio buttons, one of each group."""
FOCUS = """(() => {
  const found = document.activeElement;
  if (!found || found === document.body) return null;
  window.met ??= new Map();
  if (!window.met.has(found)) window.met.set(found, window.met.size);
  const style = getComputedStyle(found);
  return [window.met.get(found), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
})()"""
"""The number of the element that has the focus, in the order in which they were met, and whether that is seen."""


async def test_ten_tabs_work_with_one_stream_and_each_catches_up_when_it_is_seen_again(tmp_path, browser, monkeypatch):
    monkeypatch.setattr("replan_server.service.limits.STREAMS_MAX", 3)  # Two tabs may overlap while one takes over.
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        tabs = [await signed_in(browser, web)]
        tabs += [await browser.page(profile=tabs[0].profile) for _ in range(9)]
        for tab in tabs:
            await tab.go(f"{web.address}/runs/{run}")
            await tab.sees("Which version is it?")
        assert [await tab.evaluate("document.hidden") for tab in tabs] == [True] * 9 + [False]
        await web.engine.tell(run, "Use Python 3.12")
        await tabs[-1].sees("Use Python 3.12")
        assert "Use Python" not in await tabs[0].text(), "a tab that nobody sees asks for nothing"
        for tab in (tabs[0], tabs[4], tabs[9]):
            await tab.call("Page.bringToFront")
            await tab.sees("Use Python 3.12")
        for tab in tabs:
            check_quiet(tab, web)


async def test_every_control_is_reached_by_the_tab_key_and_shows_its_focus(tmp_path, browser):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        page = await signed_in(browser, web)
        forms = [f"/new/{interface.kind}" for interface in installed_interfaces()]
        for path in ("/", "/runs", "/new", *forms, f"/runs/{run}", f"/questions/{run}/q1"):
            await page.go(f"{web.address}{path}")
            await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            wanted = await page.evaluate(FOCUSABLE)
            seen = {}
            for _ in range(wanted + 5):
                await page.press("Tab", 9)
                found = await page.evaluate(FOCUS)
                if found is not None:
                    seen[found[0]] = found[1]
            assert len(seen) >= wanted, (path, len(seen), wanted)
            assert all(seen.values()), path
        check_quiet(page, web)


async def test_a_question_is_answered_by_keyboard_from_the_top_of_the_page(tmp_path, browser):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start()
        await web.engine.resume(run)
        page = await signed_in(browser, web)
        await page.go(f"{web.address}/runs/{run}")
        await page.press("Tab", 9)
        assert await page.evaluate("document.activeElement.className") == "skip"
        await page.press("Enter", 13)
        await page.until("document.activeElement.id === 'main'")
        for _ in range(20):
            await page.press("Tab", 9)
            if await page.evaluate("document.activeElement.name") == "typed":
                break
        await page.call("Input.insertText", text="3.12")
        await page.press("Tab", 9)
        await page.press("Enter", 13)
        await page.sees("The answer is recorded.")
        check_quiet(page, web)
