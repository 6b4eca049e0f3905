"""What a message may change of a run: `strict`, which a run can only become, and only where it makes a plan."""

import pytest

from actors.run.settings import NEVER_STRICT, change_of, for_children
from actors.run.state import RunState
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Ledger, Limits

LEDGER = Ledger(Limits(calls=3))


def test_a_run_of_a_kind_that_says_nothing_about_it_cannot_become_strict():
    with pytest.raises(UsageProblem, match=NEVER_STRICT) as refused:
        change_of(LEDGER, {"strict": True}, 0.0, never_strict=RunState().never_strict)
    assert refused.value.place == "strict"


@pytest.mark.parametrize("value", [False, "yes", 1, 0])
def test_a_run_can_only_become_strict(value):
    with pytest.raises(UsageProblem, match="can only become strict"):
        change_of(LEDGER, {"strict": value}, 0.0, never_strict="")


def test_becoming_strict_changes_nothing_else_and_is_not_passed_on_to_child_runs():
    event = change_of(LEDGER, {"strict": True}, 0.0, never_strict="")
    assert (event.strict, event.limits, event.model) == (True, None, None)
    assert for_children({}, LEDGER.limits, event) == {}
