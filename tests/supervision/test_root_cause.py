"""Out of a group of errors one is told: the one that explains the others."""

import pytest
import trio

from runtime.core.errors import Fenced, JournalDamaged, UsageProblem, root_cause
from tests.supervision.haggling import player, supervisor, table
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
def test_the_first_error_is_the_cause_unless_one_of_ours_explains_it(errors: list[Exception], cause: Exception) -> None:
    assert root_cause(ExceptionGroup("", errors)) is cause


def test_what_is_no_group_is_its_own_cause() -> None:
    assert root_cause(BUG) is BUG


async def test_a_cancellation_hides_no_error(autojump_clock: trio.testing.MockClock) -> None:
    """Else whoever cancelled a run would never hear that its journal is damaged."""
    appends: list[str] = []

    def damaged(operation: str, when: str) -> None:
        if (operation, when) == ("append", "before"):
            appends.append(when)
            if len(appends) == 3:
                scope.cancel()
                raise JournalDamaged("journal", "it does not verify")

    async with table(damaged) as journal:
        with pytest.raises(JournalDamaged), trio.CancelScope() as scope:
            await supervisor(journal, player(10, 10), player(50, -10)).drive(Start(20))
