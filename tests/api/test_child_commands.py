"""Who takes orders: a run that a person has started does; one that is a step of it leaves them to that."""

import pytest
import trio

from actors.planning.call_events import GenerationRequested
from actors.planning.kind import CODEC
from actors.run.ids import child_run
from replan.runs.options import DriveOptions
from runtime.core.clock import SystemClock
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.drive.options import Stop
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from tests.api.test_children import CHILD, Home, answers, write
from tests.support.artifacts import plan

STEP = child_run("top", "g_plan/v1.a1")
MIDDLE = 'name: below\naction_pairs:\n  m_plan: {generator: "workflow:./lowest.yaml", guard: plan_medium}\n'
ORDERS = {
    "resume": (lambda engine, run: engine.resume(run), "resume top"),
    "cancel": (lambda engine, run: engine.cancel(run), "cancel top"),
    "finish_cancelled": (lambda engine, run: engine.finish_cancelled(run), "cancel top"),
    "tell": (lambda engine, run: engine.tell(run, "Hurry."), "tell top TEXT"),
    "answer": (lambda engine, run: engine.answer(f"{run}/q1", "yes"), "questions top"),
    "decline": (lambda engine, run: engine.decline(f"{run}/q1"), "questions top"),
}


@pytest.fixture
async def journal():
    async with open_memory(CODEC, SystemClock()) as opened:
        yield opened


@pytest.fixture
def home(journal, tmp_path):
    return Home(journal, tmp_path, answers(plan(), plan()))


async def parked(home, run):
    """Park a run as its last step begins, which is a run of its own in `top`."""
    stop = Stop()

    def park(record, _):
        if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
            stop.requested.set()

    assert (await home.engine.begin(home.job, DriveOptions(stop, park), run=run)).status == "parked"


async def everything(journal):
    """Return all that a journal says of all runs."""
    rows = await journal.runs(RunFilter())
    return [(row, await journal.read(row.run), await journal.inbox(row.run, 0)) for row in rows]


async def refused(give, engine, run):
    """Give an order that is refused with nothing claimed, posted or written; return the problem."""
    before = await everything(engine.journal)
    with pytest.raises(UsageProblem) as caught:
        await give(engine, run)
    assert await everything(engine.journal) == before
    assert (caught.value.place, caught.value.cause) == (
        run,
        "the run is a step of run top, which alone goes on with it",
    )
    return caught.value


@pytest.mark.parametrize("order", ORDERS)
async def test_a_run_that_is_a_step_takes_no_orders_and_names_the_run_that_does(home, order):
    await parked(home, "top")
    give, instead = ORDERS[order]
    assert (await refused(give, home.engine, STEP)).hint.endswith(f" {instead}`")
    assert (await home.engine.resume("top")).outcome == "success"
    assert (await home.engine.result(STEP)).outcome == "success", "it may be read"


async def test_the_run_that_a_person_has_started_is_named_however_far_up_it_is(journal, tmp_path):
    write(tmp_path, lowest=CHILD)
    home = Home(journal, tmp_path, answers(plan()), below=MIDDLE)
    assert (await home.engine.begin(home.job, run="top")).outcome == "success"
    lowest = child_run(STEP, "m_plan/v1.a1")
    assert lowest in await home.runs()
    await refused(ORDERS["resume"][0], home.engine, lowest)


async def test_a_run_that_is_a_step_is_known_before_its_first_record(home):
    """As where a driver was killed between its admission and that."""
    with trio.CancelScope() as killed:

        def kill(record, _):
            if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
                killed.cancel()

        await home.engine.begin(home.job, DriveOptions(on_record=kill), run="top")
    await home.engine.journal.create(STEP, "of the step")
    await refused(ORDERS["cancel"][0], home.engine, STEP)
    assert (await home.engine.resume("top")).outcome == "success"


@pytest.mark.parametrize("above", [True, False])
async def test_a_run_that_only_has_such_a_name_takes_orders(home, above):
    """The records decide and not the name; with a run of the other name beside it or without."""
    if above:
        await home.engine.begin(home.job, run="top")
    await parked(home, "top.12345678")
    await home.engine.tell("top.12345678", "Mind the licence.")
    assert (await home.engine.resume("top.12345678")).outcome == "success"
    with pytest.raises(RunNotFound):
        await home.engine.cancel("top.87654321")
