"""`home verify` agrees with what the program itself writes: every history of every kind, on a file that is verified.

The days go by while a history is written, so that reservations pass from one day to the next.
"""

from actors.acquisition.answers import make_correction
from actors.acquisition.kind import ACQUISITION
from actors.execution.kind import EXECUTION
from actors.planning.kind import PLANNING
from actors.run.kind import Kind
from replan.runs.verification import verify
from replan.setup.kinds import Kinds
from runtime.core.daily_budget import DAY_SECONDS
from runtime.core.machine import fold
from runtime.journal.port import Fact
from runtime.open_journal import open_journal
from runtime.open_offline import open_inspection
from tests.acquisition.stage import Stage, prepared
from tests.acquisition.test_corrections import GIVEN
from tests.contracts.toy_events import ManualClock
from tests.histories import test_acquisition_histories, test_agent_histories, test_execution_histories, test_histories
from tests.histories.interpreter import Interpreter
from tests.histories.test_histories import rewritten
from tests.run.test_machine import CODEC as AGENT_CODEC
from tests.run.test_machine import Stage as AgentStage

AGENT = Kind(name="agent", machine=AgentStage().machine, codec=AGENT_CODEC, actors=lambda *_: ())
SUITES = (
    (PLANNING, test_histories.HISTORIES, Interpreter),
    (ACQUISITION, test_acquisition_histories.HISTORIES, test_acquisition_histories.AcquisitionInterpreter),
    (EXECUTION, test_execution_histories.HISTORIES, test_execution_histories.ExecutionInterpreter),
    (AGENT, test_agent_histories.HISTORIES, test_agent_histories.AgentInterpreter),
)
BATCH = 12
"""How many events of a history are appended at once, at most."""


def events_of(interpreter):
    return interpreter.world.events if isinstance(interpreter, Interpreter) else interpreter.stage.events


def histories():
    """Yield the kind, a name that a run may have, and the events of each history."""
    for kind, paths, interpreter in SUITES:
        for path in paths:
            made = interpreter()
            rewritten(path.read_text(encoding="utf-8"), made)
            yield kind, f"{kind.name}-{path.stem}".replace("_", "-")[:64], events_of(made)
    yield ACQUISITION, "acquisition-reopened", reopened()


def reopened():
    """Return the events of an acquisition that a told value reopens twice, after its success."""
    stage = Stage(prepared(given=GIVEN))
    for text in ("market.customers=3000", "segment.win_rate=20 %"):
        stage.post(**make_correction(stage.state, text))
        stage.resume()
    assert [event.kind for event in stage.events].count("run_finished") == 3
    return stage.events


async def write(journal, clock, kind, run, events):
    """Append the events of a history in batches; a day passes before some of them."""
    machine, state, epoch, last = kind.machine, kind.machine.initial(), 1, 0
    title = kind.title(fold(machine, events[:1])) or run
    while last < len(events):
        batch = events[last : last + 1 + last % BATCH]
        state = fold(machine, batch, state)
        facts, summary = [Fact(event) for event in batch], machine.summary(state)
        if last == 0:
            await journal.create(run, title, kind.name, kind.format, facts=facts, summary=summary, owner="a", ttl=60.0)
        else:
            if batch[0].kind == "run_resumed":
                await journal.release(run, epoch)
                epoch = await journal.claim(run, f"driver {epoch + 1}", 60.0)
            await journal.append(run, after=last, epoch=epoch, facts=facts, summary=summary, overdraw=True)
        last += len(batch)
        clock.time += DAY_SECONDS if last % 7 == 0 else 1.0
    await journal.release(run, epoch)


async def test_nothing_is_wrong_with_the_histories_of_all_kinds(path):
    kinds, clock, url = Kinds([AGENT]), ManualClock(), f"sqlite:{path}"
    async with open_journal(url, kinds.codecs, clock) as journal:
        count = 0
        for kind, run, events in histories():
            await write(journal, clock, kind, run, events)
            count += 1
    with open_inspection(url, "") as inspected:
        verified = verify(inspected, kinds)
    assert (verified.findings, verified.unchecked, verified.runs) == ([], [], count)
