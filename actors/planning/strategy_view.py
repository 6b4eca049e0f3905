"""The strategy's view of the branches, the events for its changes, and the branch that wins. Pure."""

from dataclasses import replace
from typing import assert_never

from actors.planning.events import BranchOpened, BranchPruned, PlanningOutcome, RunFinished, branch_of
from actors.planning.state import Branch, Node, State
from actors.search.graph import Graph
from actors.search.progress import GOAL, BranchProgress, Phase, can_retry, cleared_steps
from actors.search.tree import BranchView, Open, Prune, SearchStrategy, SearchTree


def tree_of(state: State, strategy: SearchStrategy) -> SearchTree:
    """Return the tree of the search."""
    limit = state.run.ledger.limits.calls
    views = tuple([branch.view or view_of(state, branch) for branch in state.branches])
    tree = SearchTree(views, limit, state.run.ledger.calls_left)
    share = strategy.slice_of(limit)
    if share is None or free_calls(tree, share) > 0:
        return tree
    branches = tuple(replace(view, spent=True) if view.live and view.calls >= share else view for view in tree.branches)
    return SearchTree(branches, tree.calls, tree.left)


def free_calls(tree: SearchTree, share: int) -> int:
    """Return how many calls are free, that is, neither used nor reserved in a live branch's share."""
    committed = sum(
        [share if view.live and not view.done and view.calls < share else view.calls for view in tree.branches]
    )
    return tree.calls - committed


def change_of(state: State, tree: SearchTree | None) -> BranchOpened | BranchPruned | None:
    """Return the event by which the strategy opens or prunes a branch; None if the strategy wants no change."""
    if tree is None:
        return None
    change = state.config.strategy.change(tree)
    match change:
        case None:
            return None
        case Prune():
            return BranchPruned(branch=change.branch, cause=change.cause, why=change.why)
        case Open():
            number = len(tree.branches)
            kept = () if change.parent is None else _kept_steps(state, state.branches[change.parent])
            return BranchOpened(branch=number, parent=change.parent, kept=kept, anew=change.anew, why=change.why)
        case _:
            assert_never(change)


def _kept_steps(state: State, parent: Branch) -> tuple[str, ...]:
    revision = parent.to_revise
    unset = () if revision is None else cleared_steps(state.config.graph, revision.targets)
    return tuple(step for step, slot in parent.progress.items() if slot.phase is Phase.ACCEPTED and step not in unset)


def choose_branch(strategy: SearchStrategy, tree: SearchTree) -> BranchView | None:
    """Return the branch with the winning plan; None while another branch can still do better."""
    best = _best_plan(tree)
    if best is None or not strategy.picks_best or best.score >= 1.0:
        return best
    return None if any(view.busy or not (view.stuck or view.spent) for view in tree.front) else best


def end_with_win(best: BranchView) -> RunFinished:
    """Return the successful end of the run, with the plan of a branch."""
    return RunFinished(outcome=PlanningOutcome.SUCCESS, why="every guard passed", branch=best.branch)


def end_with_best(tree: SearchTree, event: RunFinished) -> RunFinished:
    """Return the end of the run with the plan of the best branch.

    Without a plan, return `event` with the number of that branch.
    """
    best = _best_plan(tree)
    if best is not None:
        return end_with_win(best)
    return event.model_copy(update={"branch": max(tree.live or tree.branches, key=lambda view: view.rank).branch})


def _best_plan(tree: SearchTree) -> BranchView | None:
    done = [view for view in tree.live if view.done]
    return max(done, key=lambda view: (view.score, -view.branch)) if done else None


def view_of(state: State, branch: Branch) -> BranchView:
    """Return the facts about a branch that the strategy sees."""
    if branch.pruned:
        return BranchView(branch.number, branch.parent, live=False, calls=branch.calls)
    graph, revision, nodes, progress = state.config.graph, branch.to_revise, state.nodes, branch.progress
    # Only a replan after a rejection counts. After an answer or a new requirement, all branches go back.
    cause = None if revision is None or revision.node is None else nodes[revision.node]
    phases = progress.phases
    scores, doubts = [], []
    rest, busy = 0, False
    for step, slot in progress.items():  # One pass, because this is computed after every event.
        phase = slot.phase
        if phase is Phase.ACCEPTED:
            scores.append(_score(nodes[slot.accepted or ""]))
            continue
        budget = graph.budgets[step]
        rest += 0 if budget.deterministic else budget.happy
        if phase in _REJECTED:
            newest = state.newest(branch, step)
            assert newest is not None
            scores.append(_score(newest))
            if phase is Phase.FAILED or phase is Phase.AGAIN:
                doubts.append(_score(newest))
        busy = busy or (phase in _WORKING and (cause is None or step != cause.step))
    layer, has_begun = _layer(graph, progress)
    waiting = Phase.ASKED in phases or (
        bool(state.reviews) and any(branch_of(node) == branch.number for node in state.reviews)
    )
    return BranchView(
        branch=branch.number,
        parent=branch.parent,
        done=phases == GOAL,
        stuck=Phase.STUCK in phases and not waiting,
        back=cause is not None,
        waiting=waiting,
        busy=busy,
        begun=has_begun,
        own=layer == 0 or any(_has_own_artifact(state, branch, step) for step in graph.layers[layer - 1]),
        retryable=cause is not None and can_retry(graph, progress, cause.step),
        calls=branch.calls,
        path_calls=branch.inherited + branch.calls,
        layer=layer,
        rest=rest,
        score=sum(scores) / len(scores) if scores else 0.0,
        promise=min(doubts, default=1.0),
        texts=()
        if has_begun
        else tuple(_text(state, branch, step) for above in graph.layers[:layer] for step in above),
    )


_REJECTED = (Phase.FAILED, Phase.AGAIN, Phase.STUCK, Phase.ASKED)
_WORKING = (Phase.BUSY, Phase.FAILED)


def _score(node: Node) -> float:
    return 0.0 if node.verdict is None else node.verdict.score


def _layer(graph: Graph, progress: BranchProgress) -> tuple[int, bool]:
    for number, layer in enumerate(graph.layers):
        for step in layer:
            if progress[step].phase is not Phase.ACCEPTED:
                return number, any(progress[step].phase is not Phase.IDLE for step in layer)
    return len(graph.layers), False


def _has_own_artifact(state: State, branch: Branch, step: str) -> bool:
    accepted = branch.progress[step].accepted
    return accepted is not None and state.nodes[accepted].branch == branch.number


def _text(state: State, branch: Branch, step: str) -> str:
    artifact = state.nodes[branch.progress[step].accepted or ""].artifact
    return "" if artifact is None else artifact.content
