"""Opening a home: the folder of a user's runs and settings, with its journal, as an engine."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from actors.hands.team import Registry
from replan.data import data_root
from replan.engine import CODEC, Engine
from replan.plugins import registry as installed
from runtime.clock import Clock, SystemClock
from runtime.journal.home import open_home as prepare_home
from runtime.journal.sqlite import open_sqlite


@asynccontextmanager
async def open_home(
    *,
    registry: Registry | None = None,
    clock: Clock | None = None,
    root: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> AsyncIterator[Engine]:
    """Open `$REPLAN_HOME` (made if missing) and yield the engine over its journal.

    Raises `UsageProblem` for a folder that is not safe or cannot be written, `JournalDamaged`, `JournalNewer`.
    """
    home, time = prepare_home(environment), clock or SystemClock()
    async with open_sqlite(home.journal, CODEC, time) as journal:
        yield Engine(
            journal=journal,
            registry=registry or installed(),
            clock=time,
            root=root or data_root(),
            environment=environment,
        )
