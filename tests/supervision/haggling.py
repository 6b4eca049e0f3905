"""The table that supervisors are tested at: an admitted run of the haggling machine, its players, a hand to stop it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio

from runtime.actor import Actor, Envelope
from runtime.clock import TrioClock
from runtime.journal.memory import open_memory
from runtime.journal.port import Journal
from runtime.supervisor import Lease, Stop, Supervisor
from tests.support.negotiation import CODEC, Haggle, Negotiation, NegotiationEvent, Offer

Player = Callable[[Envelope], Awaitable[Offer]]
LEASE = Lease("test", ttl=30.0, poll=0.1)


@asynccontextmanager
async def table() -> AsyncIterator[Journal[NegotiationEvent]]:
    """Open a journal with one admitted run."""
    async with open_memory(CODEC, TrioClock()) as journal:
        await journal.create("run", "haggling")
        yield journal


def supervisor(
    journal: Journal[NegotiationEvent], buyer: Player, seller: Player, stop: Stop | None = None, owner: str = "test"
) -> Supervisor[Haggle, NegotiationEvent, Offer]:
    actors = [Actor("buyer", buyer), Actor("seller", seller)]
    lease = Lease(owner, ttl=30.0, poll=0.1)
    return Supervisor(
        "run", machine=Negotiation(), journal=journal, actors=actors, clock=TrioClock(), lease=lease, stop=stop
    )


def player(start: int, step: int, seconds: float = 1.0) -> Player:
    """Return a player who moves by `step` with each offer."""
    price = start - step

    async def offer(envelope: Envelope) -> Offer:
        nonlocal price
        await trio.sleep(seconds)
        price += step
        return Offer(envelope.work.request_id, price, f"my offer is {price}")

    return offer


async def press(stop: Stop, seconds: float, *, twice: bool = False) -> None:
    """Wish for a stop after a time; `twice` wishes for it at once."""
    await trio.sleep(seconds)
    stop.park.set()
    if twice:
        stop.now.set()
