"""Time behaves badly: clocks are set, machines sleep, people take a month. No run is harmed by it.

There are two clocks: trio's, which never goes back, and the wall clock, which somebody may set. For a machine that was
suspended the wall clock has jumped and trio's has stood still, so that a suspend is a jump forward.
"""

import json

import pytest
import trio

from actors.handlers.registry import Registry
from actors.planning.actors import actors_for
from actors.planning.kind import CODEC
from actors.planning.machine import PlanningMachine
from actors.planning.messages import Begin
from actors.run.kind import Resources
from runtime.core.clock import SystemClock
from runtime.core.cost import Usage
from runtime.core.ledger import Limits
from runtime.drive.options import Ending, LeaseTerms
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import MemoryStore, open_memory
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.worlds import passed, pinned, rejected

START, HOUR, DAY = 1_700_000_000.0, 3_600.0, 86_400.0


class SetClock(SystemClock):
    """The system's clock, with a time that can be set."""

    def __init__(self):
        self.offset = START

    def now(self):
        return self.offset + trio.current_time()


class Model:
    """Fails as often as it is told, then answers, each time after five seconds."""

    name = "toy"

    def __init__(self, faults=0):
        self.faults, self.calls = faults, 0

    async def complete(self, request):
        self.calls += 1
        await trio.sleep(5.0)
        if self.calls <= self.faults:
            return Fault(kind=FaultKind.SERVER_ERROR, message="busy")
        return Reply(text="{}", usage=Usage(input_tokens=1, output_tokens=1), model="toy")

    async def aclose(self):
        """Nothing is open."""


class Place:
    """A run of two steps, its journal, a wall clock that can be set, and whoever drives it next."""

    def __init__(self, model, verdicts=(), **limits):
        self.clock, self.store, self.model, self.verdicts = SetClock(), MemoryStore(), model, list(verdicts)
        self.limits = Limits(**{"calls": 9, **limits})
        self.config = pinned({"a": {}, "b": {"requires": ["a"]}}, questions_max=3)

    async def drive(self, *jumps):
        """Drive the run; each jump sets the wall clock, after some of trio's seconds, by so much. Return the ending."""

        async def jump(after, seconds):
            await trio.sleep(after)
            self.clock.offset += seconds

        def guard(artifact, context):
            return self.verdicts.pop(0) if self.verdicts else passed()

        async with open_memory(CODEC, self.clock, store=self.store) as journal:
            if not self.store.runs:
                await journal.create("run", "")
            registry = Registry(guards={"toy": lambda _: guard})
            supervisor = Supervisor(
                "run",
                machine=PlanningMachine(),
                journal=journal,
                actors=actors_for(self.config, Resources(self.model, self.clock, registry, threads=False)),
                lease=LeaseTerms("driver"),
            )
            begin = Begin(self.clock.now(), "run", "the problem", self.config.model_dump_json(), self.limits)
            async with trio.open_nursery() as nursery:
                for one in jumps:
                    nursery.start_soon(jump, *one)
                ending = await supervisor.drive(begin)
                nursery.cancel_scope.cancel()
            self.state = supervisor.state
        return ending

    async def tell(self, body):
        """Post a message while nobody drives."""
        async with open_memory(CODEC, self.clock, store=self.store) as journal:
            await journal.post("run", body["kind"], json.dumps(body))


JUMPS = pytest.mark.parametrize("seconds", [-DAY, -HOUR, -1.0, 1.0, HOUR, 30 * DAY])


@JUMPS
async def test_a_jump_while_a_model_works_changes_no_call_and_no_outcome(seconds, autojump_clock):
    place = Place(Model())
    assert await place.drive((2.0, seconds)) is Ending.FINISHED
    assert (place.state.run.finished.outcome, place.model.calls) == ("success", 2)
    assert trio.current_time() <= 11.0


@JUMPS
async def test_a_jump_during_a_back_off_lengthens_it_by_nothing(seconds, autojump_clock):
    """Set forward or suspended, the wait is over; set back, its seconds pass all the same."""
    place = Place(Model(faults=1))
    assert await place.drive((5.1, seconds)) is Ending.FINISHED
    assert (place.state.run.finished.outcome, place.model.calls) == ("success", 3)
    assert trio.current_time() <= 16.0 + SetClock.STEP


@JUMPS
async def test_a_retry_that_the_policy_delays_is_delayed_by_no_jump_before_it(seconds, autojump_clock):
    """The wait is counted from what the clock says, not from the latest time that the run has heard of."""
    place = Place(Model(), [rejected("tool.transient")])
    assert await place.drive((2.0, seconds)) is Ending.FINISHED
    assert (place.state.run.finished.outcome, place.model.calls) == ("success", 3)
    assert trio.current_time() <= 16.0 + SetClock.STEP


@JUMPS
async def test_active_time_is_no_less_and_at_most_longer_by_a_jump(seconds, autojump_clock):
    """The books never count time back; a jump forward counts as work, since nobody can tell it from a slow reply."""
    place = Place(Model())
    await place.drive((2.0, seconds))
    active = place.state.run.ledger.active
    assert 0.0 <= active <= 10.1 + max(0.0, seconds)


async def test_a_clock_that_was_set_back_delays_a_deadline_by_no_more_than_that(autojump_clock):
    """A deadline is a time of day: by the clock on the wall, and the run asks for nothing after it."""
    place = Place(Model(faults=4), deadline=START + 8.0)
    assert await place.drive((2.0, -20.0)) is Ending.FINISHED
    assert place.state.run.finished.outcome == "budget_exhausted"
    assert place.clock.now() >= START + 8.0


async def test_thirty_days_of_waiting_for_a_person_cost_nothing(autojump_clock):
    """Nobody drives the run meanwhile; the answer opens a new round, and no active time has passed."""
    place = Place(Model(), [rejected("requirements.missing")], active_seconds=60.0)
    assert await place.drive() is Ending.WAITING
    (question,) = place.state.run.open_questions
    place.clock.offset += 30 * DAY
    await place.tell({"kind": "answer", "question": question, "answer": "the second one"})
    assert await place.drive() is Ending.FINISHED
    assert place.state.run.finished.outcome == "success"
    assert place.state.run.ledger.active < 60.0
