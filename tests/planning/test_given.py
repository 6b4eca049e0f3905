"""Planning runs with given facts: what they replace, what the offline authors make of them, and what a parent reads."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from actors.config.step_guards import BUILT_IN
from actors.planning.briefs import ChildBrief
from actors.planning.children import artifact_of, child_of
from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions, prepare_planning
from actors.planning.replanning import NeedsAnswer, NewPlan, NoPlan, read_replan, replan_brief
from actors.run.kind import Setup
from actors.templates.plan import plan_from_given_state
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding
from actors.values.given import Given, GivenAnswer, ReadableResult
from replan.runs.engine import Engine
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from runtime.core.clock import SystemClock
from runtime.core.ledger import Limits
from runtime.journal.memory import open_memory
from runtime.models.port import Reply
from tests.support.planning_start import planning_start
from tests.support.worlds import World, passed, pinned, rejected

PROBLEM = "Exporting orders fails with a KeyError in export.py when an order has no address. Fix the bug."
FACTS = Given(initial_state=("now",), goal_state=("end",), asks_nobody=True)
ONE = {"plan": {"role": "plan", "rmax": 2}}


def begun(world, given=FACTS):
    world.send(planning_start(world.now, world.config, limits=world.limits, given_facts=given))
    return world


def author(*plans):
    """Return an author of these plans, one after the other."""
    left = list(plans)
    return lambda *_: Reply(text=f"Here it is:\n{json.dumps(left.pop(0))}", usage=None, model="toy")


def test_the_guard_is_asked_about_the_plan_with_the_given_facts():
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author({"goal_state": ["else"], "steps": [1]})))
    world.answer("plan/v1.a1")
    brief = world.machine.brief(world.state, world.machine.outstanding(world.state)["judge:plan/v1.a1"])
    assert brief.artifact.parsed == {"goal_state": ["end"], "steps": [1], "initial_state": ["now"]}


def test_what_was_replaced_is_a_warning_and_what_was_filled_in_is_not():
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author({"goal_state": ["else"], "steps": []})))
    verdict = world.run().nodes["plan/v1.a1"].verdict
    (warning,) = verdict.findings
    assert (verdict.passed, warning.code, warning.where, warning.severity) == (
        True,
        Code.GIVEN_REPLACED,
        "goal_state",
        "warning",
    )


def test_two_plans_that_differ_in_given_facts_alone_are_the_same_attempt():
    plans = ({"goal_state": ["x"], "steps": [1]}, {"goal_state": ["y"], "steps": [1]})
    world = begun(World(pinned(ONE), judge=lambda *_: rejected("x.y"), author=author(*plans)))
    assert world.run().nodes["plan/v1.a2"].repeats == "plan/v1.a1"


def test_artifacts_of_other_roles_are_left_as_they_are():
    config = pinned({"recon": {"role": "recon"}})
    world = begun(World(config, judge=lambda *_: passed(), author=author({"goal_state": ["x"], "steps": []})))
    assert world.run().nodes["recon/v1.a1"].artifact.parsed["goal_state"] == ["x"]


def test_a_run_without_given_facts_is_stored_as_before():
    world = World(pinned(ONE), judge=lambda *_: passed())
    world.begin()
    assert b"given_facts" not in CODEC.encode(world.events[0]).body


def test_a_child_of_a_run_gets_its_facts():
    world = begun(
        World(pinned({"plan": {"role": "plan", "generator": "workflow:below", "child_calls": 2}}), judge=passed)
    )
    (work,) = world.machine.outstanding(world.state).values()
    brief = world.machine.brief(world.state, work)
    assert isinstance(brief, ChildBrief)
    assert child_of(brief).first(world.now).given_facts == FACTS


def test_a_parent_reads_the_plan_of_its_planning_run():
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author({"goal_state": ["else"], "steps": [1]})))
    found = read_replan(artifact_of("run", world.run()))
    assert found == NewPlan({"goal_state": ["end"], "steps": [1], "initial_state": ["now"]})


def test_a_parent_reads_the_question_that_it_is_to_ask():
    world = begun(World(pinned(ONE), judge=lambda *_: rejected("requirements.missing")))
    found = read_replan(artifact_of("run", world.run()))
    assert isinstance(found, NeedsAnswer)
    assert (found.question.shown, found.question.node) == ("requirements.missing is wrong", "plan/v1.a1")
    assert world.state.run.finished.reopened_by == "requirement"


def test_a_review_is_a_question_too():
    world = begun(World(pinned({"plan": {"role": "plan", "guard": "human_review"}}), judge=lambda *_: passed()))
    world.run()
    assert world.state.end.outcome == "needs_answer"
    assert world.state.end.question.review


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", '{"unsuccessful_run": 3}', '{"unsuccessful_run": {}}'])
def test_a_reply_without_a_plan_is_no_plan(text):
    assert isinstance(read_replan(text), NoPlan)


def chain(*steps):
    return {
        "initial_state": ["s0"],
        "goal_state": [f"s{len(steps)}"],
        "steps": [
            {
                "step_id": name,
                "dependencies": [steps[place - 1]] if place else [],
                "preconditions": [f"s{place}"],
                "effects": [f"s{place + 1}"],
                "delete_effects": [],
                "on_failure": "escalate",
            }
            for place, name in enumerate(steps)
        ],
    }


def test_a_template_leaves_out_what_is_done_and_keep_what_a_failure_goes_back_to():
    plan = chain("a", "b", "c", "d")
    plan["steps"][3]["on_failure"] = "b"
    kept = plan_from_given_state(plan, {"initial_state": ["s0", "s1", "s2", "s3"], "goal_state": ["s4"]})
    assert {step["step_id"]: step["dependencies"] for step in kept["steps"]} == {"b": [], "c": ["b"], "d": ["c"]}
    assert kept["initial_state"] == ["s0", "s1", "s2", "s3"]


def test_a_template_never_leaves_out_every_step():
    kept = plan_from_given_state(chain("a", "b"), {"initial_state": ["s0", "s1", "s2"], "goal_state": ["s2"]})
    assert [step["step_id"] for step in kept["steps"]] == ["b"]


@dataclass(frozen=True)
class Prepared:
    """A planning run with given facts that may begin."""

    brief: ChildBrief
    kind: str = "planning"
    title: str = "a new plan"
    notices: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()

    def first(self, run: str, at: float) -> Any:
        return child_of(self.brief).first(at)


async def test_a_template_plans_from_the_given_state():
    """A child run as an execution starts it: from the middle of the template's plan, with what is done left out."""
    clock, known, root = SystemClock(), registry(), data_root()
    setup = Setup("template:bug", None, known, root, {}, clock.now())
    config = prepare_planning(PlanningInput(PROBLEM, RunOptions(workflow="single")), setup).pinned
    goal = ("fix_verified", "change_reviewed")
    made = ("problem_stated", "symptom_observed", "cause_known")
    given = Given(
        initial_state=made,
        goal_state=goal,
        failure_summary="the step `apply_fix` failed",
        answers=(GivenAnswer(question="Which file?", answer="export.py"),),
        asks_nobody=True,
    )
    brief = replan_brief(
        "parent", "r/v1", "r/v1", problem=PROBLEM, pinned=config.model_dump_json(), limits=Limits(calls=20), given=given
    )
    async with open_memory(CODEC, clock) as journal:
        engine = Engine(journal, registry=known, clock=clock, environment={}, threads=False, root=root)
        await engine.begin(Prepared(brief), run=brief.run)
        state = (await engine.read(brief.run)).state
    found = read_replan(artifact_of(brief.run, state))
    assert isinstance(found, NewPlan)
    assert set(found.plan["initial_state"]) == set(made)
    assert set(found.plan["goal_state"]) == set(goal)
    artifact = Artifact("a", "plan", json.dumps(found.plan))
    assert BUILT_IN["plan_expansive"]({})(artifact, Context(PROBLEM)).passed
    assert not {"reproduce"} & {step["step_id"] for step in found.plan["steps"]}


def test_a_name_that_no_tool_implements_rejects_a_plan_that_its_guard_accepts():
    given = Given(generators=("coder",), guards=("tests",))
    steps = [{"step_id": "a", "generator": "coder", "guard": "tests"}, {"step_id": "b", "generator": "x", "guard": "y"}]
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author({"steps": steps}, {"steps": []})), given)
    nodes = world.run().nodes
    errors = nodes["plan/v1.a1"].verdict.errors
    assert [(error.code, error.where) for error in errors] == [("plan.unbound", "b")] * 2
    assert "no tool implements the generator 'x'; choose one of 'coder'" in errors[0].message
    assert not nodes["plan/v1.a1"].verdict.passed
    assert nodes["plan/v1.a2"].verdict.passed


def test_without_given_names_every_name_is_allowed():
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author({"steps": [{"generator": "x"}]})))
    assert world.run().nodes["plan/v1.a1"].verdict.passed


def looking(*names):
    outcomes = [{"name": name, "effects": ["end"]} for name in names]
    return {"steps": [{"step_id": "look", "generator": "look", "outcomes": outcomes}]}


def judged(*names):
    """Return the verdict on a plan with outcomes of these names, where the tool tells red and green."""
    given = FACTS.model_copy(
        update={"generators": ("look",), "results": {"look": ReadableResult(outcomes=("red", "green"))}}
    )
    world = begun(World(pinned(ONE), judge=lambda *_: passed(), author=author(looking(*names), {"steps": []})), given)
    return world.run().nodes["plan/v1.a1"].verdict


def test_an_outcome_that_no_result_tells_is_rejected_and_one_that_is_left_out_is_a_warning():
    assert judged("red", "green").findings == ()
    wrong = judged("red", "gren")
    assert (wrong.passed, [each.code for each in wrong.findings]) == (False, [Code.UNBOUND])
    left = judged("red")
    assert (left.passed, [each.severity for each in left.findings]) == (True, ["warning"])


def test_prompts_show_what_results_tell_and_nothing_of_tools_that_tell_nothing():
    given = Given(generators=("look",), results={"look": ReadableResult(outcomes=("red",))})
    assert given.shown["results"] == {"look": {"outcomes": ["red"]}}
    assert Given(generators=("look",)).shown == {"generators": ["look"]}
    assert "results" not in Given().model_dump()


def test_errors_about_results_come_before_what_the_guard_has_found():
    given = FACTS.model_copy(update={"generators": ("look",), "guards": ()})
    bare = Finding(code=Code.UNKNOWN_GUARD, where="look", message="no guard", severity="warning")
    other = Finding(code=Code.ORPHAN_STEP, where="look", message="of no use", severity="warning")
    verdict = passed().model_copy(update={"findings": (bare, other)})
    world = begun(World(pinned(ONE), judge=lambda *_: verdict, author=author(looking("red"), {"steps": []})), given)
    found = world.run().nodes["plan/v1.a1"].verdict.findings
    assert [each.code for each in found] == [Code.UNBOUND, Code.ORPHAN_STEP], "no tool checks anything"
