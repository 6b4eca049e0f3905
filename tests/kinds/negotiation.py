"""A kind that only the tests know: a buyer, who is a model, negotiates with a seller, who is a program.

The buyer makes an offer; the seller accepts it or names a price. Once they agree, a person approves the deal.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from actors.handlers.agents import agent_kind
from actors.handlers.tools import Tool, command_tool
from actors.run.agent import AgentEvent, AgentState, Ask, Call, CallAnswered, End, Prompt, UseTool, Wish
from actors.run.inbox import RequirementTold
from actors.run.kind import Resources
from actors.run.questions import ClarificationAnswered, ClarificationDeclined
from actors.run.tools import ToolFinished, ToolOutcome
from actors.values.answers import YES_NO

ROUNDS_MAX = 5


@dataclass(frozen=True)
class Negotiation:
    item: str
    """What is sold."""
    offer: int | None = None
    """The buyer's last offer, until the seller has replied."""
    prices: tuple[int, ...] = ()
    """The prices that the seller has named."""
    agreed: int | None = None
    """The price that both accept."""
    limits: tuple[str, ...] = ()
    """What the user requires."""
    outcome: str = ""
    """How it ended."""


class Negotiator:
    """`actors.run.agent.Agent` for negotiations."""

    def start(self, task: str) -> Negotiation:
        return Negotiation(item=task)

    def apply(self, data: Negotiation, step: str, event: AgentEvent) -> Negotiation:
        """Follow the offers, the seller's replies and the person's word."""
        match event:
            case CallAnswered():
                return replace(data, offer=int(event.content) if event.content.strip().isdigit() else 0)
            case ToolFinished():
                return self._replied(data, event)
            case ClarificationAnswered():
                return replace(data, outcome="success" if event.answer == "yes" else "no_deal")
            case ClarificationDeclined():
                return replace(data, outcome="no_deal")
            case RequirementTold():
                return replace(data, limits=(*data.limits, event.text), offer=None, agreed=None)
            case _:
                return data

    def _replied(self, data: Negotiation, event: ToolFinished) -> Negotiation:
        if event.outcome is not ToolOutcome.SUCCEEDED or not event.output.strip():
            return replace(data, outcome="seller_left")
        price = int(event.output)
        if data.offer is not None and price <= data.offer:
            return replace(data, offer=None, agreed=price)
        return replace(data, offer=None, prices=(*data.prices, price))

    def decide(self, state: AgentState[Negotiation]) -> Sequence[Wish]:
        """Let the parties speak in turn."""
        data = state.data
        if data.outcome:
            return [End(data.outcome, f"{data.item}: {data.agreed}")]
        if data.agreed is not None:
            return [Ask("approval", f"Buy {data.item} for {data.agreed}?", YES_NO)]
        if data.offer is not None:
            return [UseTool("seller", "seller", json.dumps({"offer": data.offer}))]
        if len(data.prices) >= ROUNDS_MAX:
            return [End("no_deal", "too many rounds")]
        return [Call("buyer")]

    def prompt(self, state: AgentState[Negotiation], step: str) -> Prompt:
        prices = ", ".join(map(str, state.data.prices)) or "none yet"
        limits = "; ".join(state.data.limits) or "none"
        return Prompt(user=f"Item: {state.data.item}. Prices: {prices}. Limits: {limits}. Your offer, a number:")


def seller(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return the seller's command line."""
    return [sys.executable, str(Path(__file__).with_name("seller.py")), str(arguments["offer"])]


def tools(resources: Resources) -> Sequence[Tool]:
    """Return the seller as a tool; it keeps its own books in the home."""
    home = Path(resources.environment["REPLAN_HOME"])
    environment = {"SELLER_BOOKS": str(home / "seller.txt"), "SELLER_SECONDS": "0"} | {
        name: value for name, value in resources.environment.items() if name.startswith("SELLER_") or name == "PATH"
    }
    return [command_tool("seller", seller, folder=home, environment=environment)]


NEGOTIATION = agent_kind("negotiation", Negotiator(), tools)
