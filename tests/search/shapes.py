"""All small workflows as graphs: every combination of requirements and budgets."""

from itertools import combinations, product

from actors.search.graph import Graph, StepBudget

BUDGETS = tuple(product((1, 2), (0, 1)))
"""(rmax, backtrack_budget) of one step."""


def shapes(size):
    """Return every `requires` mapping of `size` steps. A step requires only earlier ones, which loses no generality."""
    names = "abcd"[:size]
    above = [
        [subset for count in range(index + 1) for subset in combinations(names[:index], count)] for index in range(size)
    ]
    return [dict(zip(names, choice, strict=True)) for choice in product(*above)]


def graph(requires, budgets):
    """Return a graph; `budgets` are (rmax, backtrack_budget) or StepBudget, in the order of the steps."""
    step_budgets = [budget if isinstance(budget, StepBudget) else StepBudget(*budget) for budget in budgets]
    return Graph(requires, dict(zip(requires, step_budgets, strict=True)))
