"""Opens a home, the folder of a user's runs and settings. Its journal is a file in the folder, or is in a database."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from actors.handlers.generators import Registry
from replan.runs.engine import Engine
from replan.setup.home_folder import (
    LEASE_SECONDS,
    USE_ANOTHER_HOME,
    Home,
    database_url,
    database_wakeup,
    locate_home,
    prepare_home,
)
from replan.setup.installation import data_root
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry as installed
from replan.setup.provider_table import read_refusals
from replan.setup.settings import ConfiguredBudget, UserConfig, read_user_config
from runtime.core.clock import Clock, SystemClock
from runtime.core.daily_budget import BudgetSource
from runtime.host.wakeup import WakeSockets
from runtime.journal.folder import explain, is_there
from runtime.journal.sqlite.anchors import SUFFIX, check_not_lost
from runtime.models.provider_state import CallLimiter
from runtime.models.servers import Servers
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
    inspect: bool = False,
) -> AsyncIterator[Engine]:
    """Open the home, and yield an engine for its journal with the user's settings. Missing files are created.

    The home is the folder `$REPLAN_HOME`. If `REPLAN_JOURNAL` is set, the journal is in the database with this URL.

    Without `make`, nothing is created; if there is no journal, the engine has no runs. `registry` and `kinds` replace
    the installed plug-ins and kinds. `config` replaces the home's config file, which is then not read.

    With `inspect`, if the home cannot be written, a copy of its journal is opened. Then the caller must write nothing.

    Raises `UsageProblem` for an unsafe or unwritable folder and for a wrong config file. Raises `JournalDamaged`,
    `JournalNewer`, `JournalUnreadable`, `JournalUnreachable`.
    """
    inspect = inspect and not is_writable(locate_home(environment))
    home, exists = _prepare_home(environment, make=make, write=not inspect)
    time, kinds = clock or SystemClock(), kinds or Kinds()
    given = config
    config = read_user_config(home.config) if given is None else given
    limits = config.host
    budget: BudgetSource = ConfiguredBudget(home.config, config) if given is None else config.budget
    database = database_url(environment)
    listening = None if database is None else database_wakeup(environment)
    copied = inspect and exists and database is None
    with journal_to_read(home) if copied else nullcontext(home.journal) as path:
        url = database or (f"sqlite:{path}" if exists else "memory:")
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
                servers=Servers(
                    home.servers if exists and not inspect else None,
                    refusals=read_refusals(data_root()),
                    charge_gateway_errors=config.charge_gateway_errors,
                ),
                wakeup=listening or WakeSockets(home.hosts),
                lease_seconds=LEASE_SECONDS if database else None,
                config=config,
            )


def is_writable(home: Home) -> bool:
    """Return whether the home can be written. A missing home counts as writable, because it can be created."""
    return not is_there(home.folder, USE_ANOTHER_HOME) or os.access(home.folder, os.W_OK | os.X_OK)


def journal_to_read(home: Home) -> AbstractContextManager[Path]:
    """Return a context that yields the path of a home's journal, or of a copy if the home cannot be written."""
    return nullcontext(home.journal) if is_writable(home) else _copy_journal(home.journal)


@contextmanager
def _copy_journal(journal: Path) -> Iterator[Path]:
    """Yield a copy of a journal and its write-ahead log, because SQLite cannot read a log in a read-only folder."""
    with TemporaryDirectory(prefix="replan-") as folder:
        copy = Path(folder) / journal.name
        try:
            for suffix in (SUFFIX, "", "-wal"):  # The anchors come first: they must not be newer than the other files.
                if suffix == "" or os.path.lexists(f"{journal}{suffix}"):
                    shutil.copyfile(f"{journal}{suffix}", f"{copy}{suffix}")
        except OSError as error:
            raise explain(error, journal, USE_ANOTHER_HOME) from error
        yield copy


def _prepare_home(environment: Mapping[str, str], *, make: bool, write: bool) -> tuple[Home, bool]:
    """Check the parts of the home that exist. Return the home, and whether it has a journal or gets one."""
    home = locate_home(environment)
    if make or is_there(home.folder, USE_ANOTHER_HOME):
        prepare_home(environment, write=write)
    if database_url(environment) is None:
        check_not_lost(home.journal)
    return home, make or is_there(home.journal, USE_ANOTHER_HOME)
