"""`home verify` agrees with what the program itself writes: every history of every kind, on a file that is verified.

The days go by while a history is written, so that reservations pass from one day to the next.
"""

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
from tests.contracts.toy_events import ManualClock
from tests.histories import test_agent_histories, test_execution_histories, test_histories
from tests.histories.interpreter import Interpreter
from tests.histories.test_histories import rewritten
from tests.run.test_machine import CODEC as AGENT_CODEC
from tests.run.test_machine import Stage as AgentStage

AGENT = Kind(name="agent", machine=AgentStage().machine, codec=AGENT_CODEC, actors=lambda *_: ())
SUITES = (
    (PLANNING, test_histories.HISTORIES, Interpreter),
    (EXECUTION, test_execution_histories.HISTORIES, test_execution_histories.ExecutionInterpreter),
    (AGENT, test_agent_histories.HISTORIES, test_agent_histories.AgentInterpreter),
)
BATCH = 12
"""How many events of a history are appended at once, at most."""


def events_of(interpreter):
    return interpreter.world.events if isinstance(interpreter, Interpreter) else interpreter.stage.events


def histories(suites=SUITES):
    for kind, paths, interpreter in suites:
        for path in paths:
            made = interpreter()
            rewritten(path.read_text(encoding="utf-8"), made)
            yield kind, f"{kind.name}-{path.stem}".replace("_", "-")[:64], events_of(made)


async def write(journal, clock, kind, run, events):
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
    await check_histories(path, histories())


async def check_histories(path, written):
    """Write histories, each a kind with the id of a run and events, to a journal, and verify it."""
    kinds, clock, url = Kinds([AGENT]), ManualClock(), f"sqlite:{path}"
    async with open_journal(url, kinds.codecs, clock) as journal:
        count = 0
        for kind, run, events in written:
            await write(journal, clock, kind, run, events)
            count += 1
    with open_inspection(url, "") as inspected:
        verified = verify(inspected, kinds)
    assert (verified.findings, verified.unchecked, verified.runs) == ([], [], count)
