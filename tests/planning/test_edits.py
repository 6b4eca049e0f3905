"""A person edits the plan of a planning run: which plan, what an edit makes of the run, and what is refused."""

import json
import random
import threading
from dataclasses import replace

import pytest
import trio

from actors.config.step_guards import PlugInFailed
from actors.planning.edits import editable_plan, revision_of
from actors.planning.result import best_path
from actors.run.inbox import MailRefused
from actors.run.questions import Status
from replan.runs.editing import EditedMeanwhile, OpenResult, approves_plan
from runtime.core.copies import changed
from runtime.core.errors import UsageProblem
from runtime.core.machine import fold
from runtime.core.messages import Mailed, Resumed
from tests.cli.samples import PLAN
from tests.planning.test_drafts import STEPS, report, result, world_of, written
from tests.support.worlds import passed, rejected, start_anywhere

LOSING = {f"plan/v1.a{number}": 0.5 for number in (1, 2, 3)}
REVIEWED = {
    "plan": {"rmax": 2, "role": "plan", "guard": {"all_of": ["toy", "human_review"]}},
    "after": {"requires": ["plan"], "rmax": 1},
}
EDITED = {**PLAN, "plan_id": "edited"}


def ended(scores, **keys):
    world = world_of(scores, **keys)
    world.run()
    return world


def edit(world, value=EDITED, *, via="cli", verdict=None, **fields):
    """Give a run an edited plan, as `replan.runs.editing` does, and return the events that follow."""
    plan = editable_plan(world.state)
    body = {"kind": "edit", "plan": json.dumps(value), "revision": revision_of(world.state), "via": via}
    body |= {} if isinstance(plan, str) else {"node": plan.node.node}
    judged = passed() if verdict is None else verdict
    before = len(world.events)
    world.send(
        Mailed(1, "edit:1", json.dumps({**body, "verdict": judged.model_dump(), "person": "ann", **fields}), 9.0)
    )
    return world.events[before:]


def refusal(world, **fields):
    [event] = edit(world, **fields)
    assert isinstance(event, MailRefused)
    return event.reason


def test_the_edited_plan_of_a_run_that_has_ended_is_its_plan():
    world = ended({})
    [event] = edit(world)
    found = result(world)
    assert (event.kind, found.outcome, found.plan_json["plan_id"]) == ("plan_corrected", "success", "edited")
    assert found.why == "the plan was edited by ann on the command line, and every guard passed"
    [shown] = found.edits
    assert (shown["node"], shown["edited_by"]) == ("plan/v1.a1", "ann on the command line")
    assert {"-plan_id: plan/v1.a1", "+plan_id: edited"} <= set(shown["changes"])
    assert fold(world.machine, world.events) == world.state
    edit(world, {**EDITED, "plan_id": "again"})
    found = result(world)
    assert (found.plan_json["plan_id"], len(found.edits)) == ("again", 2)
    assert "-plan_id: edited" in found.edits[1]["changes"]


def test_an_edited_draft_ends_a_run_without_a_plan_with_success():
    world = ended(LOSING)
    assert result(world).outcome == "backtrack_ceiling"
    edit(world)
    found = result(world)
    assert (found.outcome, found.plan_json["plan_id"], found.draft) == ("success", "edited", None)
    assert [step.step for step in found.path] == ["recon", "plan"]
    assert world.state.end.final
    before = len(world.events)
    world.send(Resumed(9, 10.0, at_once=True))
    assert len(world.events) == before, "nothing lets it go on"


def test_a_plan_that_the_model_wrote_in_a_fenced_block_is_compared_with_its_edit():
    def fenced(request, state):
        reply = written(request, state)
        return replace(reply, text=f"Here it is:\n```json\n{reply.text}\n```") if request.step == "plan" else reply

    for scores in ({}, LOSING):
        world = ended(scores, author=fenced)
        edit(world)
        plan = editable_plan(world.state)
        opened = OpenResult("r1", 2, 1, plan.value, world.state, plan, guard=lambda *_: passed())
        with pytest.raises(EditedMeanwhile) as caught:
            opened.check_revision(1)
        assert "+plan_id: edited" in caught.value.changes
        assert result(world).edits[0]["changes"] == caught.value.changes


def test_a_plug_in_that_fails_over_an_edit_is_named():
    def fails(*_):
        raise PlugInFailed("guard small: ValueError: it is Monday")

    world = ended({})
    plan = editable_plan(world.state)
    opened = OpenResult("r1", 1, 0, plan.value, world.state, plan, fails)
    with pytest.raises(UsageProblem, match="guard small: ValueError: it is Monday"):
        opened.judge(EDITED)


@pytest.mark.parametrize("sync", [True, False])
def test_a_guard_that_does_not_return_ends_an_edit_at_its_time_limit(sync):
    release = threading.Event()

    async def guard(*_):
        await trio.sleep_forever()

    world = ended({}, guard_timeout_seconds=0.05)
    plan = editable_plan(world.state)
    judge = (lambda *_: release.wait()) if sync else guard
    opened = OpenResult("r1", 1, 0, plan.value, world.state, plan, judge)
    try:
        with pytest.raises(UsageProblem, match=r"guard toy: no verdict within 0.05 s \(guard_timeout_seconds\)"):
            opened.judge(EDITED)
    finally:
        release.set()


def test_the_review_of_a_step_that_is_a_run_is_answered_without_an_edit():
    state = ended({}, steps=REVIEWED).state
    [name] = state.run.open_questions
    assert approves_plan(state, name)
    assert not approves_plan(changed(state, run=changed(state.run, child=True)), name)


def test_the_edited_plan_counts_also_beside_a_branch_with_a_better_score():
    """A search with two branches makes two plans; the edit of the chosen one makes its score worse."""
    world = ended({}, search="beam:2")
    assert {node.branch for node in world.state.nodes.values() if node.step == "plan"} == {0, 1}
    edited = editable_plan(world.state).node.node
    edit(world, verdict=passed().model_copy(update={"score": 0.1}))
    assert result(world).path[-1].node == edited
    assert result(world).plan_json["plan_id"] == "edited"


def test_the_edit_of_a_plan_under_review_approves_it_and_the_run_goes_on():
    world = ended({}, steps=REVIEWED)
    assert not isinstance(editable_plan(world.state), str)
    [name] = world.state.run.open_questions
    edit(world)
    question = world.state.run.questions[name]
    assert (question.status, question.answer, question.via) == (Status.ANSWERED, "approve", "cli")
    world.run()
    assert (world.state.end.outcome, world.calls["plan"], world.calls["after"]) == ("success", 1, 1)
    found = result(world)
    assert found.plan_json["plan_id"] == "edited"
    assert found.edits[0]["edited_by"] == "ann on the command line"
    assert fold(world.machine, world.events) == world.state


def test_a_program_cannot_edit_what_a_person_approves():
    world = ended({}, steps=REVIEWED)
    assert refusal(world, via="mcp") == "only a person may edit a plan that a person must approve"
    assert world.state.run.open_questions


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"revision": 2}, "the plan has changed since you opened it: its revision is now 1"),
        ({"node": "plan/v1.a9"}, "the plan has changed since you opened it: its revision is now 1"),
        ({"plan": "[1]"}, "the message has no plan with steps"),
        ({"plan": "{"}, "the message has no plan with steps"),
        ({"value": {"steps": []}}, "it needs at least one step"),
        ({"verdict": rejected("plan.cycle")}, "the guards reject the edited plan"),
    ],
)
def test_what_is_refused_changes_nothing(fields, reason):
    world = ended({})
    before = result(world)
    assert reason in refusal(world, **fields)
    assert result(world).plan_json == before.plan_json


def test_an_edit_that_no_guard_has_judged_is_refused():
    world = ended({})
    plan = editable_plan(world.state)
    body = {"kind": "edit", "plan": json.dumps(EDITED), "revision": 1, "node": plan.node.node}
    world.send(Mailed(1, "edit:1", json.dumps(body), 9.0))
    assert world.events[-1].reason == "no guard has judged the edited plan"


def test_an_edit_keeps_what_every_plan_must_keep():
    world = ended({})
    edit(world)
    assert "leaves out a requirement that every plan must meet" in refusal(world, value={**EDITED, "requirements": []})


def test_a_run_at_work_and_a_run_without_a_written_plan_have_none_to_edit():
    world = world_of({})
    world.begin()
    assert editable_plan(world.state) == "the run has not ended, and asks nobody to approve a plan"
    assert refusal(world) == "the run has not ended, and asks nobody to approve a plan"
    assert editable_plan(ended({"recon/v1.a1": 0.5}).state) == "the run has ended without writing a plan"


def test_a_draft_of_an_earlier_step_is_not_edited():
    steps = {"plan": {"rmax": 1, "role": "plan"}, "final": {"requires": ["plan"], "rmax": 1, "role": "plan"}}
    world = ended({"plan/v1.a1": 0.5}, steps=steps)
    assert editable_plan(world.state) == (
        "the step plan made the best draft, but only drafts of the step final can be edited"
    )
    assert "To repair the draft: replan export r1 --draft" in "\n".join(report(world))
    assert "To repair the draft: replan edit r1; or replan export r1 --draft" in "\n".join(report(ended(LOSING)))


def play(seed):
    """Play a random run with edits at random moments, and return how many of them counted."""
    rng = random.Random(seed)
    scores = {f"plan/v{visit}.a{attempt}": rng.random() for visit in (1, 2) for attempt in (1, 2, 3)}
    wrong = {node: score for node, score in scores.items() if rng.random() < 0.7}
    reviewed = rng.random() < 0.5
    steps = {**REVIEWED, "plan": {**REVIEWED["plan"], "rmax": 3}} if reviewed else STEPS
    world = world_of(wrong, steps=steps, search=rng.choice(["depth_first", "beam:2", "best_of:2"]))
    world.begin()
    counted = 0
    for _ in range(100):
        if rng.random() < 0.2:
            before, open_to_edits = world.state, not isinstance(editable_plan(world.state), str)
            edit(world, {**EDITED, "plan_id": f"edit{counted}"})
            assert (len(world.state.edits) == len(before.edits) + 1) is open_to_edits
            counted += open_to_edits
            assert open_to_edits or world.state.nodes == before.nodes
            if open_to_edits and before.end is not None:
                assert (world.state.end.outcome, world.state.end.final) == ("success", True)
        doable = world.doable()
        if doable:
            world.answer(rng.choice(doable))
    assert fold(world.machine, world.events) == world.state
    if world.state.edited:
        assert best_path(world.state)[-1].artifact.value.value["plan_id"] == f"edit{counted - 1}"
    return counted


def test_edits_at_random_moments_count_where_a_plan_is_open_to_them_and_nowhere_else():
    assert sum(play(seed) for seed in range(40)) > 40


SCENES = {
    "accepted plan": ({}, STEPS, "success"),
    "draft": (LOSING, STEPS, "backtrack_ceiling"),
    "plan under review": ({}, REVIEWED, None),
}


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_a_run_that_is_killed_at_any_record_has_the_edited_plan_once(scene):
    """The next driver goes on from the records; the person edits again what was not recorded, and only that."""
    scores, steps, outcome = SCENES[scene]
    whole = ended(scores, steps=steps)
    assert (whole.state.end and whole.state.end.outcome) == outcome
    edit(whole)
    whole.run()
    start_anywhere(whole.machine, whole.events, 9, whole.now + 1.0)
    for length in range(1, len(whole.events) + 1):
        world = world_of(scores, steps=steps)
        world.events[:] = whole.events[:length]
        world.state, world.now = fold(world.machine, world.events), whole.now + 1.0
        world.send(Resumed(9, world.now))
        world.run()
        recorded = bool(world.state.edits)
        assert recorded is any(event.kind == "plan_corrected" for event in whole.events[:length])
        if not recorded:
            edit(world)
            world.run()
        found = result(world)
        assert (found.outcome, found.plan_json["plan_id"], len(found.edits)) == ("success", "edited", 1)
        assert not world.state.run.open_questions
        assert fold(world.machine, world.events) == world.state
        before = list(world.events)
        assert refusal(world, revision=1) == "the plan has changed since you opened it: its revision is now 2"
        assert world.events[:-1] == before
