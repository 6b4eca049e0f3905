"""States of the planner for tests of single gates: no model and no message is needed to make one (S81)."""

from actors.run.state import RunState
from packages.acquire.tests.acquisition.stage import prepared
from replan_acquire.acquisition.planner_state import (
    CalculationError,
    LatestCalculation,
    PlannerDecision,
    PlannerState,
    SearchMade,
)
from replan_acquire.acquisition.profile import Profile
from replan_acquire.acquisition.state import RunConfig, State
from replan_acquire.acquisition.table import graph_for
from replan_acquire.acquisition.values import FieldValue

SMALL = {
    "name": "small",
    "about": "A small schema.",
    "units": {"shop": ""},
    "bootstrap": ["core.region", "core.currency"],
    "fields": {
        "core.region": {"label": "region", "type": "text", "source": "user"},
        "core.currency": {"label": "currency", "type": "currency", "source": "user"},
        "market.shops": {"label": "number of shops", "unit": "shop", "words": ["shops"]},
        "market.price": {"label": "price per shop", "unit": "{core.currency}/shop", "source": "user"},
        "market.visits": {
            "label": "visits per year",
            "unit": "1/year",
            "source": "components",
            "decomposition": {
                "formula": "people * rate",
                "fields": {
                    "people": {"label": "number of people", "words": ["people"]},
                    "rate": {"label": "visits per person", "unit": "1/year", "words": ["visits per person"]},
                },
            },
        },
    },
    "calculator": {
        "results": {"total": {"label": "total", "formula": "market.shops * market.price", "unit": "{core.currency}"}}
    },
    "caps": {"iterations": 9, "attempts_per_field": 2, "calculations": 2},
}
"""A profile with a field of each way of acquiring it."""


def profile(**changes):
    return Profile.model_validate({**SMALL, **changes})


def number(value, unit="", via="search", **fields):
    return FieldValue(value=float(value), unit=unit, via=via, **fields)


def text(value):
    """Return a text that the user has given."""
    return FieldValue(value=value, via="user")


BOOT = {"core.region": text("Portugal"), "core.currency": text("EUR")}
"""The bootstrap fields."""
DIRECT = {**BOOT, "market.shops": number(40, "shop"), "market.price": number(5, "EUR/shop", "user")}
"""All fields that are acquired directly."""
FULL = {**DIRECT, "market.visits.people": number(10), "market.visits.rate": number(3, "1/year")}
"""All fields."""


def state(node="", values=(), *, spec=None, decision=None, **planner):
    """Return a run at a node, with some values by path and other fields of the planner's state."""
    base = prepared().pinned
    config = RunConfig(**{**dict(base), "profile": spec or profile()})
    listed = {path: value if isinstance(value, tuple) else (value,) for path, value in dict(values).items()}
    if decision is not None:
        planner["decision"] = decision
    return State(
        run=RunState("run"),
        config=config,
        goal="A goal.",
        node=node,
        planner=PlannerState(values=listed, **planner),
    )


def decide(action, target="", **fields):
    return PlannerDecision(action=action, target_field=target, **fields)


def searched(path, *queries):
    return tuple(SearchMade(path=path, query=query, found=0) for query in queries)


def blocked(inputs, *fields, count=1, message="mixed"):
    """Return a calculation that is blocked because of some fields."""
    error = CalculationError(code="units", result="total", fields=fields, message=message)
    return LatestCalculation(status="blocked", count=count, inputs_hash=inputs, errors=(error,))


def hop(at):
    """Return what the gate of the node says at which a run is, and the node that follows."""
    graph = graph_for(at.config.profile)
    answer = graph.nodes[at.node].gate(at)
    return answer, graph.next(at.node, answer.outcome)
