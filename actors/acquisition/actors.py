"""The actors of an acquisition run: the model, the search tool and the clock."""

from functools import partial
from typing import Any

from actors.acquisition.config import RunConfig
from actors.handlers.handlers import complete, wait
from actors.handlers.tools import Tool, function_tool, tool_actor
from actors.run.kind import Resources
from actors.run.machine import MODEL
from actors.run.waits import CLOCK
from runtime.drive.actor import Actor

WAITS_MAX = 16
"""Waits side by side: for the next try, the deadline, and the expiry of a question."""


def actors_for(config: RunConfig, resources: Resources) -> list[Actor[Any, Any]]:
    """Return the actors of an acquisition run that has begun."""
    clock = resources.clock
    return [
        Actor(MODEL, partial(complete, resources.model, clock, resources.slot), concurrency=1),
        Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX),
        tool_actor(search_tool(config, resources), clock.now),
    ]


def search_tool(config: RunConfig, resources: Resources) -> Tool:
    """Return the search tool that the run was started with; one without documents finds nothing."""
    del config, resources
    return function_tool("search", lambda _: '{"passages": []}')
