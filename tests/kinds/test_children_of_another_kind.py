"""A run of one kind drives a run of another kind as its step: here an agent that has a problem planned."""

import json
from dataclasses import dataclass, replace

import pytest
import trio

from actors.handlers.agents import AgentTask, agent_kind
from actors.handlers.tools import function_tool
from actors.run.agent import End, Prompt, UseTool
from actors.run.ids import child_run
from actors.run.kind import ChildRun, Setup
from actors.run.tools import ToolFinished
from replan.runs.engine import Engine
from replan.setup.kinds import Kinds
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from tests.long.api.test_children import BROKEN, ParentRun, answers
from tests.support.artifacts import plan


@dataclass(frozen=True)
class Errand:
    """What the child came to; empty before that."""

    result: str = ""


class Client:
    """`actors.run.agent.Agent`: has its task planned once, and ends as the plan does."""

    def start(self, task):
        return Errand()

    def apply(self, data, step, event):
        return replace(data, result=event.output or "failed") if isinstance(event, ToolFinished) else data

    def decide(self, state):
        if state.data.result:
            return [End("success" if state.data.result == "success" else "no_plan", state.data.result)]
        return [UseTool("plan", "planner", json.dumps({"run": state.run.run_id}), repeatable=True)]

    def prompt(self, state, step):
        return Prompt("")


def client(job):
    """Return a kind whose tool drives a planning run as a child."""

    def tools(resources):
        async def planned(arguments):
            name = child_run(arguments["run"], "plan")
            child = ChildRun(
                name, "planning", job.title, lambda at: job.first(name, at).model_copy(update={"child": True})
            )
            state = await resources.drive_child(child)
            return str(state.run.finished.outcome)

        return [function_tool("planner", planned)]

    kind = agent_kind("client", Client(), tools)
    return replace(
        kind, model=lambda _: None, children=lambda state: [child_run(state.run.run_id, "plan")] if state.counts else []
    )


@pytest.fixture
async def journal():
    kinds = Kinds([client(None)])
    async with open_memory(kinds.codecs, SystemClock()) as opened:
        yield opened


def engine_for(journal, folder, script):
    """Return an engine that knows both kinds, and a run of the agent that may begin."""
    home = ParentRun(journal, folder, script)
    kind = client(home.request)
    setup = Setup("", None, home.engine.registry, home.engine.root, {}, 0.0)
    prepared = kind.prepare(AgentTask("plan this"), setup)
    return Engine(journal, registry=home.engine.registry, environment={}, kinds=Kinds([kind])), prepared


@pytest.mark.parametrize(("planned", "outcome"), [(plan(), "success"), (BROKEN, "no_plan")])
async def test_the_child_is_driven_and_its_end_is_the_tool_s_result(journal, tmp_path, planned, outcome):
    engine, prepared = engine_for(journal, tmp_path, answers(planned))
    result = await engine.begin(prepared, run="top")
    assert (result.status, result.outcome) == ("finished", outcome)
    rows = {row.run: row for row in await journal.runs(RunFilter())}
    child = child_run("top", "plan")
    assert {name: row.kind for name, row in rows.items() if name in ("top", child)} == {
        "top": "client",
        child: "planning",
    }
    assert [row.run for row, _ in await engine.rows(RunFilter())] == ["top"]
    assert (await engine.result(child)).path
    with pytest.raises(UsageProblem, match="a step of run top"):
        await engine.resume(child)


async def test_a_cancelled_run_takes_its_child_of_another_kind_with_it(journal, tmp_path):
    engine, prepared = engine_for(journal, tmp_path, answers({"reply": plan(), "delay_seconds": 60.0}))
    child = child_run("top", "plan")
    with trio.CancelScope() as driving:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: engine.begin(prepared, run="top"))
            rows = []
            while len(rows) < 3 or not all(row.last_seq for row in rows):  # Until the run below the child has begun.
                await trio.sleep(0.01)
                rows = await journal.runs(RunFilter())
            driving.cancel()
    await engine.finish_cancelled("top")
    rows = await journal.runs(RunFilter())
    assert {row.summary.detail for row in rows} == {"cancelled"}, "the runs below the child, too"
    assert {"top", child} < {row.run for row in rows}
