"""The ids of runs on all pages: one length, with the whole id in the title."""

import re
from html import unescape
from html.parser import HTMLParser

from actors.planning.prepare import PlanningInput, RunOptions
from packages.server.tests.web.world import served
from replan.runs.prepare import RunOrder, prepare
from replan.runs.reader import ALL, SHOWN, short_id
from replan.setup.settings import UserConfig
from tests.cli.samples import ANALYSIS, PLAN, PROBLEM, STRATEGY
from tests.long.api.test_children import CHILD, PARENT, write

NAMED = "a-run-that-a-test-has-named"
COMMAND = re.compile(r"`[^`]+`|(The whole plan|as Markdown): \S.* (show|export) \S+")
"""Commands that a text quotes: they have whole ids, since they are to be copied."""
SCRIPT = {"g_analysis": [ANALYSIS], "c_strategy": [STRATEGY], "c_plan": [PLAN]}


class Texts(HTMLParser):
    """Collects what people read on a page, commands left out, and the title and the text of each element with both."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.titled, self._open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag not in ("input", "meta", "link", "br", "rect", "path"):
            self._open.append((tag, dict(attrs).get("title"), []))

    def handle_endtag(self, tag):
        while self._open:
            name, title, texts = self._open.pop()
            if title:
                self.titled.append((title, "".join(texts)))
            if self._open:
                self._open[-1][2].extend(texts)
            if name == tag:
                return

    def handle_data(self, data):
        if self._open:
            self._open[-1][2].append(data)
        if not any(tag in ("code", "script", "style") for tag, *_ in self._open):
            self.texts.append(COMMAND.sub("", data))


async def pages(web, *starts):
    """Yield each page that links lead to from some pages, with its address."""
    seen, waiting = set(), list(starts)
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = await web.browser.get(address)
        assert answer.status_code == 200, address
        if answer.headers["content-type"].startswith("text/html"):
            yield address, answer.text
            links = (unescape(link).partition("#")[0] for link in re.findall(r'href="(/[^"]*)"', answer.text))
            waiting += [link for link in links if not link.startswith("/static/")]


async def test_every_page_shows_ids_of_one_length_with_the_whole_id_beside_them(tmp_path):
    """Of a run with a long name, of its step, which is a run too, and of one that waits; on all pages with links."""
    workflow = write(tmp_path, above=PARENT, below=CHILD)
    async with served(tmp_path, hosts=False, scripts={"child": SCRIPT}) as web:
        spec = web.config.clients.models["child"]
        prepared = prepare(
            RunOrder(PlanningInput(PROBLEM, RunOptions(workflow=str(workflow))), spec),
            config=UserConfig(),
            registry=web.engine.registry,
            environment={},
            now=web.engine.clock.now(),
        ).request
        assert (await web.engine.begin(prepared, run=NAMED)).outcome == "success"
        await web.engine.resume(await web.start("asks"))
        ids = [row.run for row in await web.engine.journal.runs(ALL)]
        assert {len(run) for run in ids} == {SHOWN, len(NAMED), len(NAMED) + 1 + SHOWN}
        addresses, shown = [], set()
        async for address, text in pages(web, "/", "/runs", *(f"/runs/{run}" for run in ids), f"/new?like={NAMED}"):
            addresses.append(address)
            page = Texts(text)
            for run in ids:
                assert len(run) == SHOWN or run not in "".join(page.texts), (address, run)
            for title, words in page.titled:
                if title in ids:
                    shown.add(title)
                    assert short_id(title) in words, (address, title, words)
        assert shown == set(ids)
        assert len(addresses) > 15
