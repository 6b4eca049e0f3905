"""The attempts at a step can be read from any journal."""

import pytest

from actors.planning.kind import CODEC
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import context_for
from actors.planning.result import result_of
from actors.run.result import RunView
from runtime.core.clock import TrioClock
from runtime.core.machine import Summary, fold
from runtime.journal.memory import MemoryStore, open_memory
from runtime.journal.port import Fact
from runtime.journal.sqlite.journal import open_sqlite
from tests.support.worlds import SEEDS, World, passed, pinned, rejected


def opener(kind, folder):
    """Return a function that opens the same journal each time."""
    store, path = MemoryStore(), folder / "home" / "journal.sqlite3"
    if kind == "memory":
        return lambda: open_memory(CODEC, TrioClock(), store=store)
    return lambda: open_sqlite(path, CODEC, TrioClock())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_attempts_at_a_step_are_read_in_order_from_any_journal(kind, tmp_path):
    """S91, S92: only those of this run, with their feedback; none at a step without an artifact."""
    codes = ["plan.goal_unreachable", "plan.dead_end"]
    world = World(
        pinned(SEEDS),
        judge=lambda request, _: rejected(codes.pop(0)) if request.step == "g_plan" and codes else passed(),
    )
    world.begin()
    while "g_recon/v2.a1" not in world.state.run.calls.open:
        world.answer(world.doable()[0])
    other = World(pinned(SEEDS), judge=lambda *_: passed())
    other.begin()
    open_journal = opener(kind, tmp_path)
    async with open_journal() as journal:
        for run, events in (("this", world.events), ("other", other.events)):
            await journal.create(run, "")
            epoch = await journal.claim(run, "driver", 60.0)
            facts = [Fact(event) for event in events]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=Summary("running"))
    async with open_journal() as journal:
        state, begun = [
            fold(PlanningMachine(), [record.event for record in await journal.read(run)]) for run in ("this", "other")
        ]
    for step in SEEDS:
        nodes = [event.node for event in world.events if event.kind == "artifact_produced"]
        attempts = [node.node for node in state.attempts_at(state.latest, step) if node.artifact is not None][::-1]
        assert attempts == [node for node in nodes if node.startswith(f"{step}/")], "from the first to the last"
        assert context_for(state, state.latest, step) == context_for(world.state, world.state.latest, step)
        assert [node for node in begun.attempts_at(begun.latest, step) if node.artifact is not None] == []
    assert [node.node for node in state.attempts_at(state.latest, "g_plan")][::-1] == ["g_plan/v1.a1", "g_plan/v2.a1"]
    assert list(begun.attempts_at(begun.latest, "g_plan")) == []


def test_a_result_has_the_whole_tree_and_the_attempts_at_each_step():
    """S36, S91: every attempt, in order, with what it builds on and what followed; none at an unknown step."""
    codes = ["plan.goal_unreachable", "plan.dead_end"]
    world = World(
        pinned(SEEDS),
        judge=lambda request, _: rejected(codes.pop(0)) if request.step == "g_plan" and codes else passed(),
    )
    world.run()
    result = result_of(RunView("this", "finished", world.state, world.state))
    assert [attempt.node for attempt in result.tree] == list(world.state.nodes)
    made = [attempt.node for attempt in result.tree]
    for place, attempt in enumerate(result.tree):
        assert set(attempt.parents) <= set(made[:place]), "a parent comes before its child"
    tried = result.attempts_at("g_plan")
    assert [attempt.status for attempt in tried][-1] == "accepted"
    assert [attempt.findings[0].code for attempt in tried if attempt.findings] == [
        "plan.goal_unreachable",
        "plan.dead_end",
    ]
    assert all(attempt.level and attempt.rule for attempt in tried[:-1])
    assert result.attempts_at("no_such_step") == ()
    assert len(repr(result)) < 200
