"""Active time: the union of the intervals in which work is open, by the drivers' monotonic seconds.

The wall clock may jump by any amount between two messages. The tests keep their own account: they add up the seconds
between two messages of one driver whenever work was outstanding.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.planning.events import EVENTS
from actors.planning.machine import PlanningMachine
from actors.run.agent import AgentSettings, AgentStarted
from actors.run.agent_machine import AgentMachine
from actors.run.calls import Faulted, Generated, Judged
from actors.run.evolve import record_time
from actors.run.parking import RunParked, RunResumed
from actors.run.state import RunState
from actors.run.tools import Begun, Ended, ToolOutcome
from actors.run.waits import WaitEnded
from runtime.core.events import Codec
from runtime.core.ledger import Ledger, Limits, Usage
from runtime.core.machine import fold, settle
from runtime.core.messages import Mailed, Resumed, Woken, stamp
from runtime.models.port import Fault, FaultKind, Reply
from tests.run.haggler import Haggler
from tests.support.planning_start import planning_start
from tests.support.worlds import passed, pinned, rejected

START, DAY = 1_700_000_000.0, 86_400.0
STEPS = {"a": {"rmax": 3}, "b": {"rmax": 3}, "c": {"requires": ["a", "b"], "rmax": 3}}
CODEC = Codec(EVENTS)
WORK = ("step:", "guard:", "model", "tool:")
"""What the addresses of work begin with whose time counts; the clock's and people's does not."""


class Clocks:
    """A run on the pure machine, with a wall clock that jumps, and the account of the time in which work was open."""

    def __init__(self, machine, first):
        self.machine, self.state, self.events = machine, machine.initial(), []
        self.wall, self.mono, self.told, self.expected, self.epoch = START, 0.0, 0.0, 0.0, 1
        self.send(first)

    def working(self):
        """Tell whether work is outstanding that counts."""
        work = self.machine.outstanding(self.state).values()
        return any(item.address.startswith(WORK) for item in work)

    def passes(self, seconds, jump=0.0):
        """Let time pass for the driver; the wall clock jumps beside that."""
        self.mono += seconds
        self.wall += seconds + jump

    def send(self, message):
        """Give the machine a message, stamped as the supervisor does it."""
        accepted = self.machine.accept(self.state, stamp(message, self.mono))
        if accepted is None:
            return
        assert accepted.kind == "wait_requested" or accepted.mono == pytest.approx(self.mono, abs=1e-6)
        if self.working() and not isinstance(message, Resumed):
            self.expected += self.mono - self.told
        self.told = self.mono
        self.state, events = settle(self.machine, self.state, accepted)
        self.events += events

    def driver_dies(self, seconds, jump, claim):
        """Let the driver die; after some seconds another one claims the run, and resumes it after reading it."""
        self.state = fold(self.machine, self.events)
        self.passes(seconds, jump)
        self.epoch, self.mono = self.epoch + 1, claim
        self.send(Resumed(self.epoch, self.wall))

    def check(self):
        """Compare the account with the ledger, also after the events were stored and read."""
        assert self.state.run.ledger.active == pytest.approx(self.expected, abs=1e-5 * (1 + len(self.events)))
        assert fold(self.machine, self.events).run == self.state.run


def begin(**limits):
    config = pinned(STEPS, questions_max=0)
    return planning_start(START, config, limits=Limits(**{"calls": 1_000, **limits}))


SECONDS = some.one_of(some.just(0.0), some.floats(0.0, 30.0), some.floats(0.0, 5 * DAY))
JUMPS = some.one_of(some.just(0.0), some.floats(-10.0, 10.0), some.floats(-400 * DAY, 400 * DAY))
ACTIONS = some.sampled_from(("answer", "answer", "answer", "fault", "reject", "note", "die"))


@given(some.lists(some.tuples(ACTIONS, SECONDS, JUMPS, some.integers(0, 9)), max_size=40))
def test_active_time_is_the_union_of_the_open_intervals_for_any_wall_clock(story):
    run = Clocks(PlanningMachine(), begin())
    for number, (action, seconds, jump, choice) in enumerate(story):
        if action == "die":
            run.driver_dies(seconds, jump, claim=seconds / 7)
            continue
        run.passes(seconds, jump)
        work = [item for item in run.machine.outstanding(run.state).values() if item.address != "user"]
        if action == "note" or not work:
            run.send(Mailed(number, str(number), json.dumps({"kind": "note", "text": "a note"}), run.wall))
            continue
        run.send(answer(work[choice % len(work)], action, run.wall, number))
    run.check()


def answer(item, action, at, number):
    """Return the message that ends a piece of work."""
    if item.address == "clock":
        return Woken(item.request_id, at)
    if item.address.startswith("guard:"):
        verdict = rejected("plan.unparseable") if action == "reject" else passed()
        return Judged(item.request_id, at, 0.0, verdict)
    if action == "fault":
        return Faulted(item.request_id, at, 1.0, Fault(kind=FaultKind.RATE_LIMITED, message="busy"))
    return Generated(item.request_id, at, 1.0, Reply(f'{{"number": {number}}}', Usage(), "toy"))


def test_a_small_agent_counts_its_model_and_its_tools_and_no_day_of_a_person():
    run = Clocks(
        AgentMachine(Haggler()),
        AgentStarted(at=START, run="run", task="a lamp", limits=Limits(), settings=AgentSettings(model="toy")),
    )
    run.passes(4.0, jump=-DAY)
    run.send(Generated(next(iter(run.state.run.calls.open)), run.wall, 4.0, price("20")))
    run.passes(3 * DAY, jump=9.0)
    (question,) = run.state.run.open_questions
    body = json.dumps({"kind": "answer", "question": question, "answer": "yes"})
    run.send(Mailed(1, "answer", body, run.wall))
    (tool,) = run.state.run.tools
    run.passes(0.5, jump=DAY)
    run.send(Begun(tool, run.wall))
    run.passes(2.0, jump=-DAY)
    run.send(Ended(tool, run.wall, 2.0, ToolOutcome.SUCCEEDED))
    assert run.state.run.finished.outcome == "success"
    assert run.state.run.ledger.active == pytest.approx(6.5)
    run.check()


def price(text):
    return Reply(text, Usage(), "toy")


@pytest.mark.parametrize("jump", [-2 * 3_600.0, 2 * 3_600.0, -1.0, 400 * DAY])
def test_a_limit_of_active_time_ends_a_run_after_as_many_seconds_whatever_the_clock_says(jump):
    run = Clocks(PlanningMachine(), begin(active_seconds=6.0))
    for _ in range(3):
        work = [item for item in run.machine.outstanding(run.state).values() if item.address != "clock"]
        assert run.state.run.finished is None
        run.passes(2.0, jump)
        run.send(answer(work[0], "answer", run.wall, 1))
    requested = [event.node for event in run.events if event.kind == "generation_requested"]
    while run.state.run.finished is None:  # What was open at the limit is finished; nothing new is asked for.
        (item, *_) = run.machine.outstanding(run.state).values()
        run.send(answer(item, "answer", run.wall, 2))
    assert [event.node for event in run.events if event.kind == "generation_requested"] == requested
    assert run.state.run.finished.why == "no active time left"
    assert run.state.run.ledger.active == pytest.approx(6.0)


WORKING = RunState(run_id="r", ledger=Ledger(Limits()), now=100.0, wall=100.0)


def told(run, at, mono=None):
    return record_time(run, WaitEnded(at=at, mono=mono, request_id="w"), working=True)


def test_records_without_monotonic_seconds_count_by_the_wall_clock():
    run = told(told(WORKING, 130.0), 110.0)
    assert (run.now, run.mono, run.ledger.active) == (130.0, None, 30.0)


def test_an_epoch_with_monotonic_seconds_counts_by_nothing_else():
    """An event that a decision of the machine has given the time tells no seconds, and adds none."""
    run = record_time(WORKING, RunResumed(at=5_000.0, mono=0.25, epoch=2), working=True)
    run = told(told(told(run, 9_000.0, 1.25), 9_500.0), 9_600.0, 2.25)
    assert (run.now, run.mono, run.ledger.active) == (9_600.0, 2.25, 2.0)


def test_messages_that_are_taken_in_another_order_than_they_were_told_count_once():
    run = record_time(WORKING, RunResumed(at=100.0, mono=0.0, epoch=2), working=True)
    run = told(told(told(run, 103.0, 3.0), 102.0, 2.0), 104.0, 4.0)
    assert run.ledger.active == 4.0


@pytest.mark.parametrize("mono", [None, 57.0])
def test_what_a_driver_takes_before_it_resumes_the_run_counts_nothing(mono):
    """A parking by a host that cannot drive the run, or a message that ends it: with the second 0 of a new claim."""
    run = (
        WORKING
        if mono is None
        else told(record_time(WORKING, RunResumed(at=1.0, mono=0.0, epoch=2), working=True), 2.0, mono)
    )
    before = run.ledger.active
    run = record_time(run, RunParked(at=DAY, mono=0.0), working=True)
    assert run.ledger.active == before
    run = record_time(run, RunResumed(at=2 * DAY, mono=0.0, epoch=3), working=True)
    assert told(run, 2 * DAY, 3.0).ledger.active == before + 3.0


def test_events_keep_their_seconds_in_the_journal_and_those_without_any_stay_as_they_were():
    message = stamp(Woken("deadline", 1.0), 2.123456789)
    assert stamp(message, 9.0) == message
    event = WaitEnded(at=1.0, mono=message.mono, request_id="deadline")
    stored = CODEC.encode(event)
    assert b'"mono":2.123457' in stored.body
    assert CODEC.decode(stored.body, {}) == event
    assert b"mono" not in CODEC.encode(RunParked(at=1.0)).body
