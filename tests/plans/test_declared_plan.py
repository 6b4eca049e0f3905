"""Plans from declared steps: found where there is one, proved by the guards, and refused in one line where not."""

import contextlib
import random

import pytest

from actors.guards import plan_expansive
from actors.plans.declared_plan import plan_for
from actors.plans.plan import NamedOutcome, Step, plan_to_json
from actors.values.artifacts import Artifact, Context, format_json
from runtime.core.errors import UsageProblem


def step(name, needs="", makes="", ends="", **outcomes):
    """Return a declared step; outcomes are `NAME="TOKENS"`, of which one with a minus is deleted."""
    ways = []
    for way, text in outcomes.items():
        tokens = text.split()
        adds = frozenset(each for each in tokens if not each.startswith("-"))
        ways.append(NamedOutcome(way, adds, frozenset(each[1:] for each in tokens if each.startswith("-"))))
    return Step(
        name,
        generator=name,
        preconditions=frozenset(needs.split()),
        effects=frozenset(makes.split()),
        delete_effects=frozenset(ends.split()),
        outcomes=tuple(ways),
    )


def proof(plan):
    """Return the verdict of the strictest guard, which demands the goal in every trace without an escalation."""
    settings = {"assurance": "strong", "r_max": 10_000}
    content = format_json(plan_to_json(plan))
    return plan_expansive.make(settings)(
        Artifact(artifact_id="p", step="plan", content=content), Context(specification="")
    )


def refusal(steps, holds, goal):
    with pytest.raises(UsageProblem) as caught:
        plan_for(steps, set(holds.split()), set(goal.split()))
    return caught.value


BUILD = [
    step("fetch", makes="source"),
    step("configure", needs="source", makes="config"),
    step("compile", needs="source config", makes="binary"),
    step("document", needs="source", makes="pages"),
    step("pack", needs="binary pages", makes="package", ends="binary"),
    step("sell", makes="money"),
]


def test_a_plan_has_the_steps_that_the_goal_needs_and_each_waits_for_what_it_needs_alone():
    plan = plan_for(BUILD, set(), {"package"})
    waits = {each.step_id: each.dependencies for each in plan.steps}
    assert waits == {
        "fetch": set(),
        "configure": {"fetch"},
        "document": {"fetch"},
        "compile": {"configure"},
        "pack": {"compile", "document"},
    }
    assert proof(plan).passed


def test_a_generator_whose_effect_was_used_up_is_used_again_under_another_id():
    steps = [step("brew", makes="cup"), step("serve", "cup", "served", "cup"), step("drink", "cup served", "awake")]
    plan = plan_for(steps, set(), {"awake"})
    assert [each.step_id for each in plan.steps] == ["brew_1", "serve", "brew_2", "drink"]
    assert proof(plan).passed


def test_after_each_outcome_of_a_step_the_plan_goes_on_to_the_goal():
    steps = [
        step("review", "draft", "", "", good="approved", bad="remarks"),
        step("mend", "draft remarks", "mended", "remarks"),
        step("ask", "mended", "approved"),
        step("publish", "approved", "published"),
    ]
    plan = plan_for(steps, {"draft"}, {"published"})
    assert sorted(each.step_id for each in plan.steps) == ["ask", "mend", "publish_1", "publish_2", "review"]
    verdict = proof(plan)
    assert (verdict.passed, verdict.facts["assurance"]) == (True, "strong")


def test_the_tokens_that_say_which_step_is_next_are_new_to_the_state():
    steps = [step("look", "", "", "", a="x", b="y"), step("one", "x", "goal"), step("two", "y", "goal")]
    plan = plan_for(steps, set(), {"goal"}, {"next: one", "next: two"})
    assert proof(plan).passed


REFUSED = {
    "a token that nothing makes": ("", "pakage", "no tool makes 'pakage'", "did you mean 'package'?", "goal"),
    "a token unlike any": (
        "",
        "qqq",
        "no tool makes 'qqq'",
        "add the token to the `effects` of a generator's `step`",
        "goal",
    ),
    "an unknown token at the start": (
        "sorce", "package", "no tool declares a step with the token 'sorce'", "did you mean 'source'?", "holds",
    ),
    "a goal that holds": ("money", "money", "the goal holds already, so no plan is needed", "", "goal"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_goal_is_refused_with_its_reason_and_the_next_step(name):
    holds, goal, cause, hint, place = REFUSED[name]
    problem = refusal(BUILD, holds, goal)
    assert (problem.cause, problem.place) == (cause, place)
    assert problem.hint.startswith(hint)


def test_a_goal_that_cannot_be_reached_is_refused_with_what_nothing_makes():
    problem = refusal(BUILD[1:], "", "package")
    assert problem.cause == "no plan reaches 'package', because nothing makes 'source'"
    assert problem.hint == "add --holds source if this holds at the beginning"


def test_steps_that_need_each_other_are_named_by_their_tokens():
    problem = refusal([step("a", "y", "x"), step("b", "x", "y")], "", "x")
    assert problem.cause == "no plan reaches 'x', because 'x', 'y' need each other"


UNREACHABLE = {
    "two goals that exclude each other": (
        [step("up", "down", "up", "down"), step("down", "up", "down", "up")],
        "no plan reaches 'down', 'up': no order of the steps reaches the whole goal",
    ),
    "an outcome from which nothing leads on": (
        [step("try", "down", "", "", works="up", breaks="broken -down")],
        "no plan reaches 'down', 'up': no step leads to the goal after the outcome 'breaks' of 'try'",
    ),
    "an outcome that changes nothing": (
        [step("try", "down", "", "", works="up", again="")],
        (
            "no plan reaches 'up': the outcome 'again' of 'try' leads back to an earlier state, "
            "but a step must not be repeated"
        ),
    ),
}


@pytest.mark.parametrize("name", UNREACHABLE)
def test_where_no_plan_reaches_the_goal_in_every_outcome_the_reason_is_named(name):
    steps, cause = UNREACHABLE[name]
    assert refusal(steps, "down", "up down" if "'down'" in cause else "up").cause == cause


def solvable(steps, holds, goal):
    """Return whether some choice of steps reaches the goal in every outcome: all states, worked out backwards."""
    states, todo = {holds}, [holds]
    ways = {}
    while todo:
        state = todo.pop()
        for each in steps:
            if each.preconditions <= state:
                items = each.outcomes or (NamedOutcome("", frozenset(), frozenset()),)
                after = [
                    state - each.delete_effects - item.delete_effects | each.effects | item.effects for item in items
                ]
                ways.setdefault(state, []).append(after)
                todo += [new for new in after if new not in states]
                states.update(after)
    solved = {state for state in states if goal <= state}
    while more := {
        state for state in states - solved if any(all(new in solved for new in after) for after in ways.get(state, ()))
    }:
        solved |= more
    return holds in solved


def world(seed):
    rng = random.Random(seed)
    tokens = [f"t{number}" for number in range(rng.randint(4, 7))]

    def some(most):
        return " ".join(rng.sample(tokens, rng.randint(0, most)))

    steps = []
    for number in range(rng.randint(3, 8)):
        outcomes = {}
        if rng.random() < 0.4:
            outcomes = {way: f"{some(2)} {' '.join(f'-{each}' for each in some(1).split())}" for way in ("a", "b")}
        steps.append(step(f"s{number}", some(2), some(2), some(2), **outcomes))
    start = frozenset(rng.sample(tokens, 2))
    return steps, start, frozenset(rng.sample(tokens, rng.randint(1, 3)))


def test_a_plan_is_found_exactly_where_there_is_one_and_the_guard_proves_it():
    found = branched = none = 0
    for seed in range(150):
        steps, start, goal = world(seed)
        if goal <= start:
            continue
        known = frozenset().union(*(each.preconditions | each.may_add | each.may_delete for each in steps), goal)
        plan = None
        with contextlib.suppress(UsageProblem):
            plan = plan_for(steps, start & known, goal)
        assert (plan is not None) == solvable(steps, start & known, goal), seed
        if plan is None:
            none += 1
            continue
        verdict = proof(plan)
        assert verdict.passed, (seed, verdict.findings)
        assert verdict.facts["assurance"] == "strong", seed
        found += 1
        branched += plan.has_outcomes
    assert found >= 35, (found, branched, none)
    assert branched >= 5, (found, branched, none)
    assert none >= 35, (found, branched, none)


def test_a_long_plan_is_found_in_bounded_time():
    steps = [step(f"s{n}", f"t{n}", f"t{n + 1}", f"t{n}") for n in range(60)]
    steps += [step(f"other{n}", "t0", f"side{n}") for n in range(60)]
    assert len(plan_for(steps, {"t0"}, {"t60"}).steps) == 60
