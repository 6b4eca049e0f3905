"""`kill -9` while everything is undone: real processes and tools; each effect is undone once, or a person is asked."""

import os
import random
import signal

import pytest

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from replan.cli.exits import Exit
from runtime.core.hooks import LABELS
from tests.long.peers.conftest import open_case  # noqa: F401 -- a fixture
from tests.long.peers.execution_case import ExecutionCase, plan, step

UNDO = {"on_failure": "undo"}
PLAN = plan(
    [
        step("hotel", ["start"], ["hotel"], undo="unhotel"),
        step("flight", ["hotel"], ["flight"], dependencies=["hotel"], undo="unflight"),
        step("pay", ["flight"], ["done"], dependencies=["flight"], undo="refund", **UNDO),
    ],
    ["done"],
)
"""The payment is refused: the flight is given back, then the hotel."""
TOOLS = {"hotel": {}, "flight": {}, "pay": {}, "unhotel": {}, "unflight": {"repeatable": True}, "refund": {}}
TOOL_LABELS = ("tool.prepared", "tool.started", "tool.after")
RANDOM_KILLS = int(os.environ.get("REPLAN_KILLS", "3"))
ROUNDS_MAX = 8
TRUTH = {"begin": FAILED, "end": SUCCEEDED}


@pytest.fixture
def trip(open_case):  # noqa: F811
    case = open_case(lambda *_: None)
    (case.folder / "log.pay.fails").touch()
    return ExecutionCase(case, PLAN, TOOLS)


def finish(work, code, result):
    """Resume and answer truthfully until the run has ended; return how often a tool was allowed to run again."""
    allowed = dict.fromkeys(TOOLS, 0)
    for _ in range(ROUNDS_MAX):
        if code == Exit.UNDONE:
            break
        if code == Exit.WAITING:
            text = result["question"]["text"]
            name = next(name for name in sorted(TOOLS, key=len, reverse=True) if f"'{name}'" in text)
            words = [line.split()[0] for line in work.log() if line.endswith(f" {name}")]
            answer = TRUTH[words[-1]] if words else NOT_RUN
            allowed[name] += answer != SUCCEEDED
            work.answer(result, answer)
        code, result = work.resume()
    assert (code, (result or {}).get("outcome")) == (Exit.UNDONE, "undone"), (result, work.case.error())
    return allowed


def check(work, allowed):
    """Check that each effect is undone once, and again only where that does no harm or a person allowed it."""
    log = work.log()
    for name in TOOLS:
        times = log.count(f"begin {name}")
        extra = allowed[name] + (2 if name == "unflight" else 0)
        if name == "refund":
            assert times == 0, "the payment was refused, and is given back"
        else:
            assert 1 <= times <= 1 + extra, (name, log)
    assert log.index("end unflight") < log.index("begin unhotel"), "the hotel is given back first"
    assert log.count("end hotel") == log.count("end unhotel")


def test_without_a_kill_the_flight_is_given_back_and_then_the_hotel(trip):
    """The exit code says that everything is undone."""
    code, result = trip.begin()
    assert (code, result["outcome"]) == (Exit.UNDONE, "undone"), trip.case.error()
    steps = [(each["step"], each["status"]) for each in result["undo"]]
    assert steps == [("flight", "undone"), ("hotel", "undone")]
    check(trip, dict.fromkeys(TOOLS, 0))


@pytest.mark.parametrize(
    ("label", "nth"),
    [(label, nth) for place, label in enumerate(TOOL_LABELS) for nth in range(6 + place % 2, 12, 2)]
    + [(label, nth) for label in ("append.before", "append.after") for nth in (14, 17, 20)],
)
def test_a_kill_while_something_is_undone(label, nth, trip):
    """At each call of an undo tool, and around what is recorded."""
    assert label in {*LABELS, *TOOL_LABELS}
    code, result = trip.begin(kill={"label": label, "nth": nth})
    if code >= 0:
        assert (code, nth > 6) == (Exit.UNDONE, True), trip.case.error()
    else:
        assert code == -signal.SIGKILL
        code, result = trip.resume()
    check(trip, finish(trip, code, result))


@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
def test_two_kills_at_random_times(seed, trip):
    """The second one often falls into the undoing."""
    chance = random.Random(seed)
    code, result = trip.begin(kill={"seconds": chance.uniform(0.3, 1.2)})
    if code < 0 and not trip.case.events_exist():
        code, result = trip.begin()
    if code < 0:
        code, result = trip.resume(kill={"seconds": chance.uniform(0.2, 1.0)})
    if code < 0:
        code, result = trip.resume()
    check(trip, finish(trip, code, result))
