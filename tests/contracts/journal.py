"""What every journal must do, said once. A test module subclasses `JournalContract` and gives it two fixtures.

`open_journal()` opens the same storage each time, also while it is open already, on the `clock` of the test, a
`tests.contracts.toys.HandClock`; it takes other `codecs` than the toys' and a `budget` as keywords.
"""

import pytest

from tests.contracts.journal_budget import BudgetContract
from tests.contracts.journal_due import DueContract
from tests.contracts.journal_hosts import HostsContract
from tests.contracts.journal_inbox import InboxContract
from tests.contracts.journal_kinds import KindsContract
from tests.contracts.journal_records import RecordsContract
from tests.contracts.journal_runs import RunsContract
from tests.contracts.toys import Opener


class JournalContract(
    RunsContract, RecordsContract, InboxContract, DueContract, BudgetContract, KindsContract, HostsContract
):
    """The whole suite."""

    @pytest.fixture
    async def journal(self, open_journal: Opener):
        """Open the journal for one test."""
        async with open_journal() as journal:
            yield journal
