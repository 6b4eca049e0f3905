"""The home that a function of the API works on: its folder, and the engine over its journal."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from replan.api.loops import in_any_loop
from replan.runs.engine import Engine
from replan.runs.home import open_home

T = TypeVar("T")

Home = Path | str | None
"""A home's folder; None is `$REPLAN_HOME`, else the platform's data folder."""


def environment_of(home: Home) -> Mapping[str, str]:
    """Return the environment of this process, with a home in it.

    A home that is named keeps its own journal, also where `REPLAN_JOURNAL` names a database.
    """
    if home is None:
        return os.environ
    return {**os.environ, "REPLAN_HOME": str(home), "REPLAN_JOURNAL": ""}


async def at_home(home: Home, work: Callable[[Engine], Awaitable[T]]) -> T:
    """Do work on a home, from trio or asyncio. The home is opened for it, and not created. Raises as `open_home`."""

    async def opened() -> T:
        async with open_home(environment=environment_of(home), make=False) as engine:
            return await work(engine)

    return await in_any_loop(opened)
