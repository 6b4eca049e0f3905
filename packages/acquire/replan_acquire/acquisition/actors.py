"""The actors of an acquisition run: the model, the search tool and the clock."""

from functools import partial
from typing import Any

from actors.handlers.handlers import complete, wait
from actors.handlers.tools import Tool, tool_actor
from actors.run.kind import Resources
from actors.run.machine import MODEL
from actors.run.waits import CLOCK
from replan_acquire.acquisition.state import RunConfig
from replan_acquire.documents.tools import SearchPlaces, search_tool
from runtime.drive.actor import Actor

WAITS_MAX = 16
"""The largest number of waits of a run at the same time. A run waits for the next try, the deadline, or the expiry of a
question."""


def _search(config: RunConfig, resources: Resources) -> Tool:
    places = SearchPlaces.model_validate(config.search)
    return search_tool(places, threads=resources.threads, outside=resources.environment, home=resources.home)


def actors_for(config: RunConfig, resources: Resources) -> list[Actor[Any, Any]]:
    """Return the actors of an acquisition run. Without documents, every search finds nothing."""
    clock = resources.clock
    return [
        Actor(MODEL, partial(complete, resources.model, clock, resources.slot), concurrency=1),
        Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX),
        tool_actor(_search(config, resources), clock.now),
    ]
