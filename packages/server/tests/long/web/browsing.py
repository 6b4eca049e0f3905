"""What tests in a real browser share; without one they are skipped, or fail with REPLAN_REQUIRE_BROWSER."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from packages.server.tests.long.web.chromium import find_chromium

AXE = Path(__file__).with_name("axe.min.js")
AXE_HASH = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""The SHA-256 hash of axe-core 4.14.1, as npm's tarball has it."""
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}


def need_browser(find=find_chromium, name="Chromium", package="chromium"):
    """Skip the test where the browser is not installed; fail it where the environment promises it."""
    if find() is None:
        if os.environ.get("REPLAN_REQUIRE_BROWSER"):
            pytest.fail(f"REPLAN_REQUIRE_BROWSER is set, and no {name} is installed")
        pytest.skip(f"no {name} is installed: pages are not tested in it (apt-get install {package})")


async def signed_in(browser, web, **options):
    """Return a page whose browser has the world's session."""
    page = await browser.page(**options)
    name, value = next(iter(web.browser.cookies.items()))
    await page.call("Network.setCookie", name=name, value=value, url=web.address)
    return page


async def check_accessible(page):
    """Check what axe-core checks of a page, in light and dark and on a narrow screen, and that it fits its window."""
    code = AXE.read_text(encoding="utf-8")
    assert hashlib.sha256(code.encode()).hexdigest() == AXE_HASH
    await page.call("Runtime.evaluate", expression=code)
    await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for look, rules in ({}, RULES), ({"dark": True}, _only("color-contrast")), ({"width": 375}, _only("target-size")):
        await page.look(**look)
        found = await page.evaluate(f"axe.run(document, {json.dumps(rules)}).then(found => found.violations)")
        place = await page.evaluate("location.pathname + ' ' + innerWidth")
        problems = [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]
        assert not problems, (place, look, problems)
        wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, (place, wide)
    await page.look()


def _only(rule):
    return {"runOnly": {"type": "rule", "values": [rule]}}


def check_quiet(page, web):
    """Check that nothing failed on the page, and that it asked no other host for anything."""
    assert page.errors == []
    assert [each for each in page.requests if not each.startswith((web.address, "data:", "about:"))] == []
