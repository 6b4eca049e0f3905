"""A driver is stopped (SIGSTOP) beyond its lease, another process takes the run, and the first one wakes: too late.

Promised: it writes nothing, asks for nothing new, and leaves with the code for a run that another process drives.
`REPLAN_FENCES=100` stops it at so many other places, by a seed.
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
from tests.crash.cli_case import Case
from tests.journal.behind import change
from tests.support.answers import Answer, by_step
from tests.support.artifacts import GOOD, plan
from tests.support.fork_server import ForkServer
from tests.support.openai_server import serve

FENCES = int(os.environ.get("REPLAN_FENCES", "1"))
TTL = 0.6
"""Seconds: long against what a process does between two renewals, short for a test."""
SLOW = 1.0
ASKING = {**GOOD["g_analysis"], "open_questions": ["Which of the two services is meant?"]}
HAPPY, APPENDS = 4, 9
"""Model calls, and appends, of the script below."""


def slowly(seconds: float) -> dict[str, Any]:
    """Return a script that leads to a plan, each answer after some seconds."""
    return {step: [Answer.value(GOOD[step]).slowly(seconds)] * 20 for step in GOOD}


Open = Callable[[dict[str, Any]], Case]


@pytest.fixture
def opened(tmp_path: Path, fork_server: ForkServer) -> Iterator[Open]:
    """Give a way to make the case with a script; its server is closed at the end."""
    with ExitStack() as stack:
        yield lambda script: Case(tmp_path, fork_server, stack.enter_context(serve(by_step(script))))


@pytest.fixture
def case(opened: Open) -> Case:
    return opened(slowly(0.1))


def begun(case: Case, **more: Any) -> int:
    """Begin the run in a process that may be stopped; return its number."""
    return case.fork_server.start(case.request(case.run_command(30), "first", ttl=TTL, **more))


def taken_over(case: Case) -> int:
    """Resume the run as soon as it may be, in another process; return the exit code."""
    while True:
        code, said = case.replan("resume", "--last", "--json", ttl=TTL)
        if code != Exit.NOT_FOUND:
            return code
        assert "is driven by" in said["error"]["message"], "the lease of a stopped process is respected"


def wakes_too_late(case: Case, child: int) -> None:
    """Wake the stopped process; check that it leaves as it should, and no trace."""
    before, asked = case.records(), case.requested()
    os.kill(child, signal.SIGCONT)
    code = case.fork_server.wait(child)
    assert code == Exit.NOT_FOUND, (case.folder / "firsterr").read_text()
    assert "was taken over" in (case.folder / "firstout").read_text()
    assert case.records() == before, "a fenced driver has written"
    assert case.requested() == asked, "a fenced driver has asked"
    epochs = [record.epoch for record in before]
    assert epochs == sorted(epochs)
    case.check_billing()


def stopped_at(case: Case, label: str, nth: int) -> None:
    """Stop the driver at a label; the other comes to the plan."""
    child = begun(case, stop={"label": label, "nth": nth})
    assert case.fork_server.wait(child) is None
    assert taken_over(case) == Exit.OK
    wakes_too_late(case, child)
    assert case.result().plan == plan()


def stop(case: Case, child: int) -> None:
    """Stop a process, but not in the middle of a commit: there it would lock everybody out until it goes on."""
    while True:
        os.kill(child, signal.SIGSTOP)
        assert case.fork_server.wait(child) is None
        try:
            change(case.journal, "BEGIN IMMEDIATE")
        except apsw.BusyError:
            os.kill(child, signal.SIGCONT)
            time.sleep(0.01)
        else:
            return


def test_before_an_append(case):
    stopped_at(case, "append.before", 3)


def test_in_the_renewal_of_its_lease(case):
    stopped_at(case, "renew.before", 1)


def test_at_the_finish(case):
    """Before the append that would end the run: the other one judges again, and ends it."""
    stopped_at(case, "append.before", APPENDS)


def test_while_a_model_call_is_in_flight(opened):
    """The reply lies in the socket when the process wakes: it was paid, is charged as unknown, and is not written."""
    case = opened(slowly(SLOW))
    child = begun(case)
    while len(case.requested()) < 3:
        time.sleep(0.01)
    stop(case, child)
    assert taken_over(case) == Exit.OK
    wakes_too_late(case, child)
    assert len(case.requested()) > HAPPY


def test_while_it_waits_for_a_person(opened):
    """Its question stands once, is answered to the other, and the run ends as if nothing had happened."""
    case = opened({**slowly(SLOW), "g_analysis": [ASKING, *slowly(0)["g_analysis"]]})
    child = begun(case)
    while not (asked := [event for event in case.events() if isinstance(event, ClarificationRequested)]):
        time.sleep(0.01)
    stop(case, child)
    assert taken_over(case) == Exit.WAITING
    wakes_too_late(case, child)
    run = case.result().run_id
    assert case.replan("answer", f"{run}/{asked[0].question_id}", "the second")[0] == Exit.OK
    assert case.replan("resume", run, "--json")[0] == Exit.OK
    assert [event for event in case.events() if isinstance(event, ClarificationRequested)] == asked


@pytest.mark.parametrize("seed", range(FENCES))
def test_at_any_place(case, seed):
    """A label and how often it is reached, by the seed; a driver that has written the end has lost nothing."""
    rng = random.Random(seed)
    label = rng.choice(("append.before", "append.after", "send.before", "reply.after", "judge.after"))
    nth = rng.randint(2 if label == "append.before" else 1, 5)  # Before its first append there is no run to take.
    child = begun(case, stop={"label": label, "nth": nth})
    if (code := case.fork_server.wait(child)) is not None:
        assert code == Exit.OK  # It was not reached so often.
    elif isinstance(case.events()[-1], RunFinished):
        os.kill(child, signal.SIGCONT)
        assert case.fork_server.wait(child) == Exit.OK
    else:
        assert taken_over(case) == Exit.OK
        wakes_too_late(case, child)
