"""Journal contract: slots for calls; all hosts together have no more than there are, and in need equal parts."""

import pytest
import trio

from runtime.core.errors import UsageProblem
from tests.contracts.toy_events import LONE_SURROGATE


def take(journal, host, wanted, *, using=0, most=8, provider="api.example.com", ttl=60.0):
    return journal.take_slots(provider, host, using=using, wanted=wanted, most=most, ttl=ttl)


class SlotsContract:
    """A part of `tests.contracts.journal.JournalContract`."""

    async def test_hosts_have_no_more_slots_together_than_there_are(self, journal, open_journal):
        assert await take(journal, "one", 5) == 5
        async with open_journal() as other:
            assert await take(other, "two", 5) == 3
            assert await take(other, "two", 5, provider="another.example.com") == 5
            assert await take(journal, "one", 0) == 0
            assert await take(other, "two", 20) == 8

    async def test_a_host_that_has_more_than_its_part_gives_it_to_one_that_is_short(self, journal):
        assert await take(journal, "one", 8) == 8
        assert await take(journal, "two", 6) == 0
        assert await take(journal, "one", 8, using=7) == 7
        assert await take(journal, "one", 8, using=3) == 4
        assert await take(journal, "two", 6) == 4
        assert await take(journal, "three", 1) == 0
        assert await take(journal, "two", 2, using=2) == 2
        assert await take(journal, "three", 1) == 1

    async def test_calls_in_flight_keep_their_slots_even_where_there_are_too_few(self, journal):
        assert await take(journal, "one", 8) == 8
        assert await take(journal, "two", 4, using=3) == 3
        assert await take(journal, "three", 1) == 0

    async def test_the_slots_of_a_host_that_does_not_renew_them_end(self, journal, clock):
        assert await take(journal, "one", 8, ttl=10.0) == 8
        clock.time += 9.0
        assert await take(journal, "two", 1) == 0
        clock.time += 2.0
        assert await take(journal, "two", 8) == 8

    async def test_hosts_that_ask_at_once_are_counted_one_after_the_other(self, journal, open_journal):
        got = []

        async def ask(on, host):
            got.append(await take(on, host, 3))

        async with open_journal() as other, trio.open_nursery() as nursery:
            for number in range(6):
                nursery.start_soon(ask, (journal, other)[number % 2], f"host {number}")
        assert sum(got) <= 8
        assert sum(got) >= 6

    async def test_names_of_slots_are_texts(self, journal):
        for names in ((LONE_SURROGATE, "host"), ("provider", LONE_SURROGATE)):
            with pytest.raises(UsageProblem):
                await journal.take_slots(*names, using=0, wanted=1, most=1, ttl=1.0)
