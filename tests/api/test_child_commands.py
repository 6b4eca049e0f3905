"""What a person has of a child run: its commands name the run above, and the run above shows its warnings."""

import pytest
import trio

from actors.planning.events import GenerationRequested
from actors.planning.kind import CODEC
from actors.run.ids import child_run
from actors.run.near_limit import LimitNear
from runtime.core.clock import SystemClock
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.drive.options import DriveOptions, Stop
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from tests.long.api.test_children import CHILD, ParentRun, answers, write
from tests.support.artifacts import plan

STEP = child_run("top", "g_plan/v1.a1")
MIDDLE = 'name: below\naction_pairs:\n  m_plan: {generator: "workflow:./lowest.yaml", guard: plan_medium}\n'
COMMANDS = {
    "resume": (lambda engine, run: engine.resume(run), "resume top"),
    "cancel": (lambda engine, run: engine.cancel(run), "cancel top"),
    "finish_cancelled": (lambda engine, run: engine.finish_cancelled(run), "cancel top"),
    "tell": (lambda engine, run: engine.tell(run, "Hurry."), "tell top TEXT"),
    "answer": (lambda engine, run: engine.answer(f"{run}/q1", "yes", via="cli"), "questions top"),
    "decline": (lambda engine, run: engine.decline(f"{run}/q1", via="cli"), "questions top"),
}


@pytest.fixture
async def journal():
    async with open_memory(CODEC, SystemClock()) as opened:
        yield opened


@pytest.fixture
def parent(journal, tmp_path):
    return ParentRun(journal, tmp_path, answers(plan(), plan()))


async def parked(parent, run):
    """Begin a run, and park it at the request for its last step."""
    stop = Stop()

    def park(record, _):
        if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
            stop.requested.set()

    assert (await parent.engine.begin(parent.request, DriveOptions(stop, park), run=run)).status == "parked"


async def content(journal):
    rows = await journal.runs(RunFilter())
    return [(row, await journal.read(row.run), await journal.inbox(row.run, 0)) for row in rows]


async def assert_refused(send, engine, run):
    """Send a command that is refused without a claim, a message or a record; return the error."""
    before = await content(engine.journal)
    with pytest.raises(UsageProblem) as caught:
        await send(engine, run)
    assert await content(engine.journal) == before
    assert (caught.value.place, caught.value.cause) == (
        run,
        "the run is a step of run top, and only that run can continue it",
    )
    return caught.value


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_child_refuses_commands_and_names_the_parent(parent, command):
    await parked(parent, "top")
    send, hint = COMMANDS[command]
    assert (await assert_refused(send, parent.engine, STEP)).hint.endswith(f" {hint}`")
    assert (await parent.engine.resume("top")).outcome == "success"
    assert (await parent.engine.result(STEP)).outcome == "success", "it can be read"


async def test_the_error_names_the_topmost_run(journal, tmp_path):
    write(tmp_path, lowest=CHILD)
    parent = ParentRun(journal, tmp_path, answers(plan()), below=MIDDLE)
    assert (await parent.engine.begin(parent.request, run="top")).outcome == "success"
    lowest = child_run(STEP, "m_plan/v1.a1")
    assert lowest in await parent.runs()
    await assert_refused(COMMANDS["resume"][0], parent.engine, lowest)


async def test_a_child_without_a_record_is_recognised(parent):
    """The state after a kill between its admission and its first record."""
    with trio.CancelScope() as killed:

        def kill(record, _):
            if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
                killed.cancel()

        await parent.engine.begin(parent.request, DriveOptions(on_record=kill), run="top")
    await parent.engine.journal.create(STEP, "of the step")
    await assert_refused(COMMANDS["cancel"][0], parent.engine, STEP)
    assert (await parent.engine.resume("top")).outcome == "success"


@pytest.mark.parametrize("above", [True, False])
async def test_a_run_that_only_has_the_name_of_a_child_accepts_commands(parent, above):
    if above:
        await parent.engine.begin(parent.request, run="top")
    await parked(parent, "top.12345678")
    await parent.engine.tell("top.12345678", "Mind the licence.")
    assert (await parent.engine.resume("top.12345678")).outcome == "success"
    with pytest.raises(RunNotFound):
        await parent.engine.cancel("top.87654321")


async def test_the_warning_of_a_child_run_is_a_warning_of_the_run_above(parent, journal):
    """The child may make two calls; the warning about the first is recorded above before the child's result."""
    assert (await parent.engine.begin(parent.request, run="top")).succeeded
    warnings = {run: await parent.events(run, LimitNear) for run in (STEP, "top")}
    assert [near.text for near in warnings[STEP]] == ["50 % of 2 calls are used"]
    of_child = [near for near in warnings["top"] if near.whose]
    assert [near.text for near in of_child] == ["50 % of the limit of plan (2 calls) is used"]
    events = [record.event for record in await journal.read("top")]
    produced = max(place for place, event in enumerate(events) if event.kind == "artifact_produced")
    assert events[produced].node == "g_plan/v1.a1"
    assert events.index(of_child[0]) < produced
