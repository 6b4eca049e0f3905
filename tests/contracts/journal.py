"""The tests that every journal must pass. A test module subclasses `JournalContract` and gives it three fixtures.

`open_journal()` opens the same storage each time, also while it is already open. It uses the test's `clock`, a
`tests.contracts.toy_events.ManualClock`. The keywords `codecs` and `budget` replace the defaults.
"""

import pytest

from tests.contracts.journal_admission import AdmissionContract
from tests.contracts.journal_budget import BudgetContract
from tests.contracts.journal_cursors import CursorsContract
from tests.contracts.journal_deletion import DeletionContract
from tests.contracts.journal_due import DueContract
from tests.contracts.journal_hosts import HostsContract
from tests.contracts.journal_inbox import InboxContract
from tests.contracts.journal_kinds import KindsContract
from tests.contracts.journal_placement import PlacementContract
from tests.contracts.journal_records import RecordsContract
from tests.contracts.journal_runs import RunsContract
from tests.contracts.toy_events import Opener


class JournalContract(
    RunsContract,
    AdmissionContract,
    RecordsContract,
    InboxContract,
    DueContract,
    BudgetContract,
    KindsContract,
    HostsContract,
    DeletionContract,
    CursorsContract,
    PlacementContract,
):
    @pytest.fixture
    async def journal(self, open_journal: Opener):
        async with open_journal() as journal:
            yield journal
