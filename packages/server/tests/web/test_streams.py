"""Streams: what is new is said at once, a reconnecting client misses nothing, and streams end when they should."""

import re
from contextlib import asynccontextmanager

import trio

from packages.server.tests.web.world import served
from replan_server.service import limits


class Events:
    """Reads the events of an open stream."""

    def __init__(self, response):
        self._lines = response.aiter_lines()

    async def next(self):
        """Return the name and the id of the next event; None at the end of the stream."""
        fields = {}
        with trio.fail_after(300):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = value
                elif "event" in fields:
                    return fields["event"], fields.get("id", "")
                elif not line:
                    fields = {}
        return None


@asynccontextmanager
async def streaming(web, path, **headers):
    """Open a stream for the length of a block."""
    async with web.browser.stream("GET", path, headers=headers, timeout=30) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        yield Events(response)


async def test_a_stream_says_at_once_that_a_run_has_changed(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("asks")
        async with streaming(web, f"/live?run={run}") as events:
            name, cursor = await events.next()
            assert name == "at"
            assert cursor.startswith(f"{run}:1:")
            await web.engine.tell(run, "Python 3.12")
            begun = trio.current_time()
            name, later = await events.next()
            assert name == "changed"
            assert later != cursor
            assert trio.current_time() - begun < 8


async def test_a_client_that_reconnects_learns_what_it_has_missed(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        async with streaming(web, f"/live?run={run}") as events:
            _, cursor = await events.next()
        async with streaming(web, f"/live?run={run}", **{"last-event-id": cursor}) as events:
            assert (await events.next())[0] == "at"
        await web.engine.resume(run)
        async with streaming(web, f"/live?run={run}", **{"last-event-id": cursor}) as events:
            name, new = await events.next()
            assert name == "changed"
            assert int(new.split(":")[1]) == (await web.engine.journal.row(run)).last_seq
        async with streaming(web, f"/live?run={run}&after={cursor}") as events:
            assert (await events.next())[0] == "changed"


async def test_the_stream_of_the_home_says_that_any_run_has_changed(tmp_path):
    async with served(tmp_path, hosts=False) as web, streaming(web, "/live") as events:
        assert (await events.next())[0] == "at"
        await web.start("plans")
        assert (await events.next())[0] == "changed"


async def test_a_stream_ends_with_its_session(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.live.PING_SECONDS", 0.1)
    async with served(tmp_path, hosts=False) as web, streaming(web, "/live") as events:
        await events.next()
        await web.post("/sign-out", {"everywhere": "yes"})
        assert await events.next() is None


async def test_a_stream_of_a_deleted_run_says_that_it_is_gone(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        async with streaming(web, f"/live?run={run}") as events:
            await events.next()
            row = await web.engine.journal.row(run)
            await web.engine.journal.delete({run: row.last_seq})
            assert (await events.next())[0] == "gone"


async def test_streams_end_cleanly_when_the_server_stops(tmp_path):
    async with trio.open_nursery() as nursery:
        ended = trio.Event()

        async def follow(web, task_status):
            async with streaming(web, "/live") as events:
                task_status.started()
                while await events.next() is not None:
                    pass
                ended.set()

        async with served(tmp_path, hosts=False) as web, trio.open_nursery() as inner:
            await inner.start(follow, web)
            web.stop.requested.set()
        assert ended.is_set()
        nursery.cancel_scope.cancel()


async def test_one_client_opens_only_so_many_streams(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "STREAMS_MAX", 2)
    async with served(tmp_path, hosts=False) as web:
        async with streaming(web, "/live") as one, streaming(web, "/live") as two:
            await one.next()
            await two.next()
            assert (await web.browser.get("/live")).status_code == 429
        async with streaming(web, "/live") as again:
            assert (await again.next())[0] == "at"


async def test_a_made_up_cursor_only_means_that_everything_is_new(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        for cursor in ["x" * 5000, "nonesuch:1:0", "\u00e9", "1; DROP TABLE runs", "abc:999999999:x"]:
            run = await web.start("plans")
            headers = {"last-event-id": cursor.encode("utf-8").decode("latin-1").encode("latin-1")}
            if len(cursor) > 1000:
                headers = {"last-event-id": cursor[:5000]}
            async with streaming(web, f"/live?run={run}", **headers) as events:
                assert (await events.next())[0] in ("at", "changed")


async def test_a_page_holds_the_cursor_that_its_stream_begins_with_unless_something_has_changed(tmp_path):
    async with served(tmp_path, hosts=False) as web:
        run = await web.start("plans")
        shown = {path: await cursor_shown(web, path) for path in ("/", "/runs", f"/runs/{run}", f"/runs/{run}/records")}
        for stream, paths in ("/live", ("/", "/runs")), (f"/live?run={run}", (f"/runs/{run}", f"/runs/{run}/records")):
            async with streaming(web, stream) as events:
                told = await events.next()
            assert [("at", shown[path]) for path in paths] == [told, told]
        await web.engine.tell(run, "Python 3.12")
        for path, cursor in shown.items():
            assert await cursor_shown(web, path) != cursor


async def cursor_shown(web, path):
    return re.search(r'<div id="live" data-cursor="([^"]+)"', (await web.browser.get(path)).text)[1]
