"""A person edits what is left of a plan: what is kept, what is refused, and what an execution makes of it."""

import json
import random

import pytest

from actors.execution.edits import edit_problem, rest_of_plan
from actors.execution.result import revision_views
from actors.run.inbox import MailRefused
from actors.run.tools import ToolOutcome
from runtime.core.machine import fold
from tests.execution.random_plans import random_plan
from tests.execution.stage import Stage, plan, step, tool, tools_for
from tests.execution.test_prohibitions import AVOIDED, INVARIANT, KEPT, TOOLS
from tests.execution.world import World

PLAN = plan(
    step("a", "start", "one"),
    step("b", "one", "two", dependencies="a"),
    step("c", "two", "goal", dependencies="a b"),
)
ONCE = {"do_a": tool("do_a", repeatable=False), "do_b": tool("do_b", repeatable=False)}
GUARDED = plan(
    step("a", "start", "one", generator="do"),
    step("b", "one", "goal", generator="do"),
    initial="start safe",
    requirements=[KEPT, AVOIDED],
    invariants=[INVARIANT],
)


def post(stage, value, **fields):
    body = {"revision": stage.state.revision, "via": "cli", "person": "maria", **fields}
    stage.post(kind="edit", plan=json.dumps(value), **body)
    return stage.events[-1]


def refused(stage, value, **fields):
    stage.post(kind="edit", plan=json.dumps(value), **{"revision": stage.state.revision, "via": "cli", **fields})
    last = next(event for event in reversed(stage.events) if isinstance(event, MailRefused))
    assert stage.state.replan is None
    return last.reason


def with_step(value, step_id, **fields):
    return {**value, "steps": [{**item, **fields} if item["step_id"] == step_id else item for item in value["steps"]]}


def test_what_is_left_has_no_step_that_is_done_and_begins_with_what_holds():
    stage = Stage(PLAN)
    stage.run_step("a")
    value = rest_of_plan(stage.state)
    assert [(item["step_id"], item["dependencies"]) for item in value["steps"]] == [("b", []), ("c", ["b"])]
    assert value["initial_state"] == ["one", "start"]
    assert value["total_retry_budget"] == 19


def test_a_proved_edit_becomes_the_plan_with_the_name_of_who_made_it():
    stage = Stage(PLAN, tools_for(PLAN, **ONCE))
    stage.run_step("a")
    stage.tool("do_b")
    edited = with_step(rest_of_plan(stage.state), "c", retry_budget=3)
    post(stage, edited)
    assert not stage.requests("prover"), "b is at work, and the edit waits for it"
    stage.tool(stage.only("tool:check_"))
    stage.proved()
    assert stage.state.revision == 2
    assert [item.step_id for item in stage.state.plan.plan.steps] == ["c"], "b was done meanwhile"
    assert stage.state.tokens == {"start", "one", "two"}
    assert stage.state.replans_left == 2, "an edit is no replan of the budget"
    shown = revision_views(stage.state)[-1]
    assert shown.edited_by == "maria on the command line"
    assert "+  retry_budget: 3" in shown.changes
    stage.run_step("c")
    assert stage.end == "success"
    assert fold(stage.machine, stage.events) == stage.state


def test_an_edit_that_is_not_proved_changes_nothing():
    stage = Stage(PLAN)
    post(stage, with_step(rest_of_plan(stage.state), "b", effects=[]))
    stage.proved()
    assert (stage.state.revision, stage.state.replan, stage.state.trouble) == (1, None, None)
    for name in ("a", "b", "c"):
        stage.run_step(name)
    assert stage.end == "success"


def test_a_question_about_a_trouble_gives_way_to_an_edit_and_comes_back_if_it_is_rejected():
    stage = Stage(PLAN, replans=False)
    stage.run_step("a", ToolOutcome.PERMANENT)
    [asked] = stage.state.run.open_questions
    value = with_step(rest_of_plan(stage.state), "a", generator="do_b")
    post(stage, {**value, "goal_state": ["nowhere"]})
    assert not stage.state.run.open_questions
    stage.proved()
    [again] = stage.state.run.open_questions
    assert again != asked
    post(stage, with_step(rest_of_plan(stage.state), "a", generator="do_b"))
    stage.proved()
    assert stage.state.revision == 2
    stage.tool("do_b")
    stage.tool("check_syntax")
    stage.run_step("b")
    stage.run_step("c")
    assert stage.end == "success"


def test_an_approval_may_carry_an_edit_in_the_same_act():
    tools = tools_for(PLAN, do_a=tool("do_a", risky=True))
    stage = Stage(PLAN, tools, approval="risky")
    assert stage.requests("user")
    post(stage, with_step(rest_of_plan(stage.state), "a", retry_budget=2), approves=["a", "b"])
    assert stage.state.replan.edit.approves == ("a",)
    stage.proved()
    assert not stage.requests("user"), "the person has approved it with the edit"
    stage.run_step("a", ToolOutcome.FAILED)
    assert stage.requests("user"), "another attempt is another act"


@pytest.mark.parametrize("fields", [{"approves": ["another"]}, {"approves": ["a"], "via": "mcp"}])
def test_an_edit_approves_no_step_that_the_person_was_not_shown_and_none_for_a_program(fields):
    stage = Stage(PLAN, tools_for(PLAN, do_a=tool("do_a", risky=True)), approval="risky")
    post(stage, with_step(rest_of_plan(stage.state), "a", retry_budget=2), **fields)
    stage.proved()
    assert stage.requests("user")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda value: {**value, "requirements": [KEPT]},
            "leaves out a requirement that every plan must meet: never use",
        ),
        (
            lambda value: {**value, "requirements": [{**KEPT, "paths": []}, AVOIDED]},
            "weakens a requirement that every plan must meet",
        ),
        (lambda value: {**value, "invariants": []}, "leaves out an invariant"),
        (lambda value: with_step(value, "b", generator="nobody"), "no tool implements generator 'nobody'"),
        (lambda value: with_step(value, "b", retry_budget="x"), "retry_budget"),
        (lambda _: [], "the message has no plan with steps"),
    ],
)
def test_what_no_person_may_do_to_a_plan_is_refused_with_its_name(change, reason):
    stage = Stage(GUARDED, TOOLS)
    assert reason in refused(stage, change(rest_of_plan(stage.state)))


def test_work_that_is_done_cannot_be_changed():
    stage = Stage(PLAN)
    stage.run_step("a")
    assert "the step 'a' is done already" in refused(stage, with_step(PLAN, "a", effects=["other"]))
    post(stage, PLAN)
    stage.proved()
    assert [item.step_id for item in stage.state.plan.plan.steps] == ["b", "c"]


def test_the_second_of_two_edits_is_refused():
    stage = Stage(PLAN, tools_for(PLAN, **ONCE))
    stage.tool("do_a")
    value = rest_of_plan(stage.state)
    post(stage, with_step(value, "c", retry_budget=2))
    assert "maria on the command line has edited the plan" in edit_problem(stage.state)
    stage.tool(stage.only("tool:check_"))
    stage.proved()
    assert refused(stage, value, revision=1) == "the plan has changed since you opened it: its revision is now 2"


def test_a_requirement_drops_an_edit_that_waits_and_says_so():
    stage = Stage(PLAN, tools_for(PLAN, **ONCE))
    post(stage, with_step(rest_of_plan(stage.state), "c", retry_budget=2))
    stage.post(kind="requirement", text="Keep the API as it is.")
    assert stage.state.replan is None or stage.state.replan.edit is None
    decided = next(event for event in stage.events if event.kind == "trouble_decided")
    dropped = "the plan that maria on the command line has edited is dropped, because the user requires: Keep the API"
    assert decided.findings[0].message.startswith(dropped)


def test_a_run_that_has_finished_takes_no_edit():
    stage = Stage(PLAN)
    for name in ("a", "b", "c"):
        stage.run_step(name)
    assert edit_problem(stage.state) == "the run has finished"


class EditedWorld(World):
    """A world whose person also edits the plan, at any time and in all ways."""

    def _disturb(self):
        state = self.stage.state
        if self.chance.random() < 0.6:
            super()._disturb()
        elif not edit_problem(state):
            value = self._change(rest_of_plan(state))
            self.stage.post(kind="edit", plan=json.dumps(value), revision=state.revision, via="cli", person="p")

    def _change(self, value):
        steps = [dict(item) for item in value["steps"]]
        chosen = self.chance.choice(steps)
        match self.chance.randrange(6):
            case 0:
                chosen["retry_budget"] = self.chance.randint(1, 3)
            case 1:
                steps.remove(chosen)
            case 2:
                steps.append({**chosen, "step_id": f"e{len(self.stage.events)}"})
            case 3:
                value = {**value, "requirements": value.get("requirements", [])[1:]}
            case 4:
                chosen["dependencies"] = []
            case _:
                chosen["name"] = "another name"
        return {**value, "steps": steps, "total_retry_budget": value["total_retry_budget"] + 3}


def play_edited(seed):
    chance = random.Random(seed)
    value = {**random_plan(chance), "requirements": [KEPT, AVOIDED]}
    world = EditedWorld(seed, value, replans=chance.random() < 0.5)
    check = world.check

    def checked():
        check()
        quotes = {item.quote for item in world.stage.state.constraints.requirements}
        assert {KEPT["quote"], AVOIDED["quote"]} <= quotes, "a prohibition is lost"
        stated = {item.quote for item in world.stage.state.plan.plan.requirements}
        assert {KEPT["quote"], AVOIDED["quote"]} <= stated, "the plan lacks a prohibition"

    world.check = checked
    world.play()
    return len(world.stage.state.editors)


def test_prohibitions_and_achieved_tokens_survive_edits_of_random_executions():
    assert sum(play_edited(seed) for seed in range(12)) > 0
