"""The worst case and the best case of a workflow, in model calls.

A non-leaf uses at most `rmax · (1 + backtrack_budget)` calls: all attempts of all its visits. A leaf has `rmax`
attempts for each distinct set of parent artifacts, and between two sets the search has backtracked to one of the leaf's
ancestors. Backtracking to a step costs a visit of that step and of every step between it and the leaf. So the leaf gets
the most sets if the search always backtracks to its *lowest* ancestors, those that no other ancestor of the leaf
requires; to each of them it can backtrack `backtrack_budget` times.

A workflow with several leaves has one more limit. Backtracking to a step also redoes steps that are not above the leaf,
and each of them must have a visit left. If such a step can begin as soon as the leaf can (a *companion* of the leaf),
it uses a visit each time the leaf gets new parents, so its budget is a limit too. A step that waits for something else
is no limit, because it may not have begun yet.

If all leaves have the same lowest ancestors, this is a closed formula; docs/explanation/search.md computes an example.
A test compares it with an exhaustive enumeration of all workflows of up to three steps and of a sample with four steps;
there it is exact. From five steps with two leaves on it is an upper bound, because leaves with different lowest
ancestors may compete for the visits of a common ancestor.
"""

from actors.search.graph import Graph


def happy_calls(graph: Graph) -> int:
    """Return the calls of a run in which every first attempt passes: the best case."""
    return sum(budget.happy for budget in graph.budgets.values() if not budget.deterministic)


def linear_calls(graph: Graph) -> int:
    """Return the most calls of a linear run, which never backtracks and so visits each step once."""
    return sum(budget.rmax * budget.calls for budget in graph.budgets.values() if not budget.deterministic)


def worst_case_calls(graph: Graph, classifications_max: int = 0) -> int:
    """Return the most calls that one branch can make in one round, without transport retries and reissued requests.

    If the search can backtrack at all, the result includes all `classifications_max` calls of the classifier. This is
    an upper bound, because a short search may have fewer failures that are worth classifying. A step that is a child
    run counts with the budget of that run.
    """
    total = classifications_max if _can_backtrack(graph) else 0
    for step, budget in graph.budgets.items():
        if not budget.deterministic:
            visits = _parent_sets(graph, step) if step in graph.leaves else 1 + budget.backtrack_budget
            total += budget.calls * budget.rmax * visits
    return total


def _can_backtrack(graph: Graph) -> bool:
    """Return whether the search can backtrack to some step."""
    return any(
        budget.backtrack_budget and not budget.deterministic and step not in graph.leaves
        for step, budget in graph.budgets.items()
    )


def _parent_sets(graph: Graph, leaf: str) -> int:
    """Return the most distinct sets of parent artifacts that a leaf can be given."""
    above = set(graph.above[leaf])
    inner = [step for step in graph.steps if step not in graph.leaves and not graph.budgets[step].deterministic]
    ancestors = [step for step in inner if step in above]
    lowest = [step for step in ancestors if not any(step in graph.above[other] for other in ancestors)]
    companions = [step for step in inner if step not in above and set(graph.requires[step]) <= above]
    sets = 1
    for step in lowest:
        limited_by = (step, *(other for other in companions if step in graph.above[other]))
        sets += min(graph.budgets[other].backtrack_budget for other in limited_by)
    return sets
