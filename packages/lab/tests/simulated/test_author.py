"""The simulated author is a pure function of the request; its artifacts are valid, and their mistakes have causes."""

import json
from functools import cache

import pytest

from actors.config.step_guards import BUILT_IN
from actors.policy.table import CLASSIFIER
from actors.values.artifacts import Artifact, Context
from replan_lab.simulated.author import AUTHORS, answer, make, person_answer
from replan_lab.simulated.plans import DEFECT_STEPS, simulate_plan
from replan_lab.simulated.profile import LEVELS, PLAN, UNSOLVABLE, Defect, SimulatedPerson, load_profile
from replan_lab.simulated.seeded import QUANTILES, beta_quantile, draw, pick
from replan_lab.simulated.world import World, clue, read_views, strategy_for, views_text
from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, FaultKind
from tests.contracts.model import request

PROBLEM = "The login page times out after the second attempt."
CODES = {
    Defect.UNSATISFIED: "plan.precondition_unsatisfied",
    Defect.UNORDERED: "plan.precondition_unordered",
    Defect.DELETED: "plan.precondition_deleted",
    Defect.GOAL: "plan.goal_unreachable",
    Defect.UNKNOWN_GUARD: "plan.unknown_guard",
}


loaded = cache(load_profile)


def profile(name="base", **changes):
    return loaded(name).model_copy(update={"malformed": 0.0, **changes})


def author_request(role, node="g_x/v1.a1", dependencies=(), **more):
    """Return a request with this material."""
    material = {"role": role, "specification": PROBLEM, "dependencies": dict(dependencies), **more}
    return request(node, material=material)


def written(role, seed=0, world="base", **more):
    """Return the artifact that the author writes, as a JSON value."""
    reply, _ = answer(profile(world), seed, author_request(role, **more), "simulated:x")
    return json.loads(reply.text)


def judged(value, guard):
    artifact = Artifact(artifact_id="a", step="s", content=json.dumps(value), node="g_plan/v1.a1")
    return BUILT_IN[guard]({})(artifact, Context(specification=PROBLEM))


def right(world, *levels):
    """Return artifacts with the right views at these levels."""
    return {str(level): {"rationale": views_text({level: world.truth(level)})} for level in levels}


def wrong_view(world, level):
    return views_text({level: (world.truth(level) + 1) % 9})


@pytest.mark.parametrize("role", AUTHORS)
def test_a_reply_is_a_function_of_the_request(role):
    for seed in range(20):
        first = answer(profile(), seed, author_request(role), "m")
        assert first == answer(profile(), seed, author_request(role), "m")
        assert first[0].usage.input_tokens > 0
        assert first[0].usage.output_tokens > 0
        assert first[1] > 0


@pytest.mark.parametrize("role", ["analysis", "recon", "strategy", "critique"])
def test_a_wrong_artifact_above_the_plan_passes_its_guard(role):
    """Guards check fields and quotes; a wrong choice shows only in the plan."""
    assert all(judged(written(role, seed), f"{role}_valid").passed for seed in range(50))


@pytest.mark.parametrize("defect", Defect)
@pytest.mark.parametrize("place", DEFECT_STEPS)
def test_plan_medium_finds_every_defect_with_its_code_and_clue(defect, place):
    verdict = judged(simulate_plan("g", defect, "clue_abc123", place), "plan_medium")
    assert [finding.code for finding in verdict.errors] == [CODES[defect]]
    assert "clue_abc123" in verdict.errors[0].message


def test_plan_medium_accepts_a_plan_without_a_defect():
    assert judged(simulate_plan("g"), "plan_medium").passed


def test_a_plan_is_right_exactly_when_its_guard_passes_it():
    """The guard does not err unless a `VerdictFilter` makes it."""
    for seed in range(200):
        plan = written("plan", seed)
        assert judged(plan, "plan_medium").passed == World(profile(), seed, PROBLEM).solved_by(plan)


def test_a_wrong_artifact_above_makes_every_plan_below_wrong():
    for seed in range(100):
        world = World(profile("strategy_level"), seed, PROBLEM)
        above = right(world, "analysis", "recon") | {"strategy": {"rationale": wrong_view(world, "strategy")}}
        plan = written("plan", seed, "strategy_level", dependencies=above)
        assert not judged(plan, "plan_medium").passed
        assert clue("strategy") in json.dumps(plan)


def test_feedback_with_a_clue_helps_at_its_level_only():
    with_clue, without, with_other_clue = 0, 0, 0
    for seed in range(600):
        truth = World(profile("strategy_level"), seed, PROBLEM).truth("strategy")
        texts = ("- step_2: it needs ", f"- step_2: it needs {clue('strategy')}", f"- step_2: it needs {clue('recon')}")
        views = [
            read_views(written("strategy", seed, "strategy_level", escalation=[text]))["strategy"] for text in texts
        ]
        without += views[0] == truth
        with_clue += views[1] == truth
        with_other_clue += views[2] == truth
    assert with_other_clue == without
    assert with_clue > 1.4 * without > 0


def test_an_unsolvable_problem_has_no_right_plan_whatever_is_right_above():
    for seed in range(100):
        world = World(profile("unsolvable"), seed, PROBLEM)
        plan = written("plan", seed, "unsolvable", dependencies=right(world, *LEVELS[:3]))
        assert not judged(plan, "plan_medium").passed
        assert not world.solved_by(plan)


def test_every_problem_has_its_own_difficulty():
    """The published curves are not compatible with one error rate for all problems."""
    chances = {World(profile("plan_level"), seed, PROBLEM).chance(PLAN, 0) for seed in range(100)}
    assert len(chances) == 100
    assert max(chances) > 5 * min(chances)


def test_causes_have_the_shares_of_the_profile():
    causes = [World(profile(), seed, PROBLEM).cause for seed in range(4000)]
    for cause, share in profile().causes.items():
        assert abs(causes.count(cause) / 4000 - share) < 0.03


def test_a_right_strategy_fits_the_problem_type_of_the_analysis():
    for seed in range(50):
        value = written("strategy", seed, dependencies={"analysis": {"problem_type": "feature"}})
        world = World(profile(), seed, PROBLEM)
        fits = read_views(value)["strategy"] == world.truth("strategy")
        assert (value["strategy_id"] == strategy_for("feature")) == fits


def test_a_draft_with_a_good_critique_is_kept_and_another_is_revised():
    kept = changed = 0
    for seed in range(100):
        draft = written("plan", seed, node="g_plan_draft/v1.a1")
        views = read_views(draft)
        for assessment in ("good", "needs_revision"):
            above = {"plan": draft, "critique": {"overall_assessment": assessment}}
            final = written("plan", seed, node="g_plan_final/v1.a1", dependencies=above)
            if assessment == "good":
                kept += read_views(final) == views
            else:
                changed += read_views(final) != views
            assert final != draft  # It is never the draft word for word.
    assert kept == 100
    assert changed > 50


def test_a_critic_rejects_wrong_drafts_more_often_than_right_ones():
    rejections = {True: [], False: []}
    for seed in range(600):
        draft = written("plan", seed)
        critique = written("critique", seed, dependencies={"plan": draft})
        solved = World(profile(), seed, PROBLEM).solved_by(draft)
        rejections[solved].append(critique["overall_assessment"] != "good")
    wrong, right_ones = (sum(flags) / len(flags) for flags in (rejections[False], rejections[True]))
    assert abs(wrong - profile().critic.detects) < 0.08
    assert right_ones < wrong


def test_a_share_of_the_replies_is_cut_off():
    replies = [answer(profile(malformed=0.2), seed, author_request("plan"), "m")[0].text for seed in range(400)]
    cut = sum(1 for text in replies if not text.endswith("}"))
    assert abs(cut / 400 - 0.2) < 0.07


def test_every_try_of_an_attempt_gets_the_same_reply():
    first, _ = answer(profile(), 1, author_request("plan", node="g_plan/v1.a1"), "m")
    again, _ = answer(profile(), 1, author_request("plan", node="g_plan/v1.a1.t2"), "m")
    assert first.text == again.text


def test_an_unknown_role_is_a_final_fault():
    fault, seconds = answer(profile(), 1, author_request("poet"), "m")
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST
    assert seconds == 0


def test_draws_are_uniform_and_picks_follow_the_shares():
    values = [draw("x", number) for number in range(4000)]
    assert min(values) >= 0
    assert max(values) < 1
    assert abs(sum(values) / 4000 - 0.5) < 0.02
    picked = [pick({"a": 0.25, "b": 0.75}, number) for number in range(4000)]
    assert abs(picked.count("a") / 4000 - 0.25) < 0.03
    betas = [beta_quantile(2.0, 6.0, index) for index in range(0, QUANTILES, 8)]
    assert betas == sorted(betas)
    assert abs(sum(betas) / len(betas) - 0.25) < 0.001


def test_wrong_attempts_may_agree_so_that_agreement_is_evidence_and_no_proof():
    """Two attempts with the same view are right more often than one attempt, and wrong often enough."""
    agreeing, single = [], []
    for seed in range(3000):
        world = World(profile("strategy_level"), seed, PROBLEM)
        views = [world.view("strategy", f"g_strategy/v{visit}.a1", ()) for visit in (1, 2)]
        single.append(views[0] == world.truth("strategy"))
        if views[0] == views[1]:
            agreeing.append(single[-1])
    assert 1.3 * sum(single) / len(single) < sum(agreeing) / len(agreeing) < 0.9


def test_the_favourite_wrong_view_has_its_share():
    for name, share in (("base", 0.3), ("stubborn", 0.9)):
        world = World(profile(name), 3, PROBLEM)
        views = [world.view("strategy", f"g_strategy/v{visit}.a1", ()) for visit in range(4000)]
        wrong = [view for view in views if view != world.truth("strategy")]
        assert abs(max(wrong.count(view) for view in set(wrong)) / len(wrong) - share) < 0.04
        assert len(set(wrong)) == profile(name).wrong_views


def test_any_window_of_seeds_has_the_shares_of_causes_and_difficulties():
    """Two hundred problems have the shares as closely as thousands of independent draws."""
    for first in (0, 1000, 7777):
        worlds = [World(profile(), seed, PROBLEM) for seed in range(first, first + 200)]
        causes = [world.cause for world in worlds]
        assert all(abs(causes.count(cause) - 200 * share) <= 3 for cause, share in profile().causes.items())
        odds, chances = profile().odds, [chance for world in worlds for chance in world.difficulty.values()]
        assert abs(sum(chances) / len(chances) - odds.alpha / (odds.alpha + odds.beta)) < 0.005


def test_a_misattributed_finding_names_another_level():
    names = dict.fromkeys(LEVELS, 0)
    for seed in range(300):
        plan = json.dumps(written("plan", seed, "strategy_level"))
        shown = answer(profile("strategy_level", misattributed=1.0), seed, author_request("plan"), "m")[0].text
        if clue("strategy") in plan:
            assert clue("strategy") not in shown
            names = {level: count + (clue(level) in shown) for level, count in names.items()}
    assert min(names[level] for level in ("analysis", "recon", "plan")) > 50


def test_a_classifier_and_a_person_are_right_at_their_accuracy():
    helped = profile(classifier=0.7, person=SimulatedPerson(accuracy=0.7))
    right_causes, right_answers, count = 0, 0, 600
    for seed in range(count):
        world = World(helped, seed, PROBLEM)
        views = {level: world.truth(level) for level in LEVELS} | {"strategy": (world.truth("strategy") + 1) % 9}
        rejection = author_request(CLASSIFIER, retry=[views_text(views)], node=f"g_plan/v1.a{seed + 1}")
        cause = json.loads(answer(helped, seed, rejection, "m")[0].text)["cause"]
        level = "strategy" if world.cause != UNSOLVABLE else UNSOLVABLE
        right_causes += cause == ("requirement_violation" if level == "strategy" else "unclear")
        right_answers += clue(level) in person_answer(world, f"q{seed}", views)
    unsolvable = helped.causes[UNSOLVABLE]
    assert abs(right_causes / count - (unsolvable + (1 - unsolvable) * 0.7)) < 0.06
    assert abs(right_answers / count - 0.7) < 0.06


@pytest.mark.parametrize("text", ["", "Typical", "typical?seed=-1", "typical?seeds=1"])
def test_a_name_that_is_no_profile_with_a_seed_is_refused(text):
    with pytest.raises(UsageProblem, match="the name of a profile must follow"):
        make(text, {})


def test_the_model_is_as_dear_as_the_one_that_its_profile_imitates():
    model = make("base?seed=3", {})
    assert (model.name, model.price) == ("simulated:base?seed=3", load_profile("base").price)
