"""Slots for calls: how many calls to a provider may be in flight from all hosts of a journal together.

A host takes slots for as many calls as it has in flight or about to be sent, renews them while it has, and gives them
back. The slots of a host that has died end with their time.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Slots(NamedTuple):
    """What a host has of the slots for a provider."""

    held: int
    """How many it has."""
    wanted: int
    """How many it asked for last."""


def granted(using: int, wanted: int, most: int, others: Iterable[Slots]) -> int:
    """Return how many slots a host gets, of `most`, beside those that other hosts have. Pure.

    It keeps the ones that it is `using`. Beyond that it gets what it wants and is left; but where another host has
    fewer than it wants, at most an equal part.
    """
    others = list(others)
    free = max(0, most - sum(other.held for other in others))
    if any(other.wanted > other.held for other in others):
        free = min(free, max(1, most // (1 + sum(other.wanted > 0 for other in others))))
    return max(using, min(wanted, free))


class CallSlots(Protocol):
    """The part of a journal that counts calls in flight."""

    async def take_slots(self, provider: str, host: str, *, using: int, wanted: int, most: int, ttl: float) -> int:
        """Let a host have slots for calls to a provider for `ttl` seconds from now, and return how many.

        `granted` says how many: at least the `using` ones that have calls in flight, at most the `wanted` ones, and
        with those of all other hosts at most `most`. With 0 `wanted` the host gives all of its slots back.
        """
        ...
