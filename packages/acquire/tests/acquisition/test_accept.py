"""What the machine of acquisitions takes before and after a run's start, as `tests/run/test_accept.py` says for all."""

from packages.acquire.tests.acquisition.stage import Stage, prepared
from replan_acquire.acquisition.kind import ACQUISITION
from runtime.core.machine import Refused
from tests.run.test_accept import CONTROL, MESSAGES


def test_a_run_that_has_not_begun_refuses_every_message_and_decides_nothing():
    machine = ACQUISITION.machine
    for name, message in (MESSAGES | CONTROL).items():
        assert machine.accept(machine.initial(), message) == Refused("the run has not begun"), name
    assert machine.advance(machine.initial()) is None
    assert machine.outstanding(machine.initial()) == {}


def test_a_second_start_and_a_reply_that_nobody_asked_for_are_duplicates():
    begun = Stage(prepared())
    for name, message in MESSAGES.items():
        assert begun.machine.accept(begun.state, message) is None, name
    assert begun.machine.accept(begun.state, begun.events[0].model_copy(update={"run": "another"})) is None
