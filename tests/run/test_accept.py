"""What machines make of messages before their run began, of a second start, and of replies that nobody asked for."""

import pytest

from actors.execution.kind import EXECUTION
from actors.planning.kind import PLANNING
from actors.run.calls import Faulted, Generated, Judged
from actors.run.tools import Begun, Checked, Ended, ToolOutcome
from actors.values.findings import Verdict
from runtime.core.machine import Refused
from runtime.core.messages import Crashed, Mailed, Parking, Resumed, Woken
from runtime.models.port import Fault, FaultKind, Reply
from tests.execution.stage import Stage as ExecutionStage
from tests.execution.stage import plan, step
from tests.support.worlds import World, passed, pinned

MESSAGES = {
    "a reply": Generated("x", 1.0, 1.0, Reply("{}", None, "m")),
    "a fault": Faulted("x", 1.0, 1.0, Fault(kind=FaultKind.TIMEOUT, message="down")),
    "a verdict": Judged("x", 1.0, 1.0, Verdict(guard="g", passed=True, score=1.0)),
    "a tool that began": Begun("x", 1.0),
    "a tool that ended": Ended("x", 1.0, 1.0, ToolOutcome.SUCCEEDED, ""),
    "a tool that was looked for": Checked("x", 1.0, certain=True),
    "a wait that ended": Woken("x", 1.0),
}
CONTROL = {
    "a driver": Resumed(1, 1.0),
    "a stop": Parking(1.0),
    "a crash": Crashed("x", 1.0, "error"),
    "mail": Mailed(1, "key", '{"kind": "cancel"}', 1.0),
}


def planning():
    world = World(pinned({"g_plan": {}}), judge=lambda *_: passed())
    world.begin()
    return world


BEGUN = {
    "planning": (PLANNING, planning),
    "execution": (EXECUTION, lambda: ExecutionStage(plan(step("a", "start", "goal")))),
}


@pytest.mark.parametrize("kind", BEGUN)
def test_a_run_that_has_not_begun_refuses_every_message_but_its_start(kind):
    machine = BEGUN[kind][0].machine
    for name, message in (MESSAGES | CONTROL).items():
        assert machine.accept(machine.initial(), message) == Refused("the run has not begun"), name


@pytest.mark.parametrize("kind", BEGUN)
def test_a_run_that_has_not_begun_decides_nothing_and_asks_for_nothing(kind):
    machine = BEGUN[kind][0].machine
    assert machine.advance(machine.initial()) is None
    assert machine.outstanding(machine.initial()) == {}


@pytest.mark.parametrize("kind", BEGUN)
def test_a_reply_that_nobody_asked_for_is_a_duplicate(kind):
    begun = BEGUN[kind][1]()
    for name, message in MESSAGES.items():
        assert begun.machine.accept(begun.state, message) is None, name


@pytest.mark.parametrize("kind", BEGUN)
def test_a_second_start_is_a_duplicate(kind):
    begun = BEGUN[kind][1]()
    assert begun.machine.accept(begun.state, begun.events[0].model_copy(update={"run": "another"})) is None
