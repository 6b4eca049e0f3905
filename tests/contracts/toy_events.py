"""Small events, a manual clock and helpers for the journal contract."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Literal

from runtime.core.events import Codec, Event
from runtime.core.machine import Summary
from runtime.journal.port import FIRST_FORMAT, FIRST_KIND, Fact, Journal, RunRow


class Noted(Event):
    """An event whose text is stored in the table of texts."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["noted"] = "noted"
    text: str | None


class Counted(Event):
    kind: Literal["counted"] = "counted"
    number: int
    label: str = ""


class UnknownEvent(Event):
    kind: Literal["counted"] = "counted"


Toy = Noted | Counted

CODEC: Codec[Toy] = Codec([Noted, Counted])


class Bid(Event):
    kind: Literal["bid"] = "bid"
    price: int


NEGOTIATION: Codec[Bid] = Codec([Bid], format=2)

Opener = Callable[..., AbstractAsyncContextManager[Journal[Toy]]]

RUNNING = Summary("running")

LONE_SURROGATE = "before \ud800 after"

IMPOSSIBLE_IDS = ["", "A", "-a", ".a", "_a", "a b", "a/b", "a\n", "é", "a" * 65, "a\x00", LONE_SURROGATE]


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        return self.time

    async def sleep_until(self, when: float) -> None:
        self.time = max(self.time, when)


def counted(*numbers: int) -> list[Fact[Toy]]:
    return [Fact(Counted(number=number)) for number in numbers]


async def driven(journal: Journal[Toy], run: str, ttl: float = 60.0) -> int:
    await journal.create(run, f"title of {run}")
    return await journal.claim(run, "driver", ttl)


async def events(journal: Journal[Toy], run: str, after: int = 0) -> list[Toy]:
    return [record.event for record in await journal.read(run, after)]


async def append_number(journal: Journal[Toy], run: str, epoch: int, after: int, number: int) -> None:
    await journal.append(run, after=after, epoch=epoch, facts=counted(number), summary=RUNNING)


async def last_written(journal: Journal[Toy], run: str) -> int:
    """Return the sequence number of the last record, after all earlier writes: the post is queued behind them."""
    await journal.post(run, "barrier", "")
    return (await journal.row(run)).last_seq


def row_of(run: str, title: str, at: float, summary: Summary, *, last_seq: int = 0, epoch: int = 0) -> RunRow:
    """Return the row of an ordinary run that changed last when it was admitted, and that nobody drives."""
    committed, known = summary.committed, (FIRST_KIND, FIRST_FORMAT, "", 0)
    stands = (summary.status, summary.detail, summary.waiting_since, summary.next_wake)
    return RunRow(
        *(run, title, *known, at, at, *stands, last_seq, 0, 0, epoch),
        *(committed.calls, committed.tokens, committed.micro_usd, summary.near),
    )
