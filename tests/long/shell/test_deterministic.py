"""The seeded scheduler: trio's private names exist, and the seed determines the whole execution."""

import random

import pytest
import trio
from trio._core import _run as trio_run

from tests.support import deterministic


def test_trio_still_has_the_names_that_seed_its_scheduler():
    assert [name for name in deterministic.PRIVATE if not hasattr(trio_run, name)] == []
    assert isinstance(trio_run._r, random.Random)


async def _eight_senders():
    received = []
    send, receive = trio.open_memory_channel(0)

    async def send_five(name):
        for count in range(5):
            await trio.sleep(count % 3)
            with trio.move_on_after(1.5):
                await send.send((name, count))

    async def receive_all():
        while True:
            received.append(await receive.receive())
            await trio.sleep(0.5)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive_all)
        async with trio.open_nursery() as senders:
            for name in range(8):
                senders.start_soon(send_five, name)
        nursery.cancel_scope.cancel()
    return received


def test_the_seed_determines_the_steps():
    """Order, trace hash and virtual time; trio's own state is restored."""
    before = trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate()
    first, second = deterministic.run(_eight_senders, 1), deterministic.run(_eight_senders, 1)
    assert first == second
    assert len({deterministic.run(_eight_senders, seed).trace for seed in range(20)}) == 20
    assert len({str(deterministic.run(_eight_senders, seed).result) for seed in range(20)}) > 10
    assert (trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate()) == before


def test_an_endless_program_is_stopped():
    """Its virtual clock stands still, so that no timeout could stop it."""

    async def endless():
        while True:
            await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="no end after"):
        deterministic.run(endless, 1)


def test_an_error_of_the_program_is_raised():

    async def broken():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        deterministic.run(broken, 1)
