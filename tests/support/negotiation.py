"""A small machine that is not a planner, to test that the runtime is generic: two players negotiate a price.

The buyer and the seller make offers in turn. The negotiation ends when the offers cross or the rounds are used up.
A message in the inbox cancels it. A parked run requests no offer.
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
class NegotiationState:
    rounds: int = 0
    offers: Mapping[str, int] = field(default_factory=dict)
    offer_count: int = 0
    request: OfferRequested | None = None
    paused: bool = False
    ended: str = ""


class Negotiation:
    """A `runtime.core.machine.Machine` for negotiations."""

    def initial(self) -> NegotiationState:
        return NegotiationState()

    def accept(self, state: NegotiationState, message: Message) -> NegotiationEvent | Refused | None:
        match message:
            case Start(rounds):
                return Opened(rounds=rounds)
            case Offer(request_id, price, words):
                if state.request is None or state.request.request_id != request_id:
                    return None
                if price < 0:
                    return Refused("a price is not negative")
                return Offered(request_id=request_id, player=state.request.player, price=price, words=words)
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

    def advance(self, state: NegotiationState) -> NegotiationEvent | None:
        if not state.rounds or state.ended or state.request is not None:
            return None
        buyer, seller = state.offers.get("buyer", 0), state.offers.get("seller", 1_000)
        if buyer >= seller:
            return Ended(how=f"sold at {seller}")
        if state.offer_count >= state.rounds:
            return Ended(how="no deal")
        if state.paused:
            return None
        player = ("buyer", "seller")[state.offer_count % 2]
        return OfferRequested(request_id=f"{player}.{state.offer_count}", player=player)

    def evolve(self, state: NegotiationState, event: NegotiationEvent) -> NegotiationState:
        match event:
            case Opened():
                return replace(state, rounds=event.rounds)
            case OfferRequested():
                return replace(state, request=event)
            case Offered():
                offers = {**state.offers, event.player: event.price}
                return replace(state, offers=offers, offer_count=state.offer_count + 1, request=None)
            case TakenOver():
                return replace(state, paused=False)
            case Paused():
                return replace(state, paused=True)
            case Ended():
                return replace(state, ended=event.how, request=None)

    def outstanding(self, state: NegotiationState) -> Mapping[str, Work]:
        if state.request is None:
            return {}
        request = state.request
        repeatable = request.player == "seller"
        return {request.request_id: Work(request.request_id, request.player, request, repeatable=repeatable)}

    def brief(self, state: NegotiationState, work: Work) -> tuple[str, Mapping[str, int]]:
        return work.request_id, state.offers

    def summary(self, state: NegotiationState) -> Summary:
        return Summary("finished", state.ended) if state.ended else Summary("parked" if state.paused else "running")
