"""Reads the records of a run and of the runs of its steps from the journal in use, and makes their attestation."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replan.runs.attestation import attestation_of
from replan.runs.families import family_of, runs_above
from replan.runs.home import journal_to_read
from replan.runs.run_ids import ALL
from replan.setup.database import database_url
from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home
from replan.setup.kinds import Kinds
from replan.setup.version import release
from runtime.open_offline import open_inspection

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


async def attested_runs(reader: "RunReader", run: str) -> list[str]:
    """Return the ids of a run and of its child runs.

    Raises `JournalDamaged`, and `KindUnknown` where the kind of the run itself is not installed.
    """
    await reader.read(run)  # A run that is damaged, or of an unknown kind, is named here.
    ids = {row.run for row in await reader.journal.runs(ALL)}
    return [*await family_of(reader, run, ids, runs_above(ids))]


def read_attestation(runs: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the unsigned attestation of these runs, read in one snapshot. Raises as `attestation_of`."""
    with journal_to_read(locate_home(environment)) as path:
        url = database_url(environment) or f"sqlite:{path}"
        with open_inspection(url, USE_ANOTHER_HOME) as journal:
            assert journal is not None  # Its runs have just been read.
            copies = [journal.reader.copy(run) for run in runs]
            for copy in copies:
                journal.check_end(copy.head, copy.records)
            return attestation_of(copies, Kinds(), release(), time.time())
