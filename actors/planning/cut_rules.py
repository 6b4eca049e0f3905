"""What follows from a reply whose end is missing, before any guard or person sees it. Pure."""

from actors.planning.events import VerdictReached
from actors.planning.state import State
from actors.run.cut_replies import cut_verdict


def reject_cut(state: State, name: str) -> VerdictReached | None:
    """Reject the artifact of a node if its end is missing."""
    node = state.nodes[name]
    if node.artifact is None or not node.artifact.ended_early:
        return None
    step = state.config.steps[node.step]
    verdict = cut_verdict(node.artifact, step.guard, step.output_tokens_max)
    return VerdictReached(node=name, at=state.run.now, elapsed=0.0, verdict=verdict)
