"""Long lists and trees are shown in parts, from which the whole can be put together."""

import re
from dataclasses import replace
from html import unescape

import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.values.lines import LineTree, line
from packages.server.tests.web.world import PLANS, served
from replan.runs.families import read_shown
from replan_server.service.cached_reader import CachedReader
from replan_server.service.run_data import row_page, tree_page
from replan_server.web.site import PartsMaker
from runtime.core.machine import fold
from tests.cli.samples import BACKTRACKS, LOST, PLAN

TREES = st.recursive(st.just(()), lambda below: st.lists(below, max_size=4).map(tuple), max_leaves=40)
"""The shapes of trees: tuples of shapes."""


def numbered(shape, numbers):
    """Return a tree of a shape, whose rows have numbers in the order in which they are shown."""
    text = str(next(numbers))
    return LineTree(line(text), tuple(numbered(child, numbers) for child in shape))


def rows(tree):
    """Return the numbers of a tree's rows, in the order in which they are shown."""
    return [int(tree.line.plain), *(row for child in tree.children for row in rows(child))]


@given(TREES, st.integers(1, 9))
def test_the_pages_of_a_tree_have_each_row_once_under_the_rows_that_it_stands_under(shape, most):
    tree = numbered(shape, iter(range(-1, 10_000)))
    total = len(rows(tree)) - 1
    seen = []
    for begin in range(0, max(total, 1), most):
        page = tree_page(tree, begin, most)
        assert (page.begin, page.total) == (begin, total)
        shown = rows(page.shown)
        assert shown[0] == -1
        own = [row for row in shown if page.begin <= row < page.end]
        assert own == list(range(page.begin, page.end))
        assert all(row < page.begin for row in shown if row not in own)
        seen += own
    assert seen == list(range(total))
    last = tree_page(tree, None, most)
    assert last.end == total
    assert last.count == min(most, total)


def test_a_page_beyond_the_end_has_no_rows():
    tree = numbered(((), ()), iter(range(-1, 9)))
    assert tree_page(tree, 77, 5).shown.children == ()
    assert row_page([1, 2, 3], 77, 5).shown == []
    assert (row_page([1, 2, 3], 1, 1).shown, row_page([1, 2, 3], 1, 1).end) == ([2], 2)


async def test_a_long_search_is_shown_from_its_end_with_links_to_what_was_before(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.web.run_page.ROWS_MAX", 4)
    async with served(tmp_path, scripts={"backtracks": BACKTRACKS}) as web:
        run = await web.start("backtracks")
        await web.settled(run, "finished")
        page = (await web.browser.get(f"/runs/{run}?tab=search")).text
        nodes = []
        while found := re.search(rf'rel="prev" href="(/runs/{run}\?tab=search&amp;tree=\d+)#h-tree"', page):
            nodes += re.findall(rf'href="/runs/{run}/attempts/([^"]+)"', page)
            page = (await web.browser.get(unescape(found[1]))).text
        nodes += re.findall(rf'href="/runs/{run}/attempts/([^"]+)"', page)
        asked = {f"{step}/{attempt}" for step, attempt in re.findall(r"(g_\w+)/(v\d\.a\d)", " ".join(nodes))}
        assert asked >= {"g_analysis/v1.a1", "g_strategy/v2.a1", "g_plan/v1.a1", "g_plan/v2.a1"}
        assert "later rows" in page
        limited = await web.start("backtracks", limits={"max_calls": 2})
        await web.settled(limited, "finished")
        assert "Lines 1 to 4 of" in (await web.browser.get(f"/runs/{limited}")).text
        assert (await web.browser.get(f"/runs/{run}?tree=x")).status_code == 422


async def test_the_inbox_has_pages_with_the_oldest_questions_first(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.web.runs_page.QUESTIONS_MAX", 2)
    async with served(tmp_path) as web:
        runs = []
        for number in range(3):
            runs.append(await web.start("asks", f"# Login {number} fails\n\nThe login fails.\n"))
            await web.settled(runs[-1], "waiting")
        first, second = [(await web.browser.get(path)).text for path in ("/", "/?page=1")]
        # Equal questions share a form.
        assert [re.findall(r'id="form-(\w+)-q1"', page) for page in (first, second)] == [runs[:1], runs[2:]]
        assert f'name="also" value="{runs[1]}/q1"' in first
        assert 'href="/?page=1"' in first
        assert 'href="/?page=0"' in second
        assert "No questions on this page." in (await web.browser.get("/?page=9")).text
        await web.engine.answer(f"{runs[0]}/q1", "3.12", via="cli")
        await web.settled(runs[0], "finished")
        assert runs[2] in (await web.browser.get("/")).text


async def test_a_prompt_is_rebuilt_from_the_nearest_kept_state_as_from_the_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.cached_reader.MARK", 3)
    script = {**PLANS, "g_plan": [LOST, "no JSON", PLAN], "g_strategy": PLANS["g_strategy"]}
    async with served(tmp_path, scripts={"long": script}) as web:
        run = await web.start("long")
        await web.settled(run, "finished")
        reader = CachedReader(web.engine.journal, web.engine.kinds)
        loaded, near = await reader.read_marked(run)
        assert near(len(loaded.records))[0] > 0
        make = loaded.kind.views.prompt
        requests = [each.event for each in loaded.records if each.event.kind == "generation_requested"]
        assert len(requests) > 4
        for request in requests:
            sent = make(loaded.records, request.request_id, near)
            assert sent == make(loaded.records, request.request_id)
            assert (sent.prompt_hash, sent.verified) == (request.prompt_hash, True)


async def test_a_server_reads_only_what_is_new_of_a_run_that_it_has_read(tmp_path, monkeypatch):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("asks")
        reader = CachedReader(web.engine.journal, web.engine.kinds)
        first = await reader.read(run)
        engine = replace(web.engine, cache=reader)
        assert (await engine.read(run)).state is first.state
        await engine.resume(run)
        places, read = [], type(web.engine.journal).read

        async def counted(journal, name, after=0):
            places.append(after)
            return await read(journal, name, after)

        monkeypatch.setattr(type(web.engine.journal), "read", counted)
        later = await engine.read(run)
        assert later.records[: first.seq] == first.records
        assert later.state == (await web.engine.read(run)).state
        assert places == [first.seq, 0]


async def test_a_long_run_is_folded_and_drawn_in_threads_and_comes_out_the_same(tmp_path, monkeypatch):
    async with served(tmp_path, scripts={"long": BACKTRACKS}) as web:
        run = await web.start("long")
        await web.settled(run, "finished")
        expected = await web.engine.read(run)
        parts = await PartsMaker().parts(await read_shown(web.engine, run))
        reader, found, aside, in_thread = (
            CachedReader(web.engine.journal, web.engine.kinds),
            [],
            [],
            trio.to_thread.run_sync,
        )

        async def counted(work, *arguments, **options):
            aside.append(getattr(work, "__name__", ""))
            return await in_thread(work, *arguments, **options)

        async def look():
            found.append(await reader.read_marked(run))

        for name in ("replan_server.service.cached_reader.AT_ONCE_MAX", "replan_server.web.site.AT_ONCE_MAX"):
            monkeypatch.setattr(name, 3)
        monkeypatch.setattr("replan_server.service.cached_reader.MARK", 5)
        monkeypatch.setattr(trio.to_thread, "run_sync", counted)
        async with trio.open_nursery() as nursery:  # Two who look at the same time do not disturb each other.
            nursery.start_soon(look)
            nursery.start_soon(look)
        assert len(expected.records) > 3
        for loaded, near in found:
            assert (loaded.state, loaded.records) == (expected.state, expected.records)
            place, state = near(len(loaded.records))
            assert place == len(loaded.records) // 5 * 5
            assert state == fold(loaded.kind.machine, (each.event for each in loaded.records[:place]))
        same = await PartsMaker().parts(await read_shown(reader, run))
        assert (same, same.tree.to_json()) == (parts, parts.tree.to_json())
        assert (aside.count("with_records"), aside.count("_make_parts")) == (2, 1)


async def test_the_result_of_a_run_is_made_once_for_all_who_look_until_it_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.cached_reader.VIEWS_MAX", 1)
    async with served(tmp_path, hosts=False) as web:
        runs = [await web.start("asks"), await web.start("plans")]
        reader = CachedReader(web.engine.journal, web.engine.kinds)
        first = await reader.result(runs[0])
        assert await reader.result(runs[0]) is first
        await web.engine.tell(runs[0], "Python 3.12")
        assert (await reader.result(runs[0])).messages[0].text == "Python 3.12"
        await web.engine.resume(runs[0])
        assert (await reader.result(runs[0])).status == "waiting"
        assert await reader.result(runs[0]) == await web.engine.result(runs[0])
        again = await reader.result(runs[1])
        await reader.result(runs[0])
        assert await reader.result(runs[1]) is not again
        assert await reader.result(runs[1]) == again
