"""A cancel that comes at the moment at which a run ends is told truthfully."""

import json
import signal
import time

import pytest
import trio

from actors.planning.kind import CODEC
from replan.cli.exits import Exit
from runtime.core.clock import SystemClock
from runtime.journal.sqlite.journal import open_sqlite
from tests.long.crash.test_fencing import APPENDS
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD

PATIENCE = 300.0
HAPPY = {step: [GOOD[step]] * 9 for step in GOOD}


async def is_posted(case, run):
    async with open_sqlite(case.journal, CODEC, SystemClock()) as journal:
        return len(await journal.inbox(run)) > 0


def stopped_before_append(case, nth):
    """Start a run, stop its driver just before an append, and post a cancel; return the driver and the cancel."""
    driver = case.start(case.run_command(9), "run.", stop={"label": "append.before", "nth": nth})
    assert driver.rest() is None
    [run] = case.runs()
    cancel = case.start(("cancel", run, "--json"), "cancel.")
    until = time.monotonic() + PATIENCE
    while not trio.run(is_posted, case, run):
        assert time.monotonic() < until, "the cancel was not posted"
        time.sleep(0.01)
    driver.send_signal(signal.SIGCONT)
    return driver, cancel


def test_a_cancel_that_comes_after_the_decision_to_end_is_not_told_as_a_success(open_case):
    """dbos-inc/dbos-transact-py#767: a cancel that races the end returned normally, and the workflow succeeded."""
    case = open_case(by_step(HAPPY))
    driver, cancel = stopped_before_append(case, APPENDS)
    assert (driver.rest(), case.result().outcome) == (Exit.OK, "success")
    assert cancel.rest() == Exit.USAGE
    told = json.loads((case.folder / "cancel.out").read_text())
    assert "has finished before it was cancelled (success)" in told["error"]["message"]


@pytest.mark.parametrize("nth", range(2, APPENDS + 1))
def test_what_a_cancel_tells_is_what_has_happened_wherever_the_driver_was(nth, open_case):
    """dbos-inc/dbos-transact-py#767: the run is cancelled and both commands say so, or it succeeded and both say that.

    While a call is open, the cancel is taken.
    """
    case = open_case(by_step({step: [Answer.value(GOOD[step]).slowly(0.3)] * 9 for step in GOOD}))
    driver, cancel = stopped_before_append(case, nth)
    ends = (driver.rest(), case.result().outcome)
    assert ends in [(Exit.CANCELLED, "cancelled"), *([] if nth < APPENDS - 1 else [(Exit.OK, "success")])]
    code, told = cancel.rest(), json.loads((case.folder / "cancel.out").read_text())
    if code == Exit.OK and not told["cancelled"]:  # On a busy machine it does not wait for the driver any longer.
        return
    assert (code, told.get("cancelled")) == ((Exit.OK, True) if ends[1] == "cancelled" else (Exit.USAGE, None))
