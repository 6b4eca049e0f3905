"""The documentation as a site: its reading order, and what its search finds (`make site`)."""

import functools
import os
import re
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

import replan
from packages.server.tests.long.web.browsing import need_browser
from packages.server.tests.long.web.chromium import chromium

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
QUESTIONS = {
    "install": {"common-questions", "tutorial/first-plan"},
    "limit cost": {"common-questions", "how-to/limit-spending"},
    "kill -9": {"common-questions", "explanation/crash-safety"},
    "own model server": {"common-questions", "how-to/use-a-model-server"},
    "custom guard": {"common-questions", "how-to/write-a-guard"},
    "approve tool call": {"common-questions", "how-to/execute-a-plan", "reference/tools"},
    "concurrency": {"explanation/performance", "how-to/run-workers"},
    "debug prompt": {"common-questions", "how-to/resume-and-inspect"},
    "langgraph": {"common-questions", "explanation/comparison"},
    "what is not guaranteed": {"explanation/guards", "explanation/promises"},
    "postgres connection": {"common-questions", "how-to/use-postgres"},
    "backup restore": {"how-to/back-up"},
    "upgrade migration": {"common-questions", "how-to/upgrade"},
    "worker dies lease": {"common-questions", "explanation/workers", "how-to/run-workers"},
    "http api token": {"common-questions", "reference/http-api"},
    "webhook signature": {"how-to/send-webhooks"},
    "human approval": {"common-questions", "how-to/talk-to-a-run"},
    "cost per customer": {"common-questions", "how-to/limit-spending"},
    "secrets": {"common-questions", "explanation/security"},
    "undo step rollback": {"common-questions", "explanation/execution", "reference/tools"},
    "what is proved": {"explanation/guards", "explanation/promises"},
    "search policy": {"common-questions", "explanation/search", "reference/policy"},
    "backtrack": {"explanation/search"},
    "compare models": {"common-questions", "how-to/run-an-experiment"},
    "experiment dataset": {"common-questions", "how-to/run-an-experiment"},
    "replay without model": {"common-questions", "how-to/resume-and-inspect"},
    "decision trace": {"common-questions", "how-to/look-at-traces", "reference/telemetry"},
    "pddl": {"how-to/check-pddl-plans"},
    "add a critic": {"common-questions", "how-to/write-a-workflow"},
    "count tokens": {"common-questions", "explanation/budgets"},
}
"""Thirty questions of three readers who had not seen the pages, with the pages that answer them."""
NAMES = "reference/names.md"
WRONG_MAX = 2
"""For how many of these questions the first result may be a wrong page (issue 51)."""
TYPED = (
    "document.querySelector('.md-search__input').dispatchEvent(new KeyboardEvent('keyup', {bubbles: true, key: 'a'}))"
)
FIRST = "document.querySelector('.md-search-result__link')?.getAttribute('href')"


def listed(entry):
    """Yield the pages of a part of the navigation, in its order."""
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from listed(part)


def test_the_site_has_every_page_once_in_the_order_of_the_list_of_pages():
    """Each page is two clicks from the start. The page of all names is made when the site is built."""
    pages = [
        page
        for page in listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
        if page != NAMES
    ]
    readme = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert pages == ["README.md", *dict.fromkeys(re.findall(r"\]\(([\w/-]+\.md)\)", readme))]
    folders = ("explanation", "how-to", "reference", "tutorial")
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")}
    there |= {f"{folder}/{path.name}" for folder in folders for path in (ROOT / "docs" / folder).glob("*.md")}
    assert set(pages) == there


@contextmanager
def served_site():
    """Serve the built site as `python -m http.server` does, and give its address."""
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture
def site():
    """The built site. Without it, a test is skipped, or fails if REPLAN_REQUIRE_SITE is set."""
    if not (SITE / "index.html").exists():
        if os.environ.get("REPLAN_REQUIRE_SITE"):
            pytest.fail("REPLAN_REQUIRE_SITE is set, and the site is not built: make site")
        pytest.skip("the site is not built: make site")
    return SITE


def test_a_page_has_every_name_of_the_package_with_its_docstring(site):
    html = (site / "reference" / "names.html").read_text(encoding="utf-8")
    assert {name for name in replan.__all__ if f'.{name}" class="doc doc-heading">' not in html} == set()
    assert "Plan a problem" in html


@pytest.mark.usefixtures("site")
async def test_the_first_result_of_the_search_answers_a_strangers_question():
    """Nothing is asked of another host, diagrams are drawn, and pages fit a telephone."""
    need_browser()
    wrong = {}
    with served_site() as address:
        async with chromium() as browser:
            page = await browser.page()
            await page.go(f"{address}/index.html")
            await page.until("document.querySelector('.md-search__input')")
            await page.evaluate("document.querySelector('.md-search__input').focus()")
            await page.until("document.querySelector('.md-search[data-md-component=search]')")
            for question, answers in QUESTIONS.items():
                first = await first_result(page, question)
                if first.removeprefix(f"{address}/").partition(".html")[0] not in answers:
                    wrong[question] = first
            assert len(wrong) <= WRONG_MAX, wrong
            await page.look(width=390)
            for name in ("index", "tutorial/first-plan", "reference/names", "reference/acquisition"):
                await page.go(f"{address}/{name}.html")
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert await page.evaluate(wide) <= 0, name
            if (SITE.parent / "site-tools" / "mermaid.min.js").exists():  # Without it the source of a diagram is shown.
                await page.until("document.querySelector('div.mermaid')")
            assert page.errors == []
            assert [each for each in page.requests if not each.startswith((address, "data:", "about:"))] == []


async def first_result(page, question):
    """Return the address of the first result for a question that is typed into the search."""
    await page.evaluate("document.querySelector('.md-search__input').value = ''")
    await page.until(f"({TYPED}, !{FIRST})")
    await page.call("Input.insertText", text=question)
    await page.until(f"({TYPED}, {FIRST})")
    return (await page.evaluate(FIRST)).partition("?")[0]
