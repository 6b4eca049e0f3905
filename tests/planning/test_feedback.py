"""What a prompt knows of earlier failures: two kinds of feedback, each rejection once, nothing lost."""

import dataclasses
import itertools
import json

import pytest

from actors.planning.events import EVENTS
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import (
    context_for,
    escalation_feedback,
    escalations,
    render_prompt,
    retry_feedback,
)
from actors.planning.views import VIEWS
from actors.values.artifacts import Context
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec, Record
from runtime.core.machine import fold
from runtime.core.messages import Mailed
from runtime.models.port import Reply
from tests.support.worlds import SEEDS, World, passed, pinned, rejected


def until(world, request):
    """Play until a request is open."""
    world.begin()
    while request not in world.state.run.calls.open:
        world.answer(world.doable()[0])
    return world.state


def failing(*codes, step="g_plan"):
    """Return a judge that rejects a step's attempts with these codes in turn, and accepts everything else."""
    left = list(codes)
    return lambda request, _: (
        rejected(left.pop(0), where=f"s{len(left)}") if request.step == step and left else passed()
    )


def test_retry_and_escalation_feedback_are_two_things_in_two_sections():
    """S30, S99, S107: the later failures stand before the step's own."""
    judge = failing("field.type", "plan.goal_unreachable")
    state = until(World(pinned(SEEDS), judge=judge), "g_strategy/v2.a1")
    assert not retry_feedback(state, state.latest, "g_strategy", set(), 9)
    assert [
        entry.node for entry in escalation_feedback(state, escalations(state, state.latest, "g_strategy"), set(), 9)
    ] == ["g_plan/v1.a2"]
    own = {entry.node for entry in retry_feedback(state, state.latest, "g_plan", set(), 9)}
    assert own == {"g_plan/v1.a1", "g_plan/v1.a2"}
    assert not escalation_feedback(state, escalations(state, state.latest, "g_plan"), own, 9)


def test_escalations_come_before_retries_and_both_after_the_task():
    """S99: numbered cycles, then numbered attempts; the task is common to all attempts."""
    world = World(pinned({"a": {"backtrack_budget": 1}, "b": {"requires": ["a"]}}), judge=lambda *_: passed())
    verdicts = {"a": ["", "field.type"], "b": ["plan.goal_unreachable"]}

    def judge(request, _):
        said = verdicts[request.step].pop(0) if verdicts[request.step] else ""
        return rejected(said) if said else passed()

    world.judge = judge
    state = until(world, "a/v2.a2")
    prompt = render_prompt(state, state.latest, "a").user
    texts = ("[task]", "[escalations]", "plan.goal_unreachable", "[retries]", "field.type is wrong")
    places = [prompt.index(text) for text in texts]
    assert places == sorted(places)


def test_attempts_of_a_visit_begin_with_the_same_prompt_up_to_common():
    """Each prompt of a visit also begins with the whole one before, as long as the window shows all rejections."""
    pinning, prompts = pinned({"a": {}, "b": {"requires": ["a"], "rmax": 4}}), []
    for attempt in (1, 2, 3, 4):
        world = World(pinning, judge=failing("field.type", "field.missing", "reply.not_json", step="b"))
        state = until(world, f"b/v1.a{attempt}")
        prompts.append(render_prompt(state, state.latest, "b"))
    first, *later = prompts
    assert first.common == len(first.user)
    assert [(each.system, each.common, each.user[: each.common]) for each in later] == [
        (first.system, first.common, first.user)
    ] * 3
    for before, after in itertools.pairwise(prompts):
        assert after.user.startswith(f"{before.user}\n\n")


def test_the_attempted_path_is_told_with_previews():
    """S29: two hundred characters of each artifact that the failure was built on."""
    world = World(pinned(SEEDS), judge=failing("plan.goal_unreachable"))
    world.author = lambda request, _: Reply(f"{request.step} {'long ' * 100}", None, "toy")
    state = until(world, "g_strategy/v2.a1")
    (entry,) = context_for(state, state.latest, "g_strategy").escalation
    previews = [line for line in entry.text.splitlines() if line.endswith("...")]
    assert [line.split("/")[0] for line in previews] == ["g_analysis", "g_recon", "g_strategy"]
    assert all(len(line.partition(": ")[2]) == len("...") + 200 for line in previews)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_only_the_newest_rejections_stay_in_the_window(window):
    """S32: the window is the workflow's."""
    judge = failing(*["plan.cycle"] * 7)
    config = pinned({"g_plan": {"rmax": 8}}, feedback_window=window, r_patience=9)
    state = until(World(config, judge=judge), "g_plan/v1.a8")
    assert [entry.node[-1] for entry in context_for(state, state.latest, "g_plan").retry] == list("1234567")[-window:]


def test_a_context_is_read_off_the_journal_alone():
    """S93, S95, S97: a new process that reads the events has the same feedback, in the same order."""
    world = World(pinned(SEEDS), judge=failing("plan.goal_unreachable", "plan.dead_end"))
    state, codec = until(world, "g_strategy/v3.a1"), Codec(EVENTS)
    stored = [codec.encode(event) for event in world.events]
    other = fold(PlanningMachine(), (codec.decode(one.body, one.texts) for one in stored))
    for step in SEEDS:
        assert context_for(other, other.latest, step) == context_for(state, state.latest, step)
    assert len(context_for(other, other.latest, "g_strategy").escalation) == 2


def test_a_rejection_that_was_answered_stands_with_its_answer_and_nowhere_else():
    """Until somebody answers it is feedback like any other; then the question says what it said."""
    verdicts = {"a": ["requirements.missing"], "b": ["plan.goal_unreachable"]}

    def judge(request, _):
        left = verdicts.get(request.step)
        return rejected(left.pop(0)) if left else passed()

    steps = {"base": {"backtrack_budget": 2}, "a": {"requires": ["base"]}, "b": {"requires": ["base"]}}
    world = World(pinned(steps), judge=judge)
    world.begin()
    while (
        "q1" not in world.state.run.questions or world.state.run.open_questions
    ):  # b sends the search back over the question of a.
        world.answer(world.doable()[0])
    said = json.dumps({"kind": "answer", "question": "q1", "answer": "Yes."})
    assert [one.node for one in context_for(world.state, world.state.latest, "a").retry] == ["a/v1.a1"]
    world.send(Mailed(1, "answer:q1", said, world.now))
    context = context_for(world.state, world.state.latest, "a")
    assert [(one.node, one.answer) for one in context.clarifications] == [("a/v1.a1", "Yes.")]
    assert not context.retry
    assert render_prompt(world.state, world.state.latest, "a").user.count("requirements.missing is wrong") == 1


def test_a_step_is_not_told_of_what_steps_above_it_did_wrong():
    """Escalation feedback is about later failures; a new visit of a root is none of its dependents' doing."""
    judge = failing("field.type", "field.type", step="a")
    config = pinned({"a": {"rmax": 2, "backtrack_budget": 1}, "b": {"requires": ["a"]}})
    state = until(World(config, judge=judge), "b/v1.a1")
    assert not context_for(state, state.latest, "b").escalation


def test_attempts_are_linked_to_the_one_before():
    """S35, S37: across visits, too; parents are the artifacts that an attempt builds on."""
    state = until(World(pinned(SEEDS), judge=failing("field.type", "plan.goal_unreachable")), "g_plan/v2.a1")
    nodes = state.nodes
    assert nodes["g_plan/v1.a2"].previous == "g_plan/v1.a1"
    assert nodes["g_plan/v2.a1"].previous == "g_plan/v1.a2"
    assert nodes["g_plan/v2.a1"].parents == ("g_analysis/v1.a1", "g_recon/v1.a1", "g_strategy/v2.a1")
    assert nodes["g_strategy/v1.a1"].status == "superseded"
    assert nodes["g_plan/v1.a1"].artifact.previous_attempt_id is None


def test_a_dependency_is_visible_to_the_steps_that_require_it():
    """S135."""
    state = until(World(pinned(SEEDS), judge=failing()), "g_plan/v1.a1")
    assert list(context_for(state, state.latest, "g_plan").dependencies) == ["g_analysis", "g_recon", "g_strategy"]
    assert not context_for(state, state.latest, "g_recon").dependencies


def test_contexts_and_states_are_frozen():
    """S31: nobody can amend what another one has."""
    state = until(World(pinned(SEEDS), judge=failing()), "g_plan/v1.a1")
    node = next(iter(state.nodes.values()))
    for value, name in ((state, "revision"), (context_for(state, state.latest, "g_plan"), "retry"), (node, "status")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)
    assert Context("x").escalation == ()


def test_later_failures_are_told_in_the_order_in_which_they_happened():
    """S32: of steps side by side, the one asked for first may fail last; the window keeps the newest failures."""
    steps = {
        "base": {"backtrack_budget": 3},
        "other": {"backtrack_budget": 3},
        "slow": {"requires": ["base"]},
        "quick": {"requires": ["other"]},
        "end": {"requires": ["base", "other"]},
    }
    config = pinned(steps, feedback_window=1)
    world = World(config, judge=failing("plan.goal_unreachable", step="quick"))
    world.begin()
    for name in ("base/v1.a1", "judge:base/v1.a1", "other/v1.a1", "judge:other/v1.a1"):
        world.answer(name)
    assert list(world.state.nodes)[2:4] == ["slow/v1.a1", "quick/v1.a1"]
    for name in ("quick/v1.a1", "judge:quick/v1.a1"):
        world.answer(name)
    world.judge = failing("plan.dead_end", step="slow")
    for name in ("slow/v1.a1", "judge:slow/v1.a1"):
        world.answer(name)
    (told,) = context_for(world.state, world.state.latest, "end").escalation
    assert told.node == "slow/v1.a1"


def test_what_a_plug_in_does_to_its_settings_is_told_to_nobody_else():
    """They are its own copy, down to the lists: the configuration serves all runs of the process."""
    state = until(World(pinned(SEEDS), judge=lambda *_: passed()), "g_analysis/v1.a1")
    before = json.dumps(context_for(state, state.latest, "g_plan").settings)
    rude = context_for(state, state.latest, "g_plan").settings
    rude["guard_catalog"].append("anything_goes")
    rude["roles"].clear()
    assert json.dumps(context_for(state, state.latest, "g_plan").settings) == before


def test_a_step_that_asks_a_model_shows_its_messages_and_any_other_is_refused():
    steps = {"a": {}, "b": {"requires": ["a"], "generator": "mine", "deterministic": True}}
    world = World(pinned(steps), judge=lambda *_: passed())
    world.run()
    records = [Record("run", place, 0.0, 1, event, "") for place, event in enumerate(world.events, 1)]
    shown = VIEWS.prompt(records, "a/v1.a1")
    assert shown.verified
    assert [role for role, _ in shown.messages] == ["system", "user"]
    with pytest.raises(UsageProblem, match="the step 'b' calls no model"):
        VIEWS.prompt(records, "b/v1.a1")
