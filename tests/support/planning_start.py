"""The first event of a planning run, which is the message that starts it."""

from typing import Any

from actors.planning.config import RunConfig
from actors.planning.events import RunStarted
from runtime.core.ledger import Limits


def planning_start(
    at: float, config: RunConfig, limits: Limits, *, run: str = "run", problem: str = "the problem", **more: Any
) -> RunStarted:
    pinned = config.model_dump_json()
    return RunStarted(at=at, run=run, specification=problem, pinned=pinned, limits=limits, **more)
