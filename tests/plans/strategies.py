"""Random small plans, drawn so that most of them have a non-trivial execution."""

from dataclasses import replace
from itertools import combinations

from hypothesis import strategies as st

from actors.plans.plan import Invariant, NamedOutcome, Plan, Step

TOKENS = ("a", "b", "c", "d")


def subsets(items, most, least=0):
    """Sets of up to `most` items, with one draw per set, because a plan has dozens of sets and draws are slow."""
    sizes = range(least, min(most, len(items)) + 1)
    return st.sampled_from([frozenset(subset) for size in sizes for subset in combinations(items, size)])


PAIRS, SINGLES, SOME = subsets(TOKENS, 2), subsets(TOKENS, 1), subsets(TOKENS, 2, 1)
RULES = st.lists(st.builds(Invariant, SINGLES, SINGLES, SINGLES), max_size=1)


@st.composite
def plans(draw, steps_max=5, failures=True, invariants=True):
    """A plan with up to `steps_max` steps over four tokens; dependencies lead from later ids to earlier ones."""
    count = draw(st.integers(1, steps_max))
    ids = [f"s{number}" for number in draw(st.permutations(range(count)))]
    steps = []
    ancestors = {}
    for index, step_id in enumerate(ids):
        before = draw(subsets(ids[:index], 2))
        ancestors[step_id] = before.union(*(ancestors[dependency] for dependency in before))
        words = ["escalate", "continue", "continue", "never", step_id, *sorted(ancestors[step_id])]
        steps.append(
            Step(
                step_id=step_id,
                name=step_id,
                guard="syntax",
                retry_budget=1,
                dependencies=before,
                preconditions=draw(PAIRS),
                effects=draw(PAIRS),
                delete_effects=draw(SINGLES),
                on_failure=draw(st.sampled_from(words)) if failures else "escalate",
                failure_effects=draw(SINGLES) if failures else frozenset(),
                failure_delete_effects=draw(SINGLES) if failures else frozenset(),
            )
        )
    return Plan(
        plan_id="p",
        steps=tuple(steps),
        initial_state=draw(SOME),
        goal_state=draw(SOME),
        total_retry_budget=100,
        invariants=tuple(draw(RULES)) if invariants else (),
    )


@st.composite
def plans_with_outcomes(draw, steps_max=5):
    """Such a plan in which steps may have outcomes."""
    plan = draw(plans(steps_max))
    ways = st.lists(st.tuples(SINGLES, SINGLES), max_size=3)
    steps = (
        step._replace(outcomes=tuple(NamedOutcome(f"o{number}", *way) for number, way in enumerate(draw(ways))))
        for step in plan.steps
    )
    return replace(plan, steps=tuple(steps))


@st.composite
def policies(draw, steps_max=4):
    """A policy: all steps repeatable, no dependencies."""
    plan = draw(plans(steps_max))
    words = ["continue", "continue", "never", "escalate"]
    steps = []
    for step in plan.steps:
        word = draw(st.sampled_from([*words, step.step_id]))
        steps.append(step._replace(dependencies=frozenset(), repeatable=True, on_failure=word))
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    return Plan(**fields | {"steps": tuple(steps)})


def branching_plan(chance):
    """Return such a plan in which most steps have outcomes."""

    def some(likely):
        return frozenset(token for token in TOKENS if chance.random() < likely)

    plan = going_back_plan(chance)
    steps = []
    for step in plan.steps:
        count = chance.choice((0, 1, 2, 3))
        outcomes = tuple(NamedOutcome(f"o{number}", some(0.3), some(0.2)) for number in range(count))
        steps.append(step._replace(outcomes=outcomes))
    fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    invariants = (Invariant(some(0.3), some(0.2), some(0.2)),) if chance.random() < 0.5 else ()
    return Plan(**fields | {"steps": tuple(steps), "invariants": invariants})


def going_back_plan(chance):
    """Return a plan of up to six steps, drawn from a seeded source, in which most failures go back."""

    def some(most, likely):
        return frozenset(token for token in chance.sample(TOKENS, most) if chance.random() < likely)

    count = chance.randint(3, 6)
    ids = [f"s{number}" for number in chance.sample(range(count), count)]
    steps, ancestors = [], {}
    for index, step_id in enumerate(ids):
        before = frozenset(chance.sample(ids[:index], min(index, chance.choice((0, 1, 1, 2)))))
        ancestors[step_id] = before.union(*(ancestors[dependency] for dependency in before))
        words = ["never", "continue"] + [chance.choice(sorted(ancestors[step_id]))] * 4 if before else ["continue"]
        steps.append(
            Step(
                step_id=step_id,
                name=step_id,
                guard="syntax",
                dependencies=before,
                preconditions=some(1, 0.6),
                effects=some(2, 0.5),
                delete_effects=some(1, 0.4),
                on_failure=chance.choice(words),
                failure_effects=some(1, 0.4),
                failure_delete_effects=some(1, 0.3),
            )
        )
    goal = frozenset(chance.sample(TOKENS, 1))
    return Plan(plan_id="p", steps=tuple(steps), initial_state=some(3, 0.6), goal_state=goal, total_retry_budget=100)
