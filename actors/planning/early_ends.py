"""Ends of a run while it has calls left, and decisions about replies that were cut off. Pure."""

from dataclasses import replace

from actors.config.workflow import MODEL_GENERATORS
from actors.planning.events import VerdictReached
from actors.planning.given_plans import PLAN
from actors.planning.meaning import is_repeat, meaning
from actors.planning.state import Branch, Node, State
from actors.policy.belief_choice import count_calls
from actors.policy.decision import Decision, summary
from actors.policy.table import BacktrackLevel
from actors.run import ending
from actors.run.calls import reject_cut_artifact, text_under_limit
from actors.run.ending import NOT_WORTH_IT, STUCK, STUCK_FOR_GOOD, Outcome
from actors.run.parking import RunParked
from actors.search.graph import Graph
from actors.search.progress import Phase
from actors.values.artifacts import FILTERED, LENGTH
from actors.values.findings import Code
from runtime.core.copies import changed

REPEATS_MAX = 3
"""The run ends if this many rejected artifacts of one step in one round have the same meaning."""
REPEATS_AFTER_AFRESH = 2
"""In a round with a fresh attempt, the run ends if this many rejected artifacts of a step repeat earlier artifacts word
for word. The prompt of a fresh attempt leaves out the earlier rejections.
"""


def why_worthless(state: State, decision: Decision) -> str:
    """Return the reason for ending a run in which no move is worth its calls.

    If the run is reopened, it decides about the failure again.
    """
    assert decision.weighing is not None
    best = decision.weighing.options[0]
    chance = f"the best remaining move ({best.named}) has a chance of {best.chance:.1%} in {count_calls(best.calls)}"
    return f"{NOT_WORTH_IT}: {chance}, less than {state.run.ledger.limits.stop_below:g} per call"


def why_stuck(state: State, branch: Branch, node: Node, decision: Decision) -> str:
    """Return why a step is stuck for the rest of this round; empty if the step is not stuck.

    A step that asks a question is not stuck, because the answer begins a new round. With `--keep-trying`, no step is
    stuck.
    """
    if not state.run.ledger.limits.stop_below or decision.level in (BacktrackLevel.CLARIFY, BacktrackLevel.GIVE_UP):
        return ""
    if _is_written_alike(state, branch, node):
        return f"{STUCK}: the model wrote the same artifact for {node.step} {REPEATS_MAX} times"
    if _repeats_after_afresh(state, branch, node):
        return f"{STUCK}: the model repeated its artifact for {node.step}, even after a fresh attempt"
    belief, attempts = state.config.policy.belief, branch.progress[node.step].attempt
    rounds = None if belief is None else belief.rounds
    if rounds is not None and attempts >= rounds and decision.level is BacktrackLevel.LOCAL_RETRY:
        rejected = f"{node.step} was rejected in {attempts} attempts of one visit"
        return f"{STUCK}: {rejected}, and the search has no other step to redo"
    return ""


def why_used_up(state: State) -> str:
    """Return the reason for ending a run whose deterministic model can write nothing new."""
    return f"{STUCK_FOR_GOOD}: the model {state.config.model} always gives the same reply to the same prompt"


def _rejected_in_round(state: State, branch: Branch, node: Node) -> list[Node]:
    return [
        earlier
        for earlier in state.attempts_at(branch, node.step)
        if earlier.artifact is not None
        and earlier.verdict is not None
        and not earlier.verdict.passed
        and earlier.round == node.round
        and earlier.node not in state.of_former_model
    ]


def _is_written_alike(state: State, branch: Branch, node: Node) -> bool:
    rejected = _rejected_in_round(state, branch, node)
    if node.artifact is None or len(rejected) < REPEATS_MAX:
        return False
    is_plan = state.config.roles.get(node.step) == PLAN
    own = meaning(node.artifact, plan=is_plan)
    alike = [one.artifact is not None and meaning(one.artifact, plan=is_plan) == own for one in rejected]
    return sum(alike) >= REPEATS_MAX


def _repeats_after_afresh(state: State, branch: Branch, node: Node) -> bool:
    """Return whether the model has repeated a rejected artifact at least twice in a round, even after a fresh attempt.

    A fresh attempt has no earlier rejections in its prompt.

    In the records of InterCode, GPT-4 solved 7 % of the tasks after two equal actions, and none after three.
    """
    if not is_repeat(state, branch, node):
        return False
    rejected = _rejected_in_round(state, branch, node)
    begun_afresh = any(one.afresh for one in rejected)
    return begun_afresh and sum(is_repeat(state, branch, one) for one in rejected) >= REPEATS_AFTER_AFRESH


def end_early(state: State, node: Node, decision: Decision, cause: str) -> ending.RunFinished | None:
    """End the run with unspent calls; None if a question is open, because the answer may change the decision."""
    if state.run.open_questions:
        return None
    assert node.verdict is not None
    why = f"{cause}; {summary(decision, node.verdict)}"
    return ending.RunFinished(outcome=Outcome.BUDGET_EXHAUSTED, why=why)


def find_repeating_steps(state: State, branch: Branch) -> frozenset[str]:
    """Return the steps for which a deterministic model has repeated an artifact from the same parents.

    The model's reply changes only if the number of rejections changes. So one repeat shows that further rejections
    would change nothing.
    """
    config = state.config
    if not config.deterministic:
        return frozenset()
    return frozenset(step for step in config.graph.steps if _repeats_itself(state, branch, step))


def _repeats_itself(state: State, branch: Branch, step: str) -> bool:
    config = state.config
    pair = config.workflow.action_pairs[step]
    if config.graph.budgets[step].deterministic or not (pair.child or pair.generator in MODEL_GENERATORS):
        return False
    now = [_content(state, branch.progress[upper].accepted) for upper in config.graph.requires[step]]
    return any(
        node.repeats is not None
        and node.round == state.round
        and state.nodes[node.repeats].round == node.round
        and node.node not in state.of_former_model
        and [_content(state, parent) for parent in node.parents] == now
        for node in state.attempts_at(branch, step)
    )


def _content(state: State, name: str | None) -> str | None:
    artifact = None if name is None else state.nodes[name].artifact
    return None if artifact is None else artifact.content


def disable_steps(graph: Graph, steps: frozenset[str]) -> Graph:
    """Return the graph with the given steps marked as deterministic, so that the search does not retry them."""
    if not steps:
        return graph
    budgets = {
        step: replace(budget, deterministic=True) if step in steps else budget for step, budget in graph.budgets.items()
    }
    return Graph(requires=graph.requires, budgets=budgets)


CUTS_MAX = 2
"""The run parks if this many replies of the model were cut off in one visit to a step."""


def reject_cut(state: State, name: str) -> VerdictReached | None:
    """Reject the artifact of a node if the end of its text is missing; return None if the text is complete."""
    node = state.nodes[name]
    if node.artifact is None or not node.artifact.ended_early:
        return None
    step = state.config.steps[node.step]
    verdict = reject_cut_artifact(node.artifact, step.guard, step.output_tokens_max)
    return VerdictReached(node=name, at=state.run.now, elapsed=0.0, verdict=verdict)


def park_for_cut(state: State, branch: Branch) -> RunParked | None:
    """Park the run after the second cut-off reply of a visit, if no other work or question is open."""
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
    """Return whether the decision about a rejected node has to wait until a person resumes the run."""
    if not is_cut(node) or node.node in state.forgiven:
        return False
    cut_replies = [item for item in _cut_nodes_in_visit(state, branch, node) if item not in state.forgiven]
    return len(cut_replies) >= CUTS_MAX


def retry_in_resumed_visit(state: State, branch: Branch, node: Node, decision: Decision) -> Decision:
    """Return the decision about a node, or a retry if the node's reply was cut off in a resumed visit.

    The retry is allowed even if no attempts are left, because a cut reply is no reason to redo other steps.
    """
    if not is_cut(node) or state.forgiven.isdisjoint(_cut_nodes_in_visit(state, branch, node)):
        return decision
    again = {"level": BacktrackLevel.LOCAL_RETRY, "targets": (node.step,), "wanted": None}
    return decision.model_copy(update=again)


def is_cut(node: Node) -> bool:
    """Return whether a node was rejected because the end of its reply is missing."""
    if node.verdict is None or node.artifact is None or node.artifact.finish_reason not in (LENGTH, FILTERED):
        return False
    return any(finding.code in (Code.CUT, Code.FILTERED) for finding in node.verdict.errors)


def _cut_nodes_in_visit(state: State, branch: Branch, node: Node) -> list[str]:
    attempts = state.attempts_at(branch, node.step)
    return [attempt.node for attempt in attempts if attempt.visit == node.visit and is_cut(attempt)]


def forgive_cut_replies(state: State) -> State:
    """Return the state after a person resumed a run that was parked for cut replies.

    The cut replies no longer count.
    """
    cut_nodes = {name for name, node in state.nodes.items() if is_cut(node)}
    return changed(state, forgiven=state.forgiven | cut_nodes)


def apply_new_limit(state: State) -> State:
    """Return the state after the token limit of replies changed. The texts of rejections then name the new limit."""
    nodes = dict(state.nodes)
    for name, node in state.nodes.items():
        text = text_under_limit(node.verdict, state.config.steps[node.step].output_tokens_max) if is_cut(node) else ""
        if text and node.rejection_text:
            nodes[name] = changed(node, rejection_text=f"- {text}")
    return changed(state, nodes=nodes)
