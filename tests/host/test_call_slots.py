"""Slots for calls that all hosts of a journal share, on trio's clock: no more calls in flight, and no host starves."""

from contextlib import asynccontextmanager

import pytest
import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import JournalBusy
from runtime.host.call_slots import TTL_SECONDS, SharedSlots
from runtime.journal.memory import MemoryStore, open_memory
from tests.contracts.toy_events import CODEC

PROVIDER = "api.example.com"


class Calls:
    """Calls to a provider from several hosts; `busiest` is the most that were in flight at once."""

    def __init__(self):
        self.busy = self.busiest = 0
        self.done = {}

    async def one(self, slots, host, seconds=1.0):
        async with slots.slot(PROVIDER):
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
            try:
                await trio.sleep(seconds)
            finally:
                self.busy -= 1
        self.done[host] = self.done.get(host, 0) + 1


@pytest.fixture
def store():
    return MemoryStore()


@asynccontextmanager
async def hosts(store, *names, most=4):
    """Open the slots of some hosts of one journal."""
    async with open_memory(CODEC, TrioClock(0.0), store=store) as journal, trio.open_nursery() as nursery:
        opened = [SharedSlots(journal, name, {PROVIDER: most}) for name in names]
        for slots in opened:
            nursery.start_soon(slots.keep)
        yield journal, opened
        nursery.cancel_scope.cancel()


async def test_calls_of_all_hosts_together_stay_below_the_limit(store, autojump_clock):
    calls = Calls()
    async with hosts(store, "one", "two", "three") as (_, opened), trio.open_nursery() as nursery:
        for number in range(60):
            nursery.start_soon(calls.one, opened[number % 3], number % 3)
    assert calls.busiest <= 4
    assert calls.done == {0: 20, 1: 20, 2: 20}
    assert trio.current_time() < 30.0
    assert store.slots[PROVIDER] == {}


async def test_a_host_that_comes_later_gets_its_part(store, autojump_clock):
    calls = Calls()
    async with hosts(store, "one", "two") as (_, (one, two)), trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(calls.one, one, "one")
        await trio.sleep(1.5)
        for _ in range(4):
            nursery.start_soon(calls.one, two, "two")
        await trio.sleep(5.0)
        assert calls.done["two"] == 4
        assert calls.done["one"] < 40
        nursery.cancel_scope.cancel()
    assert calls.busiest <= 4


async def test_a_provider_without_a_limit_needs_no_slot(store, autojump_clock):
    async with hosts(store, "one") as (_, (slots,)), slots.slot("another.example.com"):
        assert store.slots == {}


async def test_slots_that_cannot_be_renewed_are_used_for_no_new_call(store, autojump_clock, monkeypatch):
    calls = Calls()
    async with hosts(store, "one") as (journal, (slots,)), trio.open_nursery() as nursery:
        await calls.one(slots, "one")

        async def busy(*_, **__):
            raise JournalBusy("the journal")

        take = journal.take_slots
        monkeypatch.setattr(journal, "take_slots", busy)
        await trio.sleep(2 * TTL_SECONDS)
        nursery.start_soon(calls.one, slots, "one")
        await trio.sleep(5.0)
        assert calls.busy == 0
        monkeypatch.setattr(journal, "take_slots", take)
        await trio.sleep(1.0)
        assert calls.busy == 1


async def test_a_call_that_is_given_up_while_it_waits_leaves_nothing(store, autojump_clock):
    calls = Calls()
    async with hosts(store, "one", most=1) as (_, (slots,)), trio.open_nursery() as nursery:
        nursery.start_soon(calls.one, slots, "first", 10.0)
        await trio.sleep(1.0)
        with trio.move_on_after(2.0):
            await calls.one(slots, "second")
        await trio.sleep(10.0)
        await calls.one(slots, "third")
    assert calls.done == {"first": 1, "third": 1}
