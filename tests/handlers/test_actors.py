"""Which parts of a run are actors, as the page about the architecture says; all others are functions of the machine."""

from actors.acquisition.actors import actors_for as of_acquisition
from actors.execution.actors import open_actors as of_execution
from actors.handlers.registry import Registry
from actors.planning.children import actors_for as of_planning
from actors.policy.table import CLASSIFIER
from actors.run.kind import Resources
from runtime.core.clock import TrioClock
from tests.acquisition.states import state
from tests.execution.stage import Stage, plan, step
from tests.support.worlds import SEEDS, passed, pinned


def resources(**fields):
    registry = Registry(guards={"toy": lambda _: lambda *_: passed()}, generators={})
    return Resources(None, TrioClock(), registry, threads=False, **fields)


def addresses(actors):
    return sorted(actor.address for actor in actors)


def test_each_step_and_each_guarded_step_of_a_workflow_has_an_actor():
    each = [f"{part}:{name}" for part in ("step", "guard") for name in SEEDS]
    assert addresses(of_planning(pinned(SEEDS), resources())) == sorted([*each, "clock"])
    classified = of_planning(pinned(SEEDS, classifications_max=2), resources())
    assert addresses(classified) == sorted([*each, "clock", CLASSIFIER])


async def test_each_tool_of_an_execution_has_an_actor_and_so_have_its_proof_its_planner_and_its_model(tmp_path):
    config = Stage(plan(step("one"), step("two"))).config
    (work := tmp_path / "work").mkdir()
    config = config.model_copy(update={"workspace": str(work)})
    async with of_execution("run", config, resources(home=tmp_path / "home")) as actors:
        found = addresses(actors)
    tools = [f"tool:{name}" for name in config.tools.tools]
    assert set(found) - {each for each in found if each.startswith("tool:")} == {"clock", "model", "planner", "prover"}
    assert set(tools) <= set(found)
    assert not [each for each in found if each.startswith("step:")]


def test_an_acquisition_has_three_actors_and_none_for_a_gate():
    assert addresses(of_acquisition(state().config, resources())) == ["clock", "model", "tool:search"]
