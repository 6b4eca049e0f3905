"""The table that supervisors are tested at: an admitted run of the haggling machine, its players, what befalls it."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import JournalError
from runtime.drive.actor import Actor
from runtime.drive.envelope import Envelope
from runtime.drive.options import LeaseTerms, Stop
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import Fault, open_memory
from runtime.journal.port import Journal
from tests.support.negotiation import CODEC, Haggle, Negotiation, NegotiationEvent, Offer

Player = Callable[[Envelope[Haggle]], Awaitable[Offer]]
LEASE = LeaseTerms("test", ttl=30.0, poll=0.1)


@asynccontextmanager
async def table(fault: Fault | None = None, clock: TrioClock | None = None) -> AsyncIterator[Journal[NegotiationEvent]]:
    """Open a journal with one admitted run."""
    async with open_memory(CODEC, clock or TrioClock(), fault=fault) as journal:
        await journal.create("run", "haggling")
        yield journal


def trouble(error: JournalError, *operations: str, since: float = 0.0, until: float = math.inf) -> Fault:
    """Return a fault by which these operations fail between two moments, with nothing written."""

    def fault(operation: str, when: str) -> None:
        if operation in operations and when == "before" and since <= trio.current_time() < until:
            raise error

    return fault


def supervisor(
    journal: Journal[NegotiationEvent], buyer: Player, seller: Player, stop: Stop | None = None, **more: Any
) -> Supervisor[Haggle, NegotiationEvent, Offer]:
    """Return a driver of the run; `more` is what else `Supervisor` takes."""
    actors = [Actor("buyer", buyer), Actor("seller", seller)]
    given = {"lease": LEASE, "stop": stop, **more}
    return Supervisor("run", machine=Negotiation(), journal=journal, actors=actors, **given)


def player(start: int, step: int, seconds: float = 1.0) -> Player:
    """Return a player who moves by `step` with each offer."""
    price = start - step

    async def offer(envelope: Envelope[Haggle]) -> Offer:
        nonlocal price
        await trio.sleep(seconds)
        price += step
        return Offer(envelope.work.request_id, price, f"my offer is {price}")

    return offer


async def press(stop: Stop, seconds: float, again: float | None = None) -> None:
    """Wish for a stop after a time, and `again` seconds later for one that waits for nothing."""
    await trio.sleep(seconds)
    stop.requested.set()
    if again is not None:
        await trio.sleep(again)
        stop.forced.set()


async def call_off(journal: Journal[NegotiationEvent], seconds: float) -> None:
    """Post a message that ends the run, after a time."""
    await trio.sleep(seconds)
    await journal.post("run", "cancel", "called off")
