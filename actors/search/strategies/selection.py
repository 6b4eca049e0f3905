"""The search with one branch, and the strategy that a search stands for, with the bounds that follow. Pure."""

from dataclasses import dataclass

from actors.search.cost import happy_calls, linear_calls, worst_case_calls
from actors.search.graph import Graph
from actors.search.moves import Search
from actors.search.strategies.beam import Beam
from actors.search.strategies.best_first import BestFirst
from actors.search.strategies.iterative_deepening import IterativeDeepening
from actors.search.strategies.notation import NUMBER_MAX, SearchChoice
from actors.search.strategies.sampling import BestOf, Restart
from actors.search.strategies.tree import BranchView, Change, SearchStrategy, SearchTree


@dataclass(frozen=True, slots=True)
class OneBranch:
    """A search that never opens a second branch, so that there is nothing to compare."""

    moves: Search
    """As in `SearchStrategy`."""
    calls_worst: int
    """As in `SearchStrategy`."""
    branches_max: int = 1
    """As in `SearchStrategy`."""
    compares: bool = False
    """As in `SearchStrategy`."""
    picks_best: bool = False
    """As in `SearchStrategy`."""

    def change(self, tree: SearchTree) -> Change | None:  # noqa: ARG002 - the protocol's signature
        """Open and prune nothing."""
        return None

    def may_ask(self, tree: SearchTree, branch: BranchView, layer: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True: the branch may make attempts at any time."""
        return True

    def slice_of(self, calls: int) -> int | None:  # noqa: ARG002 - the protocol's signature
        """No slices: the branch has all calls."""
        return None


def strategy_of(choice: SearchChoice, graph: Graph) -> SearchStrategy:
    """Return the strategy of a search."""
    first = choice.numbers[0] if choice.numbers else None
    linear, worst, layers = linear_calls(graph), worst_case_calls(graph), graph.layers
    match choice.name:
        case "beam":
            width, branching = choice.numbers
            assert width is not None
            assert branching is not None
            most = 1 if width == branching == 1 else width * branching * len(layers)
            return Beam(width, branching, Search.DEPTH_FIRST, most, most * worst)
        case "breadth_first":
            assert first is not None
            layer_calls = [sum(_visit_calls(graph, step) for step in layer) for layer in layers]
            calls = sum(first ** (number + 1) * visit for number, visit in enumerate(layer_calls))
            return Beam(None, first, Search.LINEAR, min(NUMBER_MAX, first ** len(layers)), calls)
        case "best_first":
            assert first is not None
            back = sum(budget.backtrack_budget for budget in graph.budgets.values() if not budget.deterministic)
            return BestFirst(first, 1 + back, (1 + back) * worst)
        case "iterative_deepening":
            return IterativeDeepening(first or happy_calls(graph), worst)
        case "restart":
            assert first is not None
            return Restart(first, linear)
        case "best_of":
            assert first is not None
            return BestOf(first, linear)
        case name:
            moves = Search(name)
            return OneBranch(moves, linear if moves is Search.LINEAR else worst)


def _visit_calls(graph: Graph, step: str) -> int:
    """Return the most calls of one visit of a step."""
    budget = graph.budgets[step]
    return 0 if budget.deterministic else budget.rmax * budget.calls
