"""What calls do to a state: when one is asked for, when it brings something, and when it fails. Part of `evolve`."""

from dataclasses import replace

from actors.guards import review
from actors.planning import question_state
from actors.planning.events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationFailed,
    GenerationRequested,
    RequestReissued,
)
from actors.planning.ids import call_of, place_of
from actors.planning.state import Node, Open, State, Tries
from actors.search.progress import begin
from actors.values.artifacts import Artifact
from runtime.core.copies import changed, without
from runtime.core.ledger import Ledger

_NO_NODE = Node(node="", step="", visit=0, attempt=0, round=0, revision=0)
"""What new nodes are changed from: to set all fields of so large a value one by one takes five times as long."""


def requested(state: State, event: GenerationRequested | ClassificationRequested) -> State:
    """Return the state after a call was asked for: reserved, and a node of its own if it is an attempt's first try."""
    config = state.config
    assert config is not None
    request_id = event.request_id
    ledger = state.ledger.reserve(request_id, event.reserve)
    generations = {**state.generations, request_id: Open(event, state.epoch)}
    state, calls = _told(state, event), state.calls + event.calls
    if event.call in state.faulted:  # A further try of the same call.
        tries = replace(state.faulted[event.call], request=event, phase="open")
        faulted = {**state.faulted, event.call: tries}
        return changed(state, ledger=ledger, generations=generations, faulted=faulted, calls=calls)
    if isinstance(event, ClassificationRequested):
        count = state.classifications + 1
        return changed(state, ledger=ledger, generations=generations, classifications=count, calls=calls)
    step, (visit, attempt) = event.step, place_of(event.node)
    progress, before = begin(config.graph, state.progress, step), state.newest(step)
    node = changed(
        _NO_NODE,
        node=event.node,
        step=step,
        visit=visit,
        attempt=attempt,
        round=state.round,
        revision=state.revision,
        branch=state.branch,
        parents=progress[step].parents or (),
        previous=None if before is None else before.node,
    )
    return changed(
        state,
        ledger=ledger,
        generations=generations,
        nodes={**state.nodes, event.node: node},
        attempts={**state.attempts, step: (*state.attempts.get(step, ()), event.node)},
        progress=progress,
        calls=calls,
    )


def _told(state: State, event: GenerationRequested | ClassificationRequested) -> State:
    """Remember that the user's words have gone out, with a prompt that a step's author reads."""
    assert state.config is not None
    heeded = isinstance(event, GenerationRequested) and not state.config.graph.budgets[event.step].deterministic
    if not state.said or not heeded:
        return state
    return changed(state, said=question_state.seen(state))


def reissued(state: State, event: RequestReissued) -> State:
    """Return the state after an earlier driver's call was asked for again: that one stays charged as unknown."""
    again = event.again
    state = _told(state, again)
    generations = without(state.generations, (event.replaces,))
    return changed(
        state,
        ledger=state.ledger.forfeit(event.replaces).reserve(again.request_id, again.reserve),
        generations={**generations, again.request_id: Open(again, state.epoch)},
        calls=state.calls + again.calls,
    )


def produced(state: State, event: ArtifactProduced) -> State:
    """Return the state after a reply became an artifact, to be judged next."""
    node, used = state.nodes[event.node], event.used
    artifact = Artifact(
        artifact_id=node.node,
        step=node.step,
        content=event.content,
        node=node.node,
        previous_attempt_id=node.previous,
        parents=node.parents,
        usage=event.usage,
    )
    made = changed(node, artifact=artifact, repeats=event.repeats, used=node.used + used)
    assert state.config is not None
    reviewed = node.step in state.config.reviewed  # Where no other guard judges, the person is asked at once.
    unseen = reviewed and state.config.workflow.effective_guard(node.step) == review.NAME
    return changed(
        state,
        ledger=state.ledger.settle(event.request_id, used),
        calls=state.calls - state.ledger.reserved[event.request_id].calls + used.calls,
        generations=without(state.generations, (event.request_id,)),
        faulted=without(state.faulted, (event.node,)),
        nodes={**state.nodes, node.node: made},
        unjudged=state.unjudged if unseen else (*state.unjudged, node.node),
        reviews={**state.reviews, node.node: None} if unseen else state.reviews,
    )


def classified(state: State, event: FailureClassified) -> State:
    """Return the state after a model said why a node was rejected, or nothing that is known."""
    node = state.nodes[event.node]
    return changed(
        state,
        ledger=state.ledger.settle(event.request_id, event.used),
        generations=without(state.generations, (event.request_id,)),
        faulted=without(state.faulted, (call_of(event.request_id),)),
        nodes={**state.nodes, node.node: changed(node, classification=event, used=node.used + event.used)},
    )


def failed(state: State, event: GenerationFailed) -> State:
    """Return the state after a try brought no reply: what comes next is decided by the tries before it."""
    request = state.generations[event.request_id].request
    refunded = event.used is None and event.fault.kind.refunded
    taken = request.calls if event.used is None else event.used.calls
    earlier = state.faulted.get(event.call)
    unsent = refunded and state.parked  # It was held back for the parking, which is no try of the provider's.
    tries = Tries(
        count=(0 if earlier is None else earlier.count) + (not unsent),
        waited=0.0 if earlier is None else earlier.waited,
        failed=event,
        request=request,
    )
    return changed(
        state,
        ledger=_charged(state.ledger, event, refunded=refunded),
        calls=state.calls - request.calls + (0 if refunded else taken),
        generations=without(state.generations, (event.request_id,)),
        faulted={**state.faulted, event.call: tries},
    )


def _charged(ledger: Ledger, event: GenerationFailed, *, refunded: bool) -> Ledger:
    """Return the books after a fault: what is known to have been used, nothing, or all that was reserved."""
    if event.used is not None:
        return ledger.settle(event.request_id, event.used)
    return ledger.refund(event.request_id) if refunded else ledger.forfeit(event.request_id)
