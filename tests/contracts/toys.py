"""What the journal's contract is played with: a small union of events, a clock moved by hand, short helpers."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Literal

from runtime.core.events import Codec, Event
from runtime.core.machine import Summary
from runtime.journal.port import Fact, Journal


class Noted(Event):
    """An event with a text that is stored apart."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["noted"] = "noted"
    text: str | None


class Counted(Event):
    """An event without texts."""

    kind: Literal["counted"] = "counted"
    number: int
    label: str = ""


class Stranger(Event):
    """An event that the journal's codec does not know."""

    kind: Literal["counted"] = "counted"


Toy = Noted | Counted

CODEC: Codec[Toy] = Codec([Noted, Counted])


class Bid(Event):
    """An event of another kind of runs."""

    kind: Literal["bid"] = "bid"
    price: int


HAGGLING: Codec[Bid] = Codec([Bid], format=2)

Opener = Callable[..., AbstractAsyncContextManager[Journal[Toy]]]

RUNNING = Summary("running")

LONE_SURROGATE = "before \ud800 after"

IMPOSSIBLE_IDS = ["", "A", "-a", ".a", "_a", "a b", "a/b", "a\n", "é", "a" * 65, "a\x00", LONE_SURROGATE]


class HandClock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        """Return the time that the test has set."""
        return self.time

    async def sleep_until(self, when: float) -> None:
        """Jump there."""
        self.time = max(self.time, when)


def counted(*numbers: int) -> list[Fact[Toy]]:
    """Return a fact for each number."""
    return [Fact(Counted(number=number)) for number in numbers]


async def driven(journal: Journal[Toy], run: str, ttl: float = 60.0) -> int:
    """Make a run, claim it and return the epoch."""
    await journal.create(run, f"title of {run}")
    return await journal.claim(run, "driver", ttl)


async def events(journal: Journal[Toy], run: str, after: int = 0) -> list[Toy]:
    """Return the events of a run."""
    return [record.event for record in await journal.read(run, after)]


async def append_number(journal: Journal[Toy], run: str, epoch: int, after: int, number: int) -> None:
    """Append one number, as a task."""
    await journal.append(run, after=after, epoch=epoch, facts=counted(number), summary=RUNNING)


async def settled(journal: Journal[Toy], run: str) -> int:
    """Return the last record's place, once whatever was handed in before is written: a later write comes after it."""
    await journal.post(run, "settled", "")
    return (await journal.row(run)).last_seq
