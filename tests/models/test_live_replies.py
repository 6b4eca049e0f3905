"""Replies in progress: what models have written so far is told while it grows, and gone when the call is over."""

from contextlib import aclosing
from itertools import pairwise

import pytest
import trio

from runtime.models.port import Reply
from runtime.models.watched import TOLD_SECONDS, LiveReplies, WatchedModel
from tests.contracts.model import request


class Writer:
    """A model that writes one piece a millisecond, and then waits until it may end."""

    name = "writer"

    def __init__(self, pieces=1, *, fails=False):
        self.pieces, self.fails, self.may_end = pieces, fails, trio.Event()

    async def complete(self, asked):
        text = ""
        for number in range(self.pieces):
            text += f"{number} "
            asked.heard(len(text), lambda text=text: text)
            await trio.sleep(0.001)
        await self.may_end.wait()
        if self.fails:
            raise ValueError("a bug")
        return Reply(text, None, self.name)


def texts(replies, run="r"):
    return {name: reply.text for name, reply in replies.of(run).items()}


async def test_a_reply_is_there_while_its_call_is_open(autojump_clock):
    writer, replies = Writer(), LiveReplies()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(WatchedModel(writer, replies).complete, request("a/v1.a1", run="r"))
        await trio.sleep(1.0)
        assert texts(replies) == {"a/v1.a1": "0 "}
        assert texts(replies, "another") == {}
        writer.may_end.set()
    assert texts(replies) == {}


@pytest.mark.parametrize("way", ["fault", "cancel"])
async def test_a_reply_is_gone_however_its_call_ends(way, autojump_clock):
    writer, replies = Writer(fails=True), LiveReplies()
    with pytest.raises(ExceptionGroup) if way == "fault" else trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(WatchedModel(writer, replies).complete, request("a/v1.a1", run="r"))
            await trio.sleep(1.0)
            assert texts(replies) != {}
            writer.may_end.set() if way == "fault" else scope.cancel()
    assert texts(replies) == {}


async def test_changes_are_told_a_few_times_a_second_however_many_pieces_come(autojump_clock):
    writer, replies, told = Writer(pieces=2_000), LiveReplies(), []
    async with trio.open_nursery() as nursery, aclosing(replies.changes("r")) as changes:
        nursery.start_soon(WatchedModel(writer, replies).complete, request("a/v1.a1", run="r"))
        async for now in changes:
            told.append((trio.current_time(), texts(replies)))
            if told[-1][1].get("a/v1.a1", "").endswith("1999 "):
                writer.may_end.set()
            if not now:
                break
    gaps = [after - before for (before, _), (after, _) in pairwise(told)]
    assert min(gaps) >= TOLD_SECONDS - 0.001
    assert len(told) >= 6
    assert told[-1][1] == {}


async def test_nothing_is_told_while_nothing_changes(autojump_clock):
    replies = LiveReplies()
    replies.heard("r", "a/v1.a1", 3, lambda: "abc")
    async with aclosing(replies.changes("r")) as changes:
        assert len(await anext(changes)) == 1
        with trio.move_on_after(60) as scope:
            await anext(changes)
    assert scope.cancelled_caught


def test_the_text_has_no_control_characters():
    replies = LiveReplies()
    replies.heard("r", "a/v1.a1", 9, lambda: "a\x1b[31mb\u202ec\ud800")
    assert texts(replies) == {"a/v1.a1": "abc\ufffd"}
