"""Out of a group of errors one is told: the one that explains the others."""

import pytest
import trio

from runtime.core.errors import Fenced, JournalDamaged, UsageProblem, root_cause
from tests.supervision.negotiation_run import bidder, driver_of, open_negotiation
from tests.support.negotiation import Start

FENCED, OURS, BUG, LATER = Fenced("run", 1, 2), UsageProblem("no"), ZeroDivisionError(), ValueError()


@pytest.mark.parametrize(
    ("errors", "cause"),
    [
        ([BUG, LATER], BUG),
        ([BUG, OURS], OURS),
        ([OURS, BUG, FENCED], FENCED),
        ([ExceptionGroup("", [BUG, OURS]), UsageProblem("later")], OURS),
    ],
)
def test_the_first_error_is_the_cause_unless_a_replan_error_explains_it(errors, cause):
    assert root_cause(ExceptionGroup("", errors)) is cause


def test_an_error_outside_of_a_group_is_its_own_cause():
    assert root_cause(BUG) is BUG


async def test_a_cancellation_hides_no_error(autojump_clock):
    """Otherwise the caller that cancelled a run would never learn that its journal is damaged."""
    appends = []

    def damaged(operation, when):
        if (operation, when) == ("append", "before"):
            appends.append(when)
            if len(appends) == 3:
                scope.cancel()
                raise JournalDamaged("journal", "it does not verify")

    async with open_negotiation(damaged) as journal:
        with pytest.raises(JournalDamaged), trio.CancelScope() as scope:
            await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(20))
