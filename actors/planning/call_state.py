"""The part of `evolve` that changes nodes and branches by events of calls, beside `actors.run.calls`. Pure."""

from actors.guards import review
from actors.planning.call_events import (
    ArtifactProduced,
    FailureClassified,
    GenerationRequested,
    PlanningCall,
    RequestReissued,
)
from actors.planning.given_plans import content_made
from actors.planning.ids import place_of
from actors.planning.state import Branch, Node, State, with_branch
from actors.run.calls import CallFailed, charged
from actors.run.state import RunState
from actors.search.progress import begin
from actors.values.artifacts import Artifact
from runtime.core.copies import changed

Common = RunState[PlanningCall]
"""The common part of a run; functions take it as it is after the event, beside the state before the event."""
_NO_NODE = Node(node="", step="", visit=0, attempt=0, round=0, revision=0)
"""The template of new nodes: to set all fields of so large a value one by one takes five times as long."""


def requested(state: State, run: Common, branch: Branch, event: PlanningCall) -> State:
    """Return the state after a call was asked for: with a node of its own if it is an attempt's first try."""
    taken, tries = branch.calls + event.calls, run.calls.tries
    if tries and event.call in tries:  # A further try of the same call.
        return changed(state, run=run, branches=with_branch(state.branches, changed(branch, calls=taken)))
    if not isinstance(event, GenerationRequested):
        branches = with_branch(state.branches, changed(branch, calls=taken))
        return changed(state, run=run, branches=branches, classifications=state.classifications + 1)
    step, (visit, attempt) = event.step, place_of(event.node)
    progress, earlier = begin(state.config.graph, branch.progress, step), branch.attempts.get(step, ())
    node = changed(
        _NO_NODE,
        node=event.node,
        step=step,
        visit=visit,
        attempt=attempt,
        round=state.round,
        revision=state.revision,
        branch=branch.number,
        parents=progress[step].parents or (),
        previous=earlier[-1] if earlier else None,
    )
    attempts = {**branch.attempts, step: (*earlier, event.node)}
    branch = changed(branch, attempts=attempts, progress=progress, calls=taken)
    nodes = {**state.nodes, event.node: node}
    return changed(state, run=run, branches=with_branch(state.branches, branch), nodes=nodes)


def reissued(state: State, run: Common, branch: Branch, event: RequestReissued) -> State:
    """Return the state after an earlier driver's call was asked for again: that one stays charged as unknown."""
    branch = changed(branch, calls=branch.calls + event.again.calls)
    return changed(state, run=run, branches=with_branch(state.branches, branch))


def produced(state: State, run: Common, branch: Branch, event: ArtifactProduced) -> State:
    """Return the state after a reply became an artifact, to be judged next."""
    node, used = state.nodes[event.node], event.used
    made = content_made(state, node.step, event.content, event.finish_reason)
    artifact = Artifact(
        artifact_id=node.node,
        step=node.step,
        content=made.content,
        node=node.node,
        previous_attempt_id=node.previous,
        parents=node.parents,
        usage=event.usage,
        finish_reason=event.finish_reason,
    )
    attempt = changed(
        node,
        artifact=artifact,
        repeats=event.repeats,
        replaced=made.replaced,
        notes=made.notes,
        used=node.used + used,
    )
    config, content = state.config, (node.step, made.content)
    # Where no other guard judges, the person is asked at once.
    unseen = node.step in config.reviewed and config.workflow.effective_guard(node.step) == review.NAME
    difference = used.calls - state.run.ledger.reserved[event.request_id].calls
    return changed(
        state,
        run=run,
        branches=with_branch(state.branches, changed(branch, calls=branch.calls + difference))
        if difference
        else state.branches,
        nodes={**state.nodes, node.node: attempt},
        made={**state.made, content: (*state.made.get(content, ()), node.node)},
        unjudged=state.unjudged if unseen else (*state.unjudged, node.node),
        reviews={**state.reviews, node.node: None} if unseen else state.reviews,
    )


def classified(state: State, run: Common, event: FailureClassified) -> State:
    """Return the state after a model said why a node was rejected, or nothing that is known."""
    node = state.nodes[event.node]
    node = changed(node, classification=event, used=node.used + event.used)
    return changed(state, run=run, nodes={**state.nodes, node.node: node})


def failed(state: State, run: Common, branch: Branch, event: CallFailed) -> State:
    """Return the state after a try brought no reply: what comes next is decided by the tries before it."""
    reserved = state.run.calls.open[event.request_id].request.calls
    branch = changed(branch, calls=branch.calls - reserved + charged(state.run.calls, event))
    return changed(state, run=run, branches=with_branch(state.branches, branch))
