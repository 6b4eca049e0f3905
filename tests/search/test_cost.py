"""The worst case in model calls: the formula against an exhaustive enumeration, and the documented numbers."""

import random
from itertools import product

import pytest

from actors.search.graph import StepBudget, happy_calls, worst_case_calls
from tests.search.enumeration import Enumeration
from tests.search.shapes import BUDGETS, graph, shapes

FREE = StepBudget(1, 0, deterministic=True)
SHIPPED = {
    "A": ({"analysis": (), "plan": ("analysis",)}, [(3, 0)] * 2, 2, 6),
    "B": ({"analysis": (), "recon": (), "plan": ("analysis", "recon")}, [(3, 0)] * 3, 3, 9),
    "C": ({"analysis": (), "template": ("analysis",), "refine": ("template",)}, [(3, 0), FREE, (3, 0)], 2, 6),
    "D": ({"draft": (), "critique": ("draft",), "final": ("draft", "critique")}, [(3, 0)] * 3, 3, 9),
    "B+C": (
        {"analysis": (), "recon": (), "template": ("analysis", "recon"), "refine": ("template",)},
        [(3, 0), (3, 0), FREE, (3, 0)],
        3,
        9,
    ),
    "A+D": (
        {"analysis": (), "draft": ("analysis",), "critique": ("draft",), "final": ("draft", "critique")},
        [(3, 0)] * 4,
        4,
        12,
    ),
    "seeds": (
        {"analysis": (), "recon": (), "strategy": ("analysis", "recon"), "plan": ("analysis", "recon", "strategy")},
        [(2, 1), (2, 2), (2, 3), (3, 0)],
        4,
        30,
    ),
    "seeds, as a chain": (
        {"analysis": (), "recon": ("analysis",), "strategy": ("recon",), "plan": ("strategy",)},
        [(2, 1), (2, 2), (2, 3), (3, 0)],
        4,
        30,
    ),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_known_workflows_cost_what_the_design_says(name):
    """S24, S26, S121, S122, S123, S124, S125, S126: the best case and the worst case of each decomposition."""
    requires, budgets, happy, worst = SHIPPED[name]
    assert happy_calls(graph(requires, budgets)) == happy
    assert worst_case_calls(graph(requires, budgets)) == worst


def _differences(workflows):
    for requires, budgets in workflows:
        enumerated, computed = Enumeration(graph(requires, budgets)).most(), worst_case_calls(graph(requires, budgets))
        if enumerated != computed:
            yield f"{requires} {budgets}: enumerated {enumerated}, formula {computed}"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_worst_case_is_exact_on_all_small_workflows(size):
    """S24: all requirements and budgets of at most three steps, all orders of replies, all proposals of a policy."""
    assert not list(_differences(product(shapes(size), product(BUDGETS, repeat=size))))


def test_the_worst_case_is_exact_on_a_sample_of_four_steps():
    """S24: two hundred workflows of four steps, with larger budgets and steps without a model call among them."""
    dice, choices = random.Random(4), (*BUDGETS, *BUDGETS, (1, 2), (2, 2), (3, 1), FREE)
    requirements = shapes(4)
    sample = ((dice.choice(requirements), [dice.choice(choices) for _ in range(4)]) for _ in range(200))
    assert not list(_differences(sample))


def test_classifications_add_what_the_workflow_allows_and_no_more():
    """S22: the bound holds for all workflows of three steps; if the search cannot backtrack, it adds nothing."""
    exact = 0
    for requires, budgets in product(shapes(3), product(BUDGETS, repeat=3)):
        shape = graph(requires, budgets)
        most, bound = Enumeration(shape, 2).most(), worst_case_calls(shape, 2)
        assert most <= bound <= worst_case_calls(shape) + 2
        exact += most == bound
    assert exact > 250, "most workflows reach the bound"
    assert worst_case_calls(graph({"a": (), "b": ("a",)}, [(3, 0), (3, 0)]), 9) == 6


def test_the_seeds_example_is_exact():
    """S24, S26: thirty calls are reached, and no run makes more; the seeds' own sums are 21, 38 and 42."""
    requires, budgets, _, worst = SHIPPED["seeds"]
    assert Enumeration(graph(requires, budgets)).most() == worst
    assert Enumeration(graph(requires, budgets), 3).most() == worst_case_calls(graph(requires, budgets), 3) == worst + 3


def test_a_budget_beside_the_leaf_bounds_how_often_it_gets_new_parents():
    """`b` begins whenever `leaf` does; once its only visit is used, the search cannot backtrack to `a`."""
    requires = {"a": (), "leaf": ("a",), "b": ("a",), "end": ("b",)}
    assert worst_case_calls(graph(requires, [(1, 2), (1, 0), (1, 0), (1, 0)])) == 3 + 1 + 1 + 1
    assert worst_case_calls(graph(requires, [(1, 2), (1, 0), (1, 1), (1, 0)])) == 3 + 2 + 2 + 2


def test_a_slow_step_lets_a_leaf_have_new_parents_that_a_closed_form_would_miss():
    """While `slow` is running, `b` has not begun, so `a` can be redone for `leaf` although `b` has only one visit."""
    requires = {"a": (), "slow": (), "leaf": ("a",), "b": ("a", "slow"), "end": ("b",)}
    shape = graph(requires, [(1, 2), (1, 0), (1, 0), (1, 0), (1, 0)])
    assert Enumeration(shape).most() == worst_case_calls(shape) == 3 + 1 + 3 + 1 + 1


def test_the_worst_case_is_never_too_low_where_it_is_a_bound_only():
    """Leaves with different lowest ancestors that share `d`: the sum over the leaves is not reached."""
    requires = {"a": (), "d": ("a",), "e": ("a",), "one": ("a",), "two": ("d", "e")}
    shape = graph(requires, [(1, 1)] * 3 + [(1, 0)] * 2)
    assert Enumeration(shape).most() < worst_case_calls(shape)


def test_a_wide_workflow_is_counted_at_once():
    """Forty parallel steps before one plan: the formula needs no enumeration."""
    requires = {f"s{number}": () for number in range(40)} | {"plan": tuple(f"s{number}" for number in range(40))}
    assert worst_case_calls(graph(requires, [(2, 2)] * 40 + [(3, 0)])) == 40 * 6 + 3 * 81
