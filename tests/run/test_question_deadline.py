"""Until when an answer to a question helps: its expiry, or the run's deadline where that is earlier."""

import pytest

from actors.run.ids import expiry_id
from actors.run.open_question import answer_deadline
from actors.run.state import RunState
from actors.run.waits import WaitRequested
from runtime.core.ledger import Ledger, Limits


@pytest.mark.parametrize(
    ("expiry", "deadline", "until"),
    [(None, None, None), (50.0, None, 50.0), (None, 70.0, 70.0), (50.0, 70.0, 50.0), (90.0, 70.0, 70.0)],
)
def test_the_earlier_of_expiry_and_deadline_counts(expiry, deadline, until):
    name = expiry_id("q1")
    waits = {} if expiry is None else {name: WaitRequested(request_id=name, until=expiry, why="q1 expires")}
    state = RunState(waits=waits, ledger=Ledger(Limits(deadline=deadline)))
    assert answer_deadline(state, "q1") == until
