"""Between the machine and a strategy: where the branches stand, what is opened or pruned, and which one wins. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from actors.machine.events import BranchOpened, BranchPruned, Outcome, RunFinished
from actors.machine.ids import branch_of
from actors.machine.state import Node, State
from actors.search.progress import Phase, can_retry, cleared, done, first
from actors.search.strategies.tree import Open, Prune, Standing, Strategy, Tree

_BEGUN = (Phase.BUSY, Phase.FAILED, Phase.AGAIN, Phase.ASKED, Phase.STUCK, Phase.ACCEPTED)


def tree_of(state: State, strategy: Strategy, branches: Sequence[State]) -> Tree:
    """Return the tree; `branches` is the state once for each branch, with that one in focus."""
    limit = state.ledger.limits.calls
    tree = Tree(tuple(map(_standing, branches)), limit, limit - state.ledger.committed.calls)
    share = strategy.slice_of(limit)
    if share is None or free_calls(tree, share) > 0:
        return tree
    spent = tuple(replace(one, spent=True) if one.live and one.calls >= share else one for one in tree.branches)
    return Tree(spent, tree.calls, tree.left)


def free_calls(tree: Tree, share: int) -> int:
    """Return the calls that are in nobody's slice: what a pruned branch has not reserved of its own is among them."""
    taken = sum(max(share, one.calls) if one.live and not one.done else one.calls for one in tree.branches)
    return tree.calls - taken


def change_of(strategy: Strategy, tree: Tree, branches: Sequence[State]) -> BranchOpened | BranchPruned | None:
    """Return the event of what the strategy changes now."""
    change = strategy.change(tree)
    match change:
        case None:
            return None
        case Prune():
            return BranchPruned(branch=change.branch, cause=change.cause, why=change.why)
        case Open():
            kept = () if change.parent is None else _kept(branches[change.parent])
            number = len(tree.branches)
            return BranchOpened(branch=number, parent=change.parent, kept=kept, anew=change.anew, why=change.why)
        case _:
            assert_never(change)


def _kept(view: State) -> tuple[str, ...]:
    """Return the steps whose artifacts a branch that opens here stands on: the accepted ones that stay so."""
    assert view.config is not None
    wish = view.to_revise
    gone = () if wish is None else cleared(view.config.graph, wish.targets)
    return tuple(step for step, slot in view.progress.items() if slot.phase is Phase.ACCEPTED and step not in gone)


def chosen(strategy: Strategy, tree: Tree) -> Standing | None:
    """Return the branch whose plan wins, once no other can do better."""
    best = _best_plan(tree)
    if best is None or not strategy.picks_best or best.score >= 1.0:
        return best
    return None if any(not one.stuck and not one.spent for one in tree.front) else best


def won(best: Standing) -> RunFinished:
    """Return the successful end."""
    return RunFinished(outcome=Outcome.SUCCESS, why="every guard passed", branch=best.branch)


def ended(tree: Tree, event: RunFinished) -> RunFinished:
    """Return an end with the branch that got on best. One that comes while a plan is held ends with the plan."""
    best = _best_plan(tree)
    if best is not None:
        return won(best)
    return event.model_copy(update={"branch": max(tree.live or tree.branches, key=lambda one: one.rank).branch})


def _best_plan(tree: Tree) -> Standing | None:
    return max((one for one in tree.live if one.done), key=lambda one: (one.score, -one.branch), default=None)


def _standing(view: State) -> Standing:
    """Return where the branch in focus stands."""
    if view.pruned:
        return Standing(view.branch, view.parent, live=False, calls=view.calls)
    assert view.config is not None
    graph, progress = view.config.graph, view.progress
    layer = _layer(view)
    verdicts = [node.verdict for step in graph.steps if (node := _current(view, step)) is not None and node.verdict]
    rejected = [step for step in graph.steps if progress[step].phase in (Phase.FAILED, Phase.AGAIN)]
    wish = view.to_revise  # Only one that a rejection caused is a way back; a person's word sends all back alike.
    cause = None if wish is None or wish.node is None else view.nodes[wish.node]
    doubts = [node for node in (*(view.newest(step) for step in rejected), cause) if node is not None and node.verdict]
    asked = first(progress, Phase.ASKED) is not None or any(branch_of(node) == view.branch for node in view.reviews)
    return Standing(
        branch=view.branch,
        parent=view.parent,
        done=done(progress),
        stuck=first(progress, Phase.STUCK) is not None and not asked,
        back=cause is not None,
        waiting=asked,
        busy=any(_working(view, step) for step in graph.steps if cause is None or step != cause.step),
        begun=layer < len(graph.layers) and any(progress[step].phase in _BEGUN for step in graph.layers[layer]),
        own=layer == 0 or any(_own(view, step) for step in graph.layers[layer - 1]),
        mendable=cause is not None and can_retry(graph, progress, cause.step),
        calls=view.calls,
        path_calls=view.inherited + view.calls,
        layer=layer,
        rest=sum(1 for step in graph.steps if progress[step].phase is not Phase.ACCEPTED and not _free(view, step)),
        score=sum(verdict.score for verdict in verdicts) / len(verdicts) if verdicts else 0.0,
        promise=min((node.verdict.score for node in doubts if node.verdict is not None), default=1.0),
        made=tuple(_text(view, step) for done_layer in graph.layers[:layer] for step in done_layer),
    )


def _layer(view: State) -> int:
    """Return how many layers are accepted as a whole, from the top."""
    assert view.config is not None
    for number, layer in enumerate(view.config.graph.layers):
        for step in layer:
            if view.progress[step].phase is not Phase.ACCEPTED:
                return number
    return len(view.config.graph.layers)


def _current(view: State, step: str) -> Node | None:
    """Return the attempt whose verdict counts now: the accepted one, or the rejected one that is to be mended."""
    slot = view.progress[step]
    if slot.accepted is not None:
        return view.nodes[slot.accepted]
    return view.newest(step) if slot.phase in (Phase.FAILED, Phase.AGAIN, Phase.STUCK, Phase.ASKED) else None


def _working(view: State, step: str) -> bool:
    """Tell whether a step's attempt is under way, or rejected and not decided about."""
    return view.progress[step].phase in (Phase.BUSY, Phase.FAILED)


def _own(view: State, step: str) -> bool:
    accepted = view.progress[step].accepted
    return accepted is not None and view.nodes[accepted].branch == view.branch


def _free(view: State, step: str) -> bool:
    assert view.config is not None
    return view.config.graph.budgets[step].deterministic


def _text(view: State, step: str) -> str:
    node = _current(view, step)
    return "" if node is None or node.artifact is None else node.artifact.content
