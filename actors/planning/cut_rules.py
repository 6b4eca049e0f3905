"""What follows from replies whose end is missing: a rejection without a guard, and after two of them a person. Pure.

The first such reply of a visit is followed by an attempt that is told to be shorter, or more neutral, as the policy has
it. After the second one the run parks: a larger limit or another model may help, and the policy's other moves do not.
Once a person has resumed it, the step is attempted again in the same visit, whatever attempts it has had.
"""

from actors.planning.events import VerdictReached
from actors.planning.state import Branch, Node, State
from actors.policy.decision import Decision
from actors.policy.table import BacktrackLevel
from actors.run.cut_replies import cut_verdict, text_under_limit
from actors.run.parking import RunParked
from actors.search.progress import Phase
from actors.values.artifacts import FILTERED, LENGTH
from actors.values.findings import Code
from runtime.core.copies import changed

CUTS_MAX = 2
"""Replies of one visit whose end may be missing before the run parks."""


def reject_cut(state: State, name: str) -> VerdictReached | None:
    """Reject the artifact of a node if its end is missing."""
    node = state.nodes[name]
    if node.artifact is None or not node.artifact.ended_early:
        return None
    step = state.config.steps[node.step]
    verdict = cut_verdict(node.artifact, step.guard, step.output_tokens_max)
    return VerdictReached(node=name, at=state.run.now, elapsed=0.0, verdict=verdict)


def park_for_cut(state: State, branch: Branch) -> RunParked | None:
    """Park after the second reply of a visit whose end is missing, where nothing else is under way or can be asked."""
    if branch.pruned or Phase.FAILED not in branch.progress.phases:
        return None
    run = state.run
    if run.saving or state.working or run.calls.tries or state.resting or run.open_questions:
        return None
    for step, slot in branch.progress.items():
        node = state.newest(branch, step) if slot.phase is Phase.FAILED else None
        if node is not None and is_held(state, branch, node):
            assert node.verdict is not None
            finding = node.verdict.errors[0]
            why = f"{step}: {finding.code} again: {finding.message.partition(', so')[0]}"
            return RunParked(at=state.run.wall, why=why, cause="reply")
    return None


def is_held(state: State, branch: Branch, node: Node) -> bool:
    """Tell whether nothing is decided about a rejected node before a person has resumed the run."""
    if not is_cut(node) or node.node in state.forgiven:
        return False
    cut = [each for each in _cut_in_visit(state, branch, node) if each not in state.forgiven]
    return len(cut) >= CUTS_MAX


def in_same_visit(state: State, branch: Branch, node: Node, decision: Decision) -> Decision:
    """Return the decision about a node; in a visit that a person has resumed, a cut reply is followed by a retry.

    So it is where no attempt is left: other steps are not to blame.
    """
    if not is_cut(node) or state.forgiven.isdisjoint(_cut_in_visit(state, branch, node)):
        return decision
    again = {"level": BacktrackLevel.LOCAL_RETRY, "targets": (node.step,), "wanted": None}
    return decision.model_copy(update=again)


def is_cut(node: Node) -> bool:
    """Tell whether a node was rejected because the end of its reply is missing; a guard's own codes do not matter."""
    if node.verdict is None or node.artifact is None or node.artifact.finish_reason not in (LENGTH, FILTERED):
        return False
    return any(finding.code in (Code.CUT, Code.FILTERED) for finding in node.verdict.errors)


def _cut_in_visit(state: State, branch: Branch, node: Node) -> list[str]:
    attempts = state.attempts_at(branch, node.step)
    return [each.node for each in attempts if each.visit == node.visit and is_cut(each)]


def forgive(state: State) -> State:
    """Return the state after a person has resumed a run that was parked for such replies: they count no more."""
    cut = {name for name, node in state.nodes.items() if is_cut(node)}
    return changed(state, forgiven=state.forgiven | cut)


def with_new_limit(state: State) -> State:
    """Return the state after the limit of replies has changed: prompts do not ask for brevity that it does not need."""
    nodes = dict(state.nodes)
    for name, node in state.nodes.items():
        text = text_under_limit(node.verdict, state.config.steps[node.step].output_tokens_max) if is_cut(node) else ""
        if text and node.rejection_text:
            nodes[name] = changed(node, rejection_text=f"- {text}")
    return changed(state, nodes=nodes)
