"""Helpers for tests of the supervisor: an admitted run of the negotiation machine, its bidders, stops and faults."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import JournalError
from runtime.drive.actor import Actor, Envelope
from runtime.drive.options import DriveOptions, Ending, LeaseTerms, Stop
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import Fault, open_memory
from runtime.journal.port import Journal
from tests.support.negotiation import CODEC, Negotiation, NegotiationEvent, NegotiationState, Offer, Start

Bidder = Callable[[Envelope[NegotiationState]], Awaitable[Offer]]
LEASE = LeaseTerms("test", ttl=30.0, poll=0.1)


@asynccontextmanager
async def open_negotiation(
    fault: Fault | None = None, clock: TrioClock | None = None
) -> AsyncIterator[Journal[NegotiationEvent]]:
    async with open_memory(CODEC, clock or TrioClock(), fault=fault) as journal:
        await journal.create("run", "a negotiation")
        yield journal


def failing(error: JournalError, *operations: str, since: float = 0.0, until: float = math.inf) -> Fault:

    def fault(operation: str, when: str) -> None:
        if operation in operations and when == "before" and since <= trio.current_time() < until:
            raise error

    return fault


OPTIONS = {field.name for field in fields(DriveOptions)}


def driver_of(
    journal: Journal[NegotiationEvent], buyer: Bidder, seller: Bidder, stop: Stop | None = None, **more: Any
) -> Supervisor[NegotiationState, NegotiationEvent, Offer]:
    """Return a supervisor of the run; `more` holds drive options and further arguments of `Supervisor`."""
    actors = [Actor("buyer", buyer), Actor("seller", seller)]
    options = DriveOptions(stop, **{name: more.pop(name) for name in [*more] if name in OPTIONS})
    arguments = {"lease": LEASE, "options": options, **more}
    return Supervisor("run", machine=Negotiation(), journal=journal, actors=actors, **arguments)


def bidder(start: int, step: int, seconds: float = 1.0) -> Bidder:
    price = start - step

    async def offer(envelope: Envelope[NegotiationState]) -> Offer:
        nonlocal price
        await trio.sleep(seconds)
        price += step
        return Offer(envelope.work.request_id, price, f"my offer is {price}")

    return offer


async def request_stop(stop: Stop, seconds: float, again: float | None = None) -> None:
    """Request a stop after some seconds, and force it `again` seconds later."""
    await trio.sleep(seconds)
    stop.requested.set()
    if again is not None:
        await trio.sleep(again)
        stop.forced.set()


async def drive_until_stopped(
    driver: Supervisor[NegotiationState, NegotiationEvent, Offer],
    stop: Stop,
    seconds: float,
    again: float | None = None,
) -> Ending:
    """Drive a new run of 20 rounds while `request_stop` runs beside it; return how the driver ended."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(request_stop, stop, seconds, again)
        return await driver.drive(Start(20))


async def drive_until_cancelled(
    driver: Supervisor[NegotiationState, NegotiationEvent, Offer],
    journal: Journal[NegotiationEvent],
    seconds: float,
    rounds: int,
) -> Ending:
    """Drive a new run while a cancel is posted after some seconds; return how the driver ended."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(post_cancel, journal, seconds)
        return await driver.drive(Start(rounds))


async def post_cancel(journal: Journal[NegotiationEvent], seconds: float) -> None:
    await trio.sleep(seconds)
    await journal.post("run", "cancel", "called off")
