"""The work of an exploration and of the nominal run is limited. It is counted, never timed."""

import pytest

from actors.guards import plan_medium, plan_minimal
from actors.plans import nominal, reductions
from actors.plans.exploration import explore_plan
from actors.plans.graph import order_of
from actors.plans.reader import read_plan
from actors.values.findings import FINDINGS_MAX
from tests.plans.build import errors, judge, plan, step


def wide(count, **fields):
    """Return a plan of independent steps whose failures are remembered."""
    steps = [
        step(f"s{n}", "start", f"t{n}", on_failure="continue", failure_effects=f"f{n}", **fields) for n in range(count)
    ]
    rules = [{"when": [f"t{n}" for n in range(count)], "must_not": [f"f{n}" for n in range(count)]}]
    return plan(*steps, goal="never" if fields.get("repeatable") else "t0", invariants=rules)


def explored(value, limit):
    read, _ = read_plan(value)
    return explore_plan(read, order_of(read), limit)


@pytest.fixture
def small_limit(monkeypatch):
    """The least allowed work is that of a hundred configurations."""
    monkeypatch.setattr(reductions, "WORK_CONFIGURATIONS_MIN", 100)
    return 100 * reductions.WORK_PER_CONFIGURATION


@pytest.mark.parametrize("repeatable", [True, False])
def test_the_outcomes_of_configurations_count_too(small_limit, repeatable):
    """A plan of 4 KB took half a minute: the number of configurations did not limit the number of their outcomes."""
    result = explored(wide(18, repeatable=repeatable), 100)
    assert not result.complete
    assert 0 < result.explored < 50
    assert small_limit < result.work < small_limit + 1_000


@pytest.mark.parametrize(("level", "repeatable"), [("medium", True), ("expansive", True), ("expansive", False)])
def test_a_plan_beyond_the_limit_is_not_verified(small_limit, level, repeatable):
    value = wide(18, repeatable=repeatable)
    verdict = judge(level, value, max_explorations=100)
    assert "plan.too_complex" in [finding.code for finding in verdict.errors]
    assert verdict == judge(level, value, max_explorations=100)


def test_a_larger_setting_allows_more_work(small_limit):
    few, many = explored(wide(10), 100), explored(wide(10), 400)
    assert small_limit < few.work < small_limit + 1_000
    assert 4 * small_limit < many.work < 4 * small_limit + 1_000
    assert few.explored < many.explored


def test_loops_inside_one_outcome_count_too(small_limit):
    """Steps in reverse order of their ids: each pass over the pending steps finds only one that can run."""
    chain = [step(f"s{99 - n:02}", f"t{n}", f"t{n + 1}", on_failure=f"s{99 - n:02}") for n in range(100)]
    result = explored(plan(*chain, start="t0", goal="t100"), 300)
    assert not result.complete
    assert 0 < result.explored < 3
    assert result.work < 3 * small_limit + 1_000


def test_ordinary_plans_stay_far_below_the_limit():
    """A chain of 300 steps whose failures are recovered from takes a small part of the work."""
    steps = []
    for n in range(300):
        steps.append(step(f"a{n:03}", f"t{n}", f"t{n + 1}", on_failure="continue", failure_effects=f"f{n}"))
        steps.append(step(f"b{n:03}", f"f{n}", f"t{n + 1}", delete_effects=f"f{n}"))
    result = explored(plan(*steps, start="t0", goal="t300"), 100_000)
    assert result.complete
    assert result.work < reductions.WORK_CONFIGURATIONS_MIN * reductions.WORK_PER_CONFIGURATION / 10


def test_the_search_for_repaired_deletions_is_limited(monkeypatch):
    """Each step that needs the token looks at each pair of a step that deletes it and a step that makes it again."""
    pairs = range(20)
    steps = [step(f"d{n}", "start", delete_effects="x") for n in pairs]
    steps += [step(f"m{n}", "start", "x", after=[f"d{n}"]) for n in pairs]
    steps += [step("join", "x", "goal", after=[f"m{n}" for n in pairs])]
    steps += [step(f"u{n}", "x", f"u{n}", after="join") for n in range(9)]
    value = plan(*steps, start="start x")
    assert judge("medium", value).passed
    monkeypatch.setattr(nominal, "DELETERS_MAX", 150)
    assert errors(judge("medium", value)) == [("plan.too_complex", "steps")]
    assert errors(judge("expansive", value)) == [("plan.too_complex", "steps")]


def test_steps_that_no_failure_leads_to_are_explained_up_to_the_limit_of_findings(monkeypatch):
    """Beyond the findings that a verdict keeps, nothing is searched: the cost was the square of the number of steps."""
    calls = []
    original = plan_medium.id_list
    monkeypatch.setattr(plan_medium, "id_list", lambda ids: calls.append(1) or original(ids))
    count = FINDINGS_MAX + 50
    steps = [step(f"a{n}", "start", "goal", failure_effects="f") for n in range(3)]
    steps += [step(f"b{n:03}", "f", "g") for n in range(count)]
    verdict = judge("medium", plan(*steps))
    assert len(calls) == FINDINGS_MAX
    assert len(verdict.errors) == FINDINGS_MAX + 1
    assert "on_failure of a0, a1, a2 to continue" in verdict.errors[FINDINGS_MAX - 1].message
    assert "more findings" in verdict.errors[-1].message


def test_similar_ids_are_searched_for_a_few_steps_with_short_ids(monkeypatch):
    """The search compares each pair of names in quadratic time; 200 near-duplicates took a quarter of a minute."""
    compared = []

    def close(name, names):
        compared.append((name, len(names)))
        return next(iter(names), "")

    monkeypatch.setattr(plan_minimal, "closest", close)
    ids = [f"step_{n:03}" for n in range(50)]
    judge("minimal", plan(*(step(name, "start", "goal", after=f"{name}x") for name in ids)))
    assert [count for _, count in compared if count] == [50] * plan_minimal.NEAR_STEPS_MAX
    compared.clear()
    judge("minimal", plan(*(step("n" * 100 + name, "start", "goal", after=f"{name}x") for name in ids)))
    assert [count for _, count in compared if count] == []
    compared.clear()
    judge("minimal", plan(*(step(name, "start", "goal", after="n" * 100 + name) for name in ids)))
    assert not compared


def test_errors_beyond_the_limit_of_findings_are_counted(monkeypatch):
    """Each step's error named the steps that make its tokens, although a verdict keeps only a hundred errors."""
    named = []
    original = nominal.NominalRun._names
    monkeypatch.setattr(nominal.NominalRun, "_names", lambda run, mask: named.append(1) or original(run, mask))
    steps = [step(f"a{n:03}", "x", "y") for n in range(FINDINGS_MAX + 50)]
    verdict = judge("medium", plan(*steps, step("maker", "start", "x goal")))
    assert len(named) == FINDINGS_MAX
    assert len(verdict.errors) == FINDINGS_MAX + 1
    assert all("made too late: 'x' by maker" in error.message for error in verdict.errors[:-1])


def test_tokens_that_no_step_deletes_need_no_descendants():
    """The sets of all descendants take 50 MB in a chain of 20,000 steps."""
    steps = [
        step(f"s{n}", f"t{n - 2}" if n > 1 else "start", f"t{n}", after=f"s{n - 1}" if n else ()) for n in range(9)
    ]
    read, _ = read_plan(plan(*steps, goal="t8"))
    order = order_of(read)
    run = nominal.NominalRun(read, order, frozenset())
    assert [run.unmet_before(index) for index in run.indices] == [[]] * 9
    assert "ancestors" in vars(order)
    assert "descendants" not in vars(order)


BACK = plan(
    step("a", "start", "x", on_failure="continue", failure_effects="f"),
    step("b", "x", "y goal", on_failure="a", retry_budget=2),
    step("c", "f", "x goal"),
)
LOSE = plan(
    step("a", "start", "x", delete_effects="start"),
    step("b", "start", "y", delete_effects="x", on_failure="continue"),
    step("c", "x y", "goal", repeatable=True),
)


@pytest.mark.parametrize(
    ("value", "work"),
    [
        (wide(5), (True, 243, 33_631)),
        (wide(5, repeatable=True), (False, 1_000, 272_996)),
        (BACK, (True, 9, 862)),
        (LOSE, (True, 6, 732)),
    ],
)
def test_the_work_of_a_plan_is_the_same_on_every_machine(value, work):
    result = explored(value, 1_000)
    assert (result.complete, result.explored, result.work) == work
