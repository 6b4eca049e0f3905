"""All small workflows, as graphs: every shape and every budget."""

from itertools import combinations, product

from actors.search.graph import Graph, StepBudget

BUDGETS = tuple(product((1, 2), (0, 1)))
"""(rmax, backtrack_budget) of one step."""


def shapes(size):
    """Return every `requires` of so many steps; a step requires only earlier ones, which leaves no shape out."""
    names = "abcd"[:size]
    above = [
        [chosen for count in range(place + 1) for chosen in combinations(names[:place], count)] for place in range(size)
    ]
    return [dict(zip(names, choice, strict=True)) for choice in product(*above)]


def graph(requires, budgets):
    """Return a graph; `budgets` are (rmax, backtrack_budget) or StepBudget, in the order of the steps."""
    made = [budget if isinstance(budget, StepBudget) else StepBudget(*budget) for budget in budgets]
    return Graph(requires, dict(zip(requires, made, strict=True)))
