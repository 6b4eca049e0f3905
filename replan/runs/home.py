"""Opening a home: the folder of a user's runs and settings, with its journal, as an engine."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from actors.handlers.registry import Registry
from replan.runs.engine import Engine
from replan.setup.data_files import data_root
from replan.setup.home_folder import USE_ANOTHER_HOME, Home, locate_home, prepare_home
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry as installed
from replan.setup.settings import UserConfig, read_user_config
from runtime.core.clock import Clock, SystemClock
from runtime.host.hook import Hook
from runtime.host.wakeup import WakeSockets
from runtime.models.limiter import CallLimiter
from runtime.open_journal import open_journal


@asynccontextmanager
async def open_home(
    *,
    registry: Registry | None = None,
    kinds: Kinds | None = None,
    clock: Clock | None = None,
    root: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    config: UserConfig | None = None,
    make: bool = True,
) -> AsyncIterator[Engine]:
    """Open `$REPLAN_HOME` and yield the engine over its journal, with the user's limits; create what is missing.

    Without `make`, a home that has no journal is left as it is: the engine knows no runs. `registry` and `kinds` take
    the place of what is installed, `config` that of the home's config file, which is then not read.

    Raises `UsageProblem` for a folder that is not safe or cannot be written and for a config file that is wrong,
    `JournalDamaged`, `JournalNewer`, `JournalUnreadable`.
    """
    home, exists = _prepared(environment, make=make)
    time, kinds = clock or SystemClock(), kinds or Kinds()
    config = read_user_config(home.config) if config is None else config
    limits = config.host
    url = f"sqlite:{home.journal}" if exists else "memory:"
    budget = config.home_budget.budget
    async with open_journal(url, kinds.codecs, time, budget=budget, use_another=USE_ANOTHER_HOME) as journal:
        yield Engine(
            journal=journal,
            registry=registry or installed(),
            clock=time,
            root=root or data_root(),
            environment=environment,
            kinds=kinds,
            limiter=CallLimiter(
                limits.model_calls_max, limits.model_calls_max_by_provider, limits.model_calls_per_run_max
            ),
            wakeup=WakeSockets(home.hosts),
            hook=Hook(config.notify),
        )


def _prepared(environment: Mapping[str, str], *, make: bool) -> tuple[Home, bool]:
    """Return the home, checked as far as it exists, and whether it has a journal or is to get one."""
    home = locate_home(environment)
    if make or os.path.lexists(home.folder):
        prepare_home(environment)
    return home, make or os.path.lexists(home.journal)
