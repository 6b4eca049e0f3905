"""The estimate of a belief's parameters: against values computed by hand, and in worlds with known shares."""

import math
import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from actors.config.loader import load_policy
from actors.policy.belief import BeliefModel
from actors.policy.history import Came, Past
from actors.policy.table import Agreement, AuthorKind
from actors.search.graph import Graph, StepBudget
from replan.learning.belief_estimate import (
    PSEUDO_RUNS,
    Accepted,
    Evidence,
    TrainingCase,
    estimate,
    likeliest_shares,
    mixed_causes,
    scores,
    signature_chance,
)
from replan.learning.held_out import Improvement, is_held_out
from replan.setup.data_files import data_root

POLICY = load_policy("belief", data_root())
SHIPPED = POLICY.belief
STEPS = ("g_analysis", "g_recon", "g_strategy", "g_plan")
REQUIRES = {
    "g_analysis": (),
    "g_recon": ("g_analysis",),
    "g_strategy": ("g_recon",),
    "g_plan": ("g_strategy",),
}
GRAPH = Graph(REQUIRES, {step: StepBudget(3, 9) for step in STEPS})
ROLES = {step: step.removeprefix("g_") for step in STEPS}


def case(*items):
    return TrainingCase("chain", GRAPH, ROLES, items)


def sampled(table, rng):
    """Return the rejections of one run in the world that a table assumes, until it is accepted or has ten of them."""
    names = [*(ROLES[step] for step in STEPS), "unsolvable"]
    cause = rng.choices(names, [table.causes[name] for name in names])[0]
    difficulty, told, items, last = rng.randrange(4), 0, [], None
    rows = {step: table.chances.get(ROLES[step], table.chances["other"]) for step in STEPS}
    right = dict.fromkeys(STEPS, False)
    redone = STEPS
    while len(items) < 10:
        for step in redone:
            chance = rows[step][difficulty][min(told, 2)] if ROLES[step] == cause else table.easy
            right[step] = cause != "unsolvable" and rng.random() < chance
        wrong = next((step for step in STEPS if not right[step]), None)
        if wrong is None:
            return (*items, Accepted("g_plan"))
        place = "unsolvable" if cause == "unsolvable" else "self" if wrong == "g_plan" else ROLES[wrong]
        told += ROLES[wrong] == cause
        again = last is not None and rng.random() < table.repeats.get(place, table.repeats["other"])
        shares = table.codes.get(place, table.codes["other"])
        row = last[0] if again else rng.choices(list(shares), list(shares.values()))[0]
        last = last if again else (row, len(items))
        redone = STEPS[rng.randrange(4) :]
        items.append(Past("g_plan", frozenset({(row, str(last[1]))}), 0, row, redone))
    return tuple(items)


def world(count, **changes):
    table = SHIPPED.model_copy(update=changes)
    rng = random.Random(7)
    cases = {}
    for number in range(count):
        cases.setdefault(case(*sampled(table, rng)), Counter())[f"p{number}"] += 1
    return cases


@cache
def estimated(shifted, count):
    causes = {"analysis": 0.02, "recon": 0.02, "strategy": 0.02, "plan": 0.9, "other": 0.225, "unsolvable": 0.04}
    return estimate(world(count, **({"causes": causes} if shifted else {})), SHIPPED)


def test_known_causes_are_counted_beside_the_pseudo_runs():
    shipped = {"plan": 3.0, "unsolvable": 1.0}
    known = [Evidence((("plan", 1.0), ("unsolvable", 0.0)), 10), Evidence((("plan", 0.0), ("unsolvable", 1.0)), 40)]
    shares = likeliest_shares(known, shipped)
    assert shares["plan"] == pytest.approx((0.75 * PSEUDO_RUNS + 10) / (PSEUDO_RUNS + 50))


def test_causes_lean_to_the_step_where_a_few_runs_have_their_mistakes():
    """Eight runs whose mistake is surely at the plan; without runs the causes are the policy's own."""
    shipped = {"analysis": 0.225, "strategy": 0.225, "plan": 0.225, "other": 0.225, "unsolvable": 0.1}
    at_plan = Evidence((("analysis", 0.1), ("strategy", 0.1), ("plan", 1.0), ("unsolvable", 0.1)), 8)
    assert mixed_causes([], shipped) == pytest.approx(shipped)
    mixed = mixed_causes([at_plan], shipped)
    assert sum(mixed.values()) == pytest.approx(1)
    assert mixed["plan"] > 0.4
    assert mixed["analysis"] == pytest.approx(mixed["strategy"])
    assert mixed["unsolvable"] == pytest.approx(0.1)


def test_without_runs_the_shares_stay():
    assert likeliest_shares([], {"plan": 3.0, "unsolvable": 1.0}) == {"plan": 0.75, "unsolvable": 0.25}


def test_hidden_causes_have_the_shares_of_the_highest_posterior():
    """Against a search over a grid."""
    cases = [Evidence((("a", 0.9), ("b", 0.3)), 30), Evidence((("a", 0.1), ("b", 0.8)), 12)]

    def posterior(a):
        evidence = sum(
            each.runs * math.log(a * each.likelihoods[0][1] + (1 - a) * each.likelihoods[1][1]) for each in cases
        )
        return evidence + PSEUDO_RUNS * 0.5 * (math.log(a) + math.log(1 - a))

    best = max((number / 10_000 for number in range(1, 10_000)), key=posterior)
    assert likeliest_shares(cases, {"a": 1.0, "b": 1.0})["a"] == pytest.approx(best, abs=1e-4)


def test_a_role_that_a_workflow_lacks_keeps_its_odds_to_the_others():
    shares = likeliest_shares([Evidence((("a", 1.0), ("b", 0.0)), 50)], {"a": 1.0, "b": 1.0, "c": 1.0})
    even = likeliest_shares([Evidence((("a", 1.0), ("b", 1.0)), 50)], {"a": 1.0, "b": 1.0, "c": 1.0})
    assert even == pytest.approx(dict.fromkeys("abc", 1 / 3))
    assert shares["a"] > 1 / 3 > shares["b"]


@pytest.mark.parametrize("failed", ["g_plan", "g_recon"])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_chances_of_all_signatures_add_up_to_one(failed, repeated):
    model = BeliefModel(SHIPPED, GRAPH, ROLES)
    earlier = [Past(failed, frozenset({("a", "")}), 0, "structure", (failed,))] if repeated else []
    belief = model.after(tuple(earlier))
    rows = sorted({row for shares in SHIPPED.codes.values() for row in shares})
    items = [Past(failed, frozenset({("b", "")}), 0, row) for row in rows]
    items += [Past(failed, frozenset({("a", "")}), 0, "structure")] if repeated else []
    items += [Accepted(failed)] if failed == "g_plan" else []
    assert sum(signature_chance(model, belief, item, earlier) for item in items) == pytest.approx(1)


def test_the_log_score_is_the_sum_of_the_logarithms():
    model = BeliefModel(SHIPPED, GRAPH, ROLES)
    first = Past("g_plan", frozenset({("a", "")}), 0, "structure", ("g_plan",))
    chances = [
        signature_chance(model, model.after(()), first, []),
        signature_chance(model, model.after((first,)), Accepted("g_plan"), [first]),
    ]
    assert scores([case(first, Accepted("g_plan"))], SHIPPED) == pytest.approx([sum(map(math.log, chances))])


def test_what_came_again_counts_before_the_next_signature():
    """A redone strategy that comes again word for word tells where the mistake lies before the next rejection does."""
    table = SHIPPED.model_copy(
        update={"agreement": Agreement(compare="text", kinds=(AuthorKind(share=1, right=0.95, wrong=0.2),))}
    )
    model, came = BeliefModel(table, GRAPH, ROLES), Came(same=("g_strategy",))
    first = Past("g_plan", frozenset({("0", "")}), 0, "structure", ("g_strategy", "g_plan"))
    second = Past("g_plan", frozenset({("1", "")}), 0, "structure", ("g_plan",), came)
    chances = [
        signature_chance(model, model.after(()), first, []),
        signature_chance(model, model.after((first,), came), second, [first]),
        signature_chance(model, model.after((first, second)), Accepted("g_plan"), [first, second]),
    ]
    assert scores([case(first, second, Accepted("g_plan"))], table) == pytest.approx([sum(map(math.log, chances))])
    assert chances[1] != signature_chance(model, model.after((first,)), second, [first])


@pytest.mark.parametrize(("came", "grows"), [(Came(same=("g_recon",)), 0), (Came(other=("g_recon",)), 1)])
def test_the_kinds_of_author_are_learned_from_what_came_again(came, grows):
    """Runs whose redone steps bring the same, or something else, raise the share of the kind that does so."""
    kinds = (AuthorKind(share=0.5, right=0.95, wrong=0.4), AuthorKind(share=0.5, right=0.1, wrong=0.1))
    table = SHIPPED.model_copy(update={"agreement": Agreement(compare="meaning", kinds=kinds)})
    redone = ("g_recon", "g_strategy", "g_plan")
    items = [Past("g_plan", frozenset({("0", "")}), 0, "wrong_strategy", redone, came) for _ in range(3)]
    learned = estimate({case(*items, Accepted("g_plan")): dict.fromkeys(USED, 2)}, table).table.agreement
    assert learned.kinds[grows].share > 0.6
    assert sum(kind.share for kind in learned.kinds) == pytest.approx(1)


def test_the_weight_of_a_rejection_is_what_its_belief_is_divided_by():
    model = BeliefModel(SHIPPED, GRAPH, ROLES)
    belief = model.after(())
    after = model.rejected(belief, "g_plan", "structure", again=None)
    weight = belief.unsolvable * SHIPPED.codes["unsolvable"]["structure"] / after.unsolvable
    assert model.evidence(belief, "g_plan", "structure", again=None) == pytest.approx(weight)


def test_half_of_the_problems_are_held_out():
    assert 160 < sum(is_held_out(f"p{number}") for number in range(400)) < 240


HELD_OUT = [name for number in range(200) if is_held_out(name := f"p{number}")]
USED = [name for number in range(200) if not is_held_out(name := f"p{number}")]
REJECTED = [Past("g_plan", frozenset({("0", "")}), 0, "structure", STEPS[-number:]) for number in (1, 2)]


def test_runs_that_went_alike_count_as_often_as_they_are():
    """One case that stands for 60 runs says the same as 60 cases."""
    problems = [*USED[:30], *HELD_OUT[:30]]
    alike = {case(past, Accepted("g_plan")): dict.fromkeys(problems, 1) for past in REJECTED}
    separate = {
        replace(each, shape=f"chain{problem}"): {problem: 1} for each, runs in alike.items() for problem in runs
    }
    one, other = estimate(alike, SHIPPED), estimate(separate, SHIPPED)
    assert (one.used, one.held_out) == (other.used, other.held_out) == (60, 60)
    assert (one.improvement.mean, one.improvement.error) == pytest.approx(
        (other.improvement.mean, other.improvement.error)
    )
    assert one.table == other.table


def test_no_problem_is_in_both_halves():
    """Else the runs of a problem would be judged by runs that went alike."""
    cases = {case(REJECTED[0], Accepted("g_plan")): {USED[0]: 50}, case(REJECTED[1], Accepted("g_plan")): {USED[0]: 7}}
    found = estimate(cases, SHIPPED)
    assert (found.used, found.held_out, found.improvement.groups) == (57, 0, 0)
    found = estimate({each: {HELD_OUT[0]: runs[USED[0]]} for each, runs in cases.items()}, SHIPPED)
    assert (found.used, found.held_out, found.improvement.groups) == (0, 57, 1)


def test_fifty_runs_of_two_problems_convince_nobody():
    """They went alike, so their gains do not differ; of two problems that says little."""
    alike = case(REJECTED[0], Accepted("g_plan"))
    found = estimate({alike: {USED[0]: 50, HELD_OUT[0]: 50}}, SHIPPED)
    assert found.improvement.mean > 0
    assert (found.held_out, found.improvement.groups, found.improvement.error, found.improvement.convincing) == (
        50,
        1,
        math.inf,
        False,
    )
    many = estimate({alike: {USED[0]: 50, **dict.fromkeys(HELD_OUT[:20], 3)}}, SHIPPED)
    assert (many.held_out, many.improvement.groups, many.improvement.error, many.improvement.convincing) == (
        60,
        20,
        0.0,
        True,
    )


def test_the_standard_error_is_that_of_problems_as_clusters():
    """Against the formula by hand: the runs of a problem add up before they are squared."""
    cases = {
        case(REJECTED[0], Accepted("g_plan")): {USED[0]: 20, HELD_OUT[0]: 4, HELD_OUT[1]: 1},
        case(REJECTED[1], Accepted("g_plan")): {HELD_OUT[1]: 2, HELD_OUT[2]: 5},
    }
    found = estimate(cases, SHIPPED)
    first, second = (
        ours - theirs for ours, theirs in zip(scores(cases, found.table), scores(cases, SHIPPED), strict=True)
    )
    mean = (5 * first + 7 * second) / 12
    apart = [4 * (first - mean), first - mean + 2 * (second - mean), 5 * (second - mean)]
    assert found.improvement.mean == pytest.approx(mean)
    assert found.improvement.error == pytest.approx(math.sqrt(1.5 * sum(each**2 for each in apart)) / 12)


def test_shifted_shares_are_found():
    found = estimated(shifted=True, count=160)
    assert found.improvement.convincing
    causes = found.table.causes
    assert max(causes, key=causes.get) == "plan"
    assert causes["plan"] / sum(share for key, share in causes.items() if key != "other") > 0.5


def test_the_shipped_shares_are_not_replaced():
    found = estimated(shifted=False, count=100)
    assert (found.used + found.held_out, found.improvement.convincing) == (100, False)


def test_too_few_problems_convince_nobody():
    assert not Improvement(19, 5.0, 0.1).convincing
    assert Improvement(20, 5.0, 0.1).convincing
    assert not Improvement(20, 0.19, 0.1).convincing


def test_no_run_at_all_is_no_error():
    found = estimate({}, SHIPPED)
    assert (found.used, found.held_out, found.improvement.mean, found.improvement.convincing) == (0, 0, 0.0, False)
