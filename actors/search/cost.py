"""The exact worst case and the happy case of a workflow, in model calls.

Every non-leaf can use up its visits, failing by itself if nothing else sends the search back to it: `rmax · (1 +
backtrack_budget)` each. A leaf has `rmax` attempts per distinct set of parent artifacts; that set changes when the
search goes back to one of its ancestors, which takes one visit of the ancestor and of every non-leaf below it. How
often that can happen is a small packing problem over the visits left, solved here by branch and bound. For a workflow
in which every leaf hangs below all steps that only leaves require, it is the closed form of DESIGN 4.
"""

from functools import cache

from actors.search.graph import Graph


def happy_calls(graph: Graph) -> int:
    """Return the calls of a run in which every first attempt passes."""
    return sum(1 for budget in graph.budgets.values() if not budget.deterministic)


def worst_case_calls(graph: Graph) -> int:
    """Return the most calls that one branch can make in one round. A test compares it with exhaustive enumeration."""
    inner = [step for step in graph.steps if step not in graph.leaves and not graph.budgets[step].deterministic]
    leaves = [step for step in graph.steps if step in graph.leaves and not graph.budgets[step].deterministic]
    own = sum(graph.budgets[step].rmax * (1 + graph.budgets[step].backtrack_budget) for step in inner)
    gains = [sum(graph.budgets[leaf].rmax for leaf in leaves if step in graph.above[leaf]) for step in inner]
    uses = [tuple(other == step or other in graph.below[step] for other in inner) for step in inner]

    @cache
    def most(place: int, left: tuple[int, ...]) -> int:
        if place == len(inner):
            return 0
        best, times, rest = most(place + 1, left), 0, left
        while gains[place] and all(have > 0 for have, used in zip(rest, uses[place], strict=True) if used):
            times += 1
            rest = tuple(have - used for have, used in zip(rest, uses[place], strict=True))
            best = max(best, times * gains[place] + most(place + 1, rest))
        return best

    budgets = tuple(graph.budgets[step].backtrack_budget for step in inner)
    return own + sum(graph.budgets[leaf].rmax for leaf in leaves) + most(0, budgets)
