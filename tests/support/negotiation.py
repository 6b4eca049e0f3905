"""A machine of another kind, to show that the runtime knows nothing about planning: two players haggle over a price.

The buyer and the seller are asked in turn for an offer; when they cross, or the rounds are used up, the haggling ends.
A person may call it off at any time through the inbox. While the run is parked nobody is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from runtime.core.events import Codec, Event
from runtime.core.machine import Refused, Summary, Work
from runtime.core.messages import Crashed, Mailed, Parking, Resumed, Woken


class Opened(Event):
    kind: Literal["opened"] = "opened"
    rounds: int


class OfferRequested(Event):
    kind: Literal["offer_requested"] = "offer_requested"
    request_id: str
    player: str


class Offered(Event):
    texts = ("words",)
    kind: Literal["offered"] = "offered"
    request_id: str
    player: str
    price: int
    words: str


class TakenOver(Event):
    kind: Literal["taken_over"] = "taken_over"
    epoch: int


class Paused(Event):
    kind: Literal["paused"] = "paused"


class Ended(Event):
    kind: Literal["ended"] = "ended"
    how: str


NegotiationEvent = Opened | OfferRequested | Offered | TakenOver | Paused | Ended
CODEC: Codec[NegotiationEvent] = Codec((Opened, OfferRequested, Offered, TakenOver, Paused, Ended))


@dataclass(frozen=True)
class Start:
    rounds: int


@dataclass(frozen=True)
class Offer:
    request_id: str
    price: int
    words: str = ""


Message = Start | Offer | Resumed | Parking | Crashed | Mailed | Woken


@dataclass(frozen=True)
class Haggle:
    rounds: int = 0
    offers: Mapping[str, int] = field(default_factory=dict)
    made: int = 0
    asked: OfferRequested | None = None
    paused: bool = False
    ended: str = ""


class Negotiation:
    """`runtime.core.machine.Machine` for haggling."""

    def initial(self) -> Haggle:
        return Haggle()

    def accept(self, state: Haggle, message: Message) -> NegotiationEvent | Refused | None:
        match message:
            case Start(rounds):
                return Opened(rounds=rounds)
            case Offer(request_id, price, words):
                if state.asked is None or state.asked.request_id != request_id:
                    return None
                if price < 0:
                    return Refused("a price is not negative")
                return Offered(request_id=request_id, player=state.asked.player, price=price, words=words)
            case Resumed(epoch):
                return TakenOver(epoch=epoch)
            case Parking():
                return Paused()
            case Crashed(error=error):
                return Ended(how=f"crashed: {error}")
            case Mailed(body=body):
                return Ended(how=body)
            case Woken():
                return None

    def advance(self, state: Haggle) -> NegotiationEvent | None:
        if not state.rounds or state.ended or state.asked is not None:
            return None
        buyer, seller = state.offers.get("buyer", 0), state.offers.get("seller", 1_000)
        if buyer >= seller:
            return Ended(how=f"sold at {seller}")
        if state.made >= state.rounds:
            return Ended(how="no deal")
        if state.paused:
            return None
        player = ("buyer", "seller")[state.made % 2]
        return OfferRequested(request_id=f"{player}.{state.made}", player=player)

    def evolve(self, state: Haggle, event: NegotiationEvent) -> Haggle:
        match event:
            case Opened():
                return replace(state, rounds=event.rounds)
            case OfferRequested():
                return replace(state, asked=event)
            case Offered():
                offers = {**state.offers, event.player: event.price}
                return replace(state, offers=offers, made=state.made + 1, asked=None)
            case TakenOver():
                return replace(state, paused=False)
            case Paused():
                return replace(state, paused=True)
            case Ended():
                return replace(state, ended=event.how, asked=None)

    def outstanding(self, state: Haggle) -> Mapping[str, Work]:
        if state.asked is None:
            return {}
        asked = state.asked
        return {asked.request_id: Work(asked.request_id, asked.player, asked, repeatable=asked.player == "seller")}

    def brief(self, state: Haggle, work: Work) -> tuple[str, Mapping[str, int]]:
        return work.request_id, state.offers

    def summary(self, state: Haggle) -> Summary:
        return Summary("finished", state.ended) if state.ended else Summary("parked" if state.paused else "running")
