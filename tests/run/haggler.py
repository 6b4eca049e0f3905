"""A small agent of its own kind: it asks a model for an offer, a person for approval, and a tool to book the sale."""

import json
from dataclasses import dataclass, replace

from actors.run.agent import Ask, Call, CallAnswered, End, Prompt, UseTool
from actors.run.inbox import RequirementTold
from actors.run.questions import ClarificationAnswered, ClarificationDeclined, ClarificationExpired
from actors.run.tools import ToolFinished, ToolOutcome
from actors.values.answers import YES_NO


@dataclass(frozen=True)
class Deal:
    item: str
    price: int | None = None
    approved: bool | None = None
    booked: ToolOutcome | None = None
    refused: tuple[str, ...] = ()


class Haggler:
    """Sells an item: `actors.run.agent.Agent`."""

    def start(self, task):
        return Deal(item=task)

    def apply(self, data, step, event):
        match event:
            case CallAnswered():
                return replace(data, price=price_in(event.content))
            case ClarificationAnswered(answer="yes"):
                return replace(data, approved=True)
            case ClarificationAnswered():
                return replace(data, price=None, refused=(*data.refused, str(data.price)))
            case ClarificationDeclined() | ClarificationExpired():
                return replace(data, approved=False)
            case RequirementTold():
                return replace(data, price=None, refused=(*data.refused, event.text))
            case ToolFinished():
                return replace(data, booked=event.outcome)
            case _:
                return data

    def decide(self, state):
        deal = state.data
        if deal.approved is False:
            return [End("no_deal", "nobody approved a price")]
        if deal.booked is not None:
            return [End("success" if deal.booked is ToolOutcome.SUCCEEDED else "not_booked", f"sold at {deal.price}")]
        if deal.price is None:
            return [Call("offer")]
        if deal.approved is None:
            return [Ask("approval", f"Sell {deal.item} at {deal.price}?", YES_NO)]
        return [UseTool("booking", "book", json.dumps({"price": deal.price}))]

    def prompt(self, state, step):
        refused = ", ".join(state.data.refused) or "none"
        return Prompt(user=f"{step}: a price for {state.data.item}; refused: {refused}", system="You sell.")


def price_in(text):
    """Return the whole number that a reply is, or None."""
    return int(text) if text.isascii() and text.isdigit() else None
