"""The worst case and the happy case of a workflow, in model calls.

Every non-leaf can use up its visits, failing by itself if nothing else sends the search back to it: `rmax · (1 +
backtrack_budget)` each. A leaf has `rmax` attempts per distinct set of parent artifacts; between two sets the search
has gone back to one of its ancestors. Going back to a step takes a visit of it and of every step in between, so nothing
is cheaper, or goes further, than going back to the lowest: those ancestors of the leaf that no other ancestor of it
requires. Each can be gone back to `backtrack_budget` times.

With several leaves one thing more counts. Going back to a step also redoes the steps beside the leaf, and needs a visit
left of each. One that has all it requires as soon as the leaf has (a companion) spends a visit each time the leaf gets
new parents, so its budget bounds theirs. One that waits for something else does not: it may not have begun yet.

For workflows in which every leaf hangs below the same lowest steps this is a closed form: docs/explanation/search.md
counts an example. A test compares it with an exhaustive enumeration of all workflows of at most three steps and of a
sample of four, where it is exact. From five steps and two leaves on it is an upper bound: leaves below different lowest
steps may compete for the visits of what they share.
"""

from actors.search.graph import Graph


def happy_calls(graph: Graph) -> int:
    """Return the calls of a run in which every first attempt passes."""
    return sum(budget.happy for budget in graph.budgets.values() if not budget.deterministic)


def linear_calls(graph: Graph) -> int:
    """Return the most calls of a pipeline that never goes back: it makes one visit, whatever the budgets say."""
    return sum(budget.rmax * budget.calls for budget in graph.budgets.values() if not budget.deterministic)


def worst_case_calls(graph: Graph, classifications_max: int = 0) -> int:
    """Return the most calls that one branch can make in one round. Transport tries and reissues are not counted.

    Where the search can go back at all, every classification that the run may ask for counts: that is a bound, since a
    short search may have fewer failures that are worth one. A step that is a run of its own counts by its own budget.
    """
    total = classifications_max if _goes_back(graph) else 0
    for step, budget in graph.budgets.items():
        if not budget.deterministic:
            visits = _parent_sets(graph, step) if step in graph.leaves else 1 + budget.backtrack_budget
            total += budget.calls * budget.rmax * visits
    return total


def _goes_back(graph: Graph) -> bool:
    return any(
        budget.backtrack_budget and not budget.deterministic and step not in graph.leaves
        for step, budget in graph.budgets.items()
    )


def _parent_sets(graph: Graph, leaf: str) -> int:
    """Return the most distinct sets of parent artifacts that a leaf can be given."""
    above = set(graph.above[leaf])
    inner = [step for step in graph.steps if step not in graph.leaves and not graph.budgets[step].deterministic]
    ours = [step for step in inner if step in above]
    lowest = [step for step in ours if not any(step in graph.above[other] for other in ours)]
    companions = [step for step in inner if step not in above and set(graph.requires[step]) <= above]
    sets = 1
    for step in lowest:
        bound_by = (step, *(other for other in companions if step in graph.above[other]))
        sets += min(graph.budgets[other].backtrack_budget for other in bound_by)
    return sets
