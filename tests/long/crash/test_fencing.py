"""A driver is stopped (SIGSTOP) until its lease expires, another process takes the run over, and the first continues.

It must write nothing, send no request, and exit with the code for a run that another process drives.
`REPLAN_FENCES=100` stops it at that many random labels.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import pytest

from actors.planning.events import RunFinished
from actors.run.questions import ClarificationRequested
from replan.cli.exits import Exit
from tests.journal.behind import change
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD, plan
from tests.support.commands import Command, Commands
from tests.support.openai_server import serve

FENCES = int(os.environ.get("REPLAN_FENCES", "1"))
TTL = 0.6
"""Length of the lease in seconds: longer than the time between two renewals, short for a test."""
SLOW = 1.0
ASKING = {**GOOD["g_analysis"], "open_questions": ["Which of the two services is meant?"]}
HAPPY, APPENDS = 4, 9
"""Model calls and appends of a run without faults."""


def slowly(seconds: float) -> dict[str, Any]:
    """Return a script that leads to a plan; each reply takes some seconds."""
    return {step: [Answer.value(GOOD[step]).slowly(seconds)] * 20 for step in GOOD}


Open = Callable[[dict[str, Any]], Case]


@pytest.fixture
def open_case(tmp_path: Path, commands: Commands) -> Iterator[Open]:
    """Return a function that makes a case for a script; its server is closed at the end."""
    with ExitStack() as stack:
        yield lambda script: Case(tmp_path, commands, stack.enter_context(serve(by_step(script))))


@pytest.fixture
def case(open_case: Open) -> Case:
    return open_case(slowly(0.1))


def start(case: Case, **more: Any) -> Command:
    """Start the run in a process that may be stopped."""
    return case.start(case.run_command(30), "first", ttl=TTL, **more)


def take_over(case: Case) -> int:
    """Resume the run in another process as soon as the lease allows; return the exit code."""
    while True:
        code, output = case.replan("resume", "--last", "--json", ttl=TTL)
        if code != Exit.NOT_FOUND:
            return code
        assert "is driven by" in output["error"]["message"], "the lease of a stopped process is valid until it expires"


def continue_fenced(case: Case, child: Command) -> None:
    """Continue the stopped process; check its exit code, and that it neither writes nor sends."""
    records, requests = case.records(), case.requested()
    child.send_signal(signal.SIGCONT)
    code = child.rest()
    assert code == Exit.NOT_FOUND, (case.folder / "firsterr").read_text()
    assert "another process has claimed" in (case.folder / "firstout").read_text()
    assert case.records() == records, "a fenced driver has written"
    assert case.requested() == requests, "a fenced driver has sent a request"
    epochs = [record.epoch for record in records]
    assert epochs == sorted(epochs)
    case.check_billing()


def check_stop_at(case: Case, label: str, nth: int) -> None:
    """Stop the driver at a label; check that the next driver reaches the plan, and that the first is fenced."""
    child = start(case, stop={"label": label, "nth": nth})
    assert child.rest() is None
    assert take_over(case) == Exit.OK
    continue_fenced(case, child)
    assert case.result().plan_json == plan()


def stop(case: Case, child: Command) -> None:
    """Stop a process, but not during a commit, where it would keep the journal locked."""
    while True:
        child.send_signal(signal.SIGSTOP)
        assert child.rest() is None
        try:
            change(case.journal, "BEGIN IMMEDIATE")
        except apsw.BusyError:
            child.send_signal(signal.SIGCONT)
            time.sleep(0.01)
        else:
            return


def test_a_driver_stopped_before_an_append_is_fenced(case):
    check_stop_at(case, "append.before", 3)


def test_a_driver_stopped_before_a_renewal_is_fenced(open_case):
    """It is stopped between two layers of calls: a request that is being sent when a process stops leaves it later."""
    check_stop_at(open_case(slowly(SLOW)), "renew.before", 2)


def test_a_driver_stopped_before_the_final_append_is_fenced(case):
    """The next driver judges the plan again, and ends the run."""
    check_stop_at(case, "append.before", APPENDS)


def test_a_driver_stopped_with_a_call_in_flight_is_fenced(open_case):
    """The reply has arrived when the process continues: it was paid, is charged as unknown, and is not written."""
    case = open_case(slowly(SLOW))
    child = start(case)
    while len(case.requested()) < 3:
        time.sleep(0.01)
    stop(case, child)
    assert take_over(case) == Exit.OK
    continue_fenced(case, child)
    assert len(case.requested()) > HAPPY


def test_a_driver_stopped_with_an_open_question_is_fenced(open_case):
    """Its question is recorded once, and is answered while the next driver has the run."""
    case = open_case({**slowly(SLOW), "g_analysis": [ASKING, *slowly(0)["g_analysis"]]})
    child = start(case)
    while not (questions := [event for event in case.events() if isinstance(event, ClarificationRequested)]):
        time.sleep(0.01)
    stop(case, child)
    assert take_over(case) == Exit.WAITING
    continue_fenced(case, child)
    run = case.result().run_id
    assert case.replan("answer", f"{run}/{questions[0].question_id}", "the second")[0] == Exit.OK
    assert case.replan("resume", run, "--json")[0] == Exit.OK
    assert [event for event in case.events() if isinstance(event, ClarificationRequested)] == questions


@pytest.mark.parametrize("seed", range(FENCES))
def test_a_driver_stopped_at_a_random_label_is_fenced(case, seed):
    """The seed selects the label. A driver that has already written the end exits normally."""
    rng = random.Random(seed)
    label = rng.choice(("append.before", "append.after", "send.before", "reply.after", "judge.after"))
    nth = rng.randint(2 if label == "append.before" else 1, 5)  # Before the first append there is no run to take over.
    child = start(case, stop={"label": label, "nth": nth})
    if (code := child.rest()) is not None:
        assert code == Exit.OK  # The label was not reached that often.
    elif isinstance(case.events()[-1], RunFinished):
        child.send_signal(signal.SIGCONT)
        assert child.rest() == Exit.OK
    else:
        assert take_over(case) == Exit.OK
        continue_fenced(case, child)
