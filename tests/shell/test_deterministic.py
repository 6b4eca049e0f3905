"""The seeded scheduler: trio's private names are there, and one number decides everything."""

import random

import pytest
import trio
from trio._core import _run as trio_run

from tests.support import deterministic


def test_trio_still_has_the_names_that_seed_its_scheduler():
    """A new release of trio that renames its hook fails here, and not by runs that cannot be repeated."""
    assert [name for name in deterministic.PRIVATE if not hasattr(trio_run, name)] == []
    assert isinstance(trio_run._r, random.Random)


async def _crowd():
    """Let eight tasks talk, wait and give up; return the order in which they were heard."""
    heard = []
    send, receive = trio.open_memory_channel(0)

    async def talk(name):
        for count in range(5):
            await trio.sleep(count % 3)
            with trio.move_on_after(1.5):
                await send.send((name, count))

    async def listen():
        while True:
            heard.append(await receive.receive())
            await trio.sleep(0.5)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        async with trio.open_nursery() as talkers:
            for name in range(8):
                talkers.start_soon(talk, name)
        nursery.cancel_scope.cancel()
    return heard


def test_the_same_seed_gives_the_same_steps_and_another_seed_gives_others():
    """Order, trace hash and virtual time; and trio is left as it was."""
    before = trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate()
    once, again = deterministic.run(_crowd, 1), deterministic.run(_crowd, 1)
    assert once == again
    assert len({deterministic.run(_crowd, seed).trace for seed in range(20)}) == 20
    assert len({str(deterministic.run(_crowd, seed).result) for seed in range(20)}) > 10
    assert (trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate()) == before


def test_a_program_that_goes_round_in_circles_is_stopped():
    """The virtual clock stands still for it, so that no time-out could."""

    async def circles():
        while True:
            await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="no end after"):
        deterministic.run(circles, 1)


def test_an_error_of_the_program_comes_out():
    """As `trio.run` lets it out."""

    async def broken():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        deterministic.run(broken, 1)
