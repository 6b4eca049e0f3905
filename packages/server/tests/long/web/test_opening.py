"""The page that links of messages lead to: no data, no session; its button opens the inbox."""

from urllib.parse import quote

from packages.server.tests.long.web.browsing import check_accessible
from packages.server.tests.web.world import served

LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def test_the_page_is_the_same_for_everybody_and_shows_no_data(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start()
        await web.settled(run, "waiting")
        stranger, known = await web.client.get("/open"), await web.browser.get("/open")
        assert stranger.status_code == 200
        assert stranger.text == known.text
        for text in (run, "Login fails", web.csrf, "Sign out"):
            assert text not in known.text
        assert "set-cookie" not in known.headers
        assert 'action="/"' in known.text
        assert (await web.client.get("/")).headers["location"] == "/sign-in"
        assert (await web.browser.get("/")).status_code == 200


async def test_a_link_on_another_site_leads_to_it_and_to_no_other_page(tmp_path):
    async with served(tmp_path) as web:
        assert (await web.client.get("/open", headers=LINK)).status_code == 200
        for path in ("/", "/runs", "/sign-in", "/api/runs", "/open/", "/open/x"):
            assert (await web.browser.get(path, headers=LINK)).status_code == 403, path
        for more in (
            {"sec-fetch-dest": "iframe"},
            {"sec-fetch-dest": "script", "sec-fetch-mode": "no-cors"},
            {"sec-fetch-mode": "cors"},
            {"origin": "https://evil.example"},
        ):
            assert (await web.browser.get("/open", headers=LINK | more)).status_code == 403, more
        assert (await web.browser.post("/open", headers=LINK)).status_code == 403
        assert (await web.browser.post("/open")).status_code in (403, 405)


async def test_in_a_browser_a_link_on_another_site_and_the_button_lead_to_the_inbox(tmp_path, browser):
    """The browser brings no session along the link, since the cookie is strict, and brings it with the button."""
    async with served(tmp_path, signed_in=False) as web:
        page = await browser.page()
        await page.go(f"{web.address}/sign-in#{web.sign_in_token}")
        await page.sees("Nothing waits for you.")
        links = f'<a href="{web.address}/open">A message</a> <a id="b" href="{web.address}/">Straight</a>'
        site = f"data:text/html,{quote(links)}"  # An origin of its own, as a mail program's page has.
        await page.go(site)
        await page.sees("Straight")
        await page.click("a")
        await page.sees("A message from Replan")
        await check_accessible(page)
        await page.click("button.main")
        await page.sees("Nothing waits for you.")
        await page.go(site)
        await page.sees("Straight")
        await page.click("#b")
        await page.sees("the request comes from another site")
