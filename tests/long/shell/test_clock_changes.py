"""Runs survive clock changes, suspended machines and answers that take a month.

There are two clocks: trio's, which is monotonic, and the wall clock, which can be set. During a suspend the wall clock
goes on and trio's stands still, so that a suspend is a forward jump of the wall clock.
"""

import json

import pytest
import trio

from actors.handlers.generators import Registry
from actors.planning.children import actors_for
from actors.planning.kind import CODEC
from actors.planning.machine import PlanningMachine
from actors.run.kind import Resources
from runtime.core.clock import SystemClock
from runtime.core.ledger import Limits, Usage
from runtime.core.machine import fold
from runtime.core.messages import Parking
from runtime.drive.options import Ending, LeaseTerms
from runtime.drive.run_log import append_one
from runtime.drive.supervisor import Supervisor
from runtime.journal.memory import MemoryStore, open_memory
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.planning_start import planning_start
from tests.support.worlds import passed, pinned, rejected

START, HOUR, DAY = 1_700_000_000.0, 3_600.0, 86_400.0


class AdjustableClock(SystemClock):
    def __init__(self):
        self.offset = START

    def now(self):
        return self.offset + trio.current_time()


class Model:
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
        """Close nothing."""


class TwoStepRun:
    """A run of two steps with its journal, model, verdicts and wall clock."""

    def __init__(self, model, verdicts=(), **limits):
        self.clock, self.store, self.model, self.verdicts = AdjustableClock(), MemoryStore(), model, list(verdicts)
        self.limits = Limits(**{"calls": 9, **limits})
        self.config = pinned({"a": {}, "b": {"requires": ["a"]}}, questions_max=3)

    async def drive(self, *jumps):
        """Drive the run and return the ending; a jump `(after, seconds)` shifts the wall clock after trio's seconds."""

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
            begin = planning_start(self.clock.now(), self.config, limits=self.limits)
            async with trio.open_nursery() as nursery:
                for arguments in jumps:
                    nursery.start_soon(jump, *arguments)
                ending = await supervisor.drive(begin)
                nursery.cancel_scope.cancel()
            self.state = supervisor.state
        return ending

    async def events(self):
        async with open_memory(CODEC, self.clock, store=self.store) as journal:
            return [record.event for record in await journal.read("run")]

    async def folded(self):
        """Return the state after the last record."""
        return fold(PlanningMachine(), await self.events())

    async def tell(self, body):
        async with open_memory(CODEC, self.clock, store=self.store) as journal:
            await journal.post("run", body["kind"], json.dumps(body))


JUMPS = pytest.mark.parametrize("seconds", [-DAY, -HOUR, -1.0, 1.0, HOUR, 30 * DAY])


@JUMPS
async def test_a_jump_during_a_call_changes_no_call_and_no_outcome(seconds, autojump_clock):
    run = TwoStepRun(Model())
    assert await run.drive((2.0, seconds)) is Ending.FINISHED
    assert (run.state.run.finished.outcome, run.model.calls) == ("success", 2)
    assert trio.current_time() <= 11.0


@JUMPS
async def test_a_jump_during_a_back_off_does_not_lengthen_it(seconds, autojump_clock):
    """After a forward jump the wait is over; after a backward jump it still takes its seconds."""
    run = TwoStepRun(Model(faults=1))
    assert await run.drive((5.1, seconds)) is Ending.FINISHED
    assert (run.state.run.finished.outcome, run.model.calls) == ("success", 3)
    assert trio.current_time() <= 16.0 + AdjustableClock.STEP


@JUMPS
async def test_an_earlier_jump_does_not_lengthen_a_delayed_retry(seconds, autojump_clock):
    run = TwoStepRun(Model(), [rejected("tool.transient")])
    assert await run.drive((2.0, seconds)) is Ending.FINISHED
    assert (run.state.run.finished.outcome, run.model.calls) == ("success", 3)
    assert trio.current_time() <= 16.0 + AdjustableClock.STEP


@JUMPS
async def test_a_jump_changes_no_active_time_and_no_duration(seconds, autojump_clock):
    """Nor does the time count in which the machine is suspended during a call: trio's clock stands still then."""
    run = TwoStepRun(Model())
    await run.drive((2.0, seconds), (6.0, -seconds / 2))
    assert run.state.run.ledger.active == pytest.approx(10.0, abs=1e-5)
    events = await run.events()
    elapsed = [event.elapsed for event in events if event.kind == "artifact_produced"]
    assert elapsed == pytest.approx([5.0, 5.0], abs=1e-5)
    told = [event.mono for event in events if getattr(event, "at", None) is not None]
    assert told == pytest.approx([0.0, 5.0, 5.0, 10.0, 10.0], abs=1e-5)


async def test_a_clock_that_is_set_back_lets_no_work_pass_beyond_the_limit(autojump_clock):
    """Six seconds of active time stay six seconds where the clock goes back by two hours."""
    run = TwoStepRun(Model(), active_seconds=6.0)
    assert await run.drive((2.0, -2 * HOUR)) is Ending.FINISHED
    assert (run.state.run.finished.outcome, run.state.run.finished.why) == ("budget_exhausted", "no active time left")
    assert run.state.run.ledger.active == pytest.approx(6.0, abs=1e-5)
    assert run.model.calls == 2
    assert trio.current_time() < 10.0


async def test_a_clock_that_is_set_forward_uses_up_no_active_time(autojump_clock):
    """An hour of active time is not over after seconds where the clock goes forward by two hours."""
    run = TwoStepRun(Model(), active_seconds=HOUR)
    assert await run.drive((2.0, 2 * HOUR)) is Ending.FINISHED
    assert run.state.run.finished.outcome == "success"
    assert run.state.run.ledger.active == pytest.approx(10.0, abs=1e-5)


@JUMPS
@pytest.mark.parametrize("body", [None, {"kind": "cancel"}], ids=["resumed", "cancelled"])
async def test_time_between_drivers_never_counts(seconds, body, autojump_clock):
    """A killed driver's call is open until another driver comes, which first looks for a message that ends the run."""
    run = TwoStepRun(Model(), [rejected("local")])
    with trio.move_on_after(7.0):  # Within the second call; the next driver finds it open.
        await run.drive()
    active = (await run.folded()).run.ledger.active
    assert 0.0 < active <= 7.0
    await trio.sleep(DAY)
    run.clock.offset += seconds
    if body is not None:
        await run.tell(body)
    begun = trio.current_time()
    assert await run.drive() is Ending.FINISHED
    assert run.state.run.finished.outcome == ("success" if body is None else "cancelled")
    assert run.state.run.ledger.active <= active + trio.current_time() - begun + 1e-5
    assert run.state.run.ledger.active >= active


async def test_a_host_that_cannot_drive_an_interrupted_run_adds_no_active_time_by_saying_so(autojump_clock):
    run = TwoStepRun(Model())
    with trio.move_on_after(7.0):
        await run.drive()
    active = (await run.folded()).run.ledger.active
    await trio.sleep(DAY)
    async with open_memory(CODEC, run.clock, store=run.store) as journal:
        parking = Parking(run.clock.now(), handover=True, why="a plug-in is missing here")
        assert await append_one(PlanningMachine(), journal, "run", LeaseTerms("host"), parking)
    state = await run.folded()
    assert (state.run.parked, state.run.ledger.active) == (True, active)


async def test_a_backward_jump_delays_a_deadline_by_at_most_the_jump(autojump_clock):
    run = TwoStepRun(Model(faults=4), deadline=START + 8.0)
    assert await run.drive((2.0, -20.0)) is Ending.FINISHED
    assert run.state.run.finished.outcome == "budget_exhausted"
    assert run.clock.now() >= START + 8.0
    assert trio.current_time() <= 8.0 + 20.0 + AdjustableClock.STEP


async def test_waiting_for_a_person_uses_no_active_time(autojump_clock):
    """The run has no driver for thirty days; the answer opens a new round."""
    run = TwoStepRun(Model(), [rejected("requirements.missing")], active_seconds=60.0)
    assert await run.drive() is Ending.WAITING
    (question,) = run.state.run.open_questions
    run.clock.offset += 30 * DAY
    await run.tell({"kind": "answer", "question": question, "answer": "the second one"})
    assert await run.drive() is Ending.FINISHED
    assert run.state.run.finished.outcome == "success"
    assert run.state.run.ledger.active < 60.0
