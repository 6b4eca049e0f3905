"""The hub wakes each stream for each commit, and asks once for what all streams want."""

from contextlib import aclosing

import trio

from replan_server.service.live import PING_SECONDS, SHARED_MAX, Hub


class Journal:
    """The part of a journal that a hub uses."""

    def __init__(self):
        self.number = 1

    async def version(self):
        await trio.lowlevel.checkpoint()
        return self.number


async def test_a_commit_while_the_last_one_is_told_is_told_too(autojump_clock, nursery):
    journal = Journal()
    hub, stop = Hub(journal), trio.Event()
    nursery.start_soon(hub.watch)
    async with aclosing(hub.changes(stop)) as changes:
        assert await anext(changes) is True
        journal.number += 1
        await trio.sleep(1)  # The hub notices the commit while the stream is still busy.
        begun = trio.current_time()
        assert await anext(changes) is True
        assert trio.current_time() == begun
        assert await anext(changes) is False
        assert trio.current_time() >= begun + PING_SECONDS
        stop.set()
        assert [each async for each in changes] == []
    nursery.cancel_scope.cancel()


async def test_what_many_streams_ask_for_is_asked_once_after_each_commit(autojump_clock, nursery):
    journal, asked, got = Journal(), [], []
    hub, stop = Hub(journal), trio.Event()
    nursery.start_soon(hub.watch)

    async def ask():
        await trio.sleep(0.001)
        asked.append(journal.number)
        return journal.number

    async def follow():
        async with aclosing(hub.changes(stop)) as changes:
            got.extend([(changed, await hub.ask_once("place", ask)) async for changed in changes])

    async with trio.open_nursery() as streams:
        for _ in range(50):
            streams.start_soon(follow)
        await trio.sleep(1)
        journal.number += 1
        await trio.sleep(1)
        stop.set()
    assert asked == [1, 2]
    assert sorted(got) == [(True, 1)] * 50 + [(True, 2)] * 50
    nursery.cancel_scope.cancel()


async def test_a_failed_question_is_asked_again_and_few_answers_are_kept(autojump_clock, nursery):
    hub, stop, answers = Hub(Journal()), trio.Event(), [ValueError("busy"), 7]
    nursery.start_soon(hub.watch)

    async def ask():
        await trio.lowlevel.checkpoint()
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with aclosing(hub.changes(stop)) as changes:
        await anext(changes)
        try:
            await hub.ask_once("a", ask)
        except ValueError:
            assert await hub.ask_once("a", ask) == 7
        assert answers == []
        answers += range(SHARED_MAX + 1)
        for number in range(SHARED_MAX):
            await hub.ask_once(number, ask)
        assert await hub.ask_once("a", ask) == SHARED_MAX
    nursery.cancel_scope.cancel()
