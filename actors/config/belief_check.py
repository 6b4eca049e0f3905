"""Checks that a workflow fits a belief policy: its search, its size, and no setting that the belief replaces."""

from collections.abc import Iterator

from actors.config.loader import LoadedWorkflow
from actors.files.document import KeyPath
from actors.policy.belief import STEPS_MAX
from actors.policy.table import Policy
from actors.search.strategies.notation import read_search
from runtime.core.errors import UsageProblem

SEARCHES = ("depth_first", "iterative_deepening")
"""The searches in which the policy chooses the moves of the only branch; a belief knows nothing of other branches."""


def check_belief(loaded: LoadedWorkflow, policy: Policy) -> None:
    """Raise `UsageProblem`, with file and line, for the first thing in a workflow that a belief policy refuses."""
    if policy.belief is None:
        if loaded.workflow.stop_below is not None:
            cause = f"policy {policy.name!r} weighs no moves, so it cannot stop below a value"
            hint = "remove the key, or use a policy of beliefs"
            raise UsageProblem(cause, place=loaded.document.place(("stop_below",)), hint=hint)
        return
    for cause, key, hint in _problems(loaded, policy.name):
        raise UsageProblem(cause, place=loaded.document.place(key), hint=hint)


def _problems(loaded: LoadedWorkflow, policy: str) -> Iterator[tuple[str, KeyPath, str]]:
    workflow = loaded.workflow
    search = read_search(workflow.search).name
    if search not in SEARCHES:
        cause = f"policy {policy!r} cannot be used with the search {search!r}"
        yield cause, ("search",), f"use {' or '.join(SEARCHES)}"
    own = [("action_pairs", step) for step, pair in workflow.action_pairs.items() if pair.r_patience is not None]
    for place in [*own, *([()] if "r_patience" in workflow.model_fields_set else [])]:
        cause = f"policy {policy!r} has no use for r_patience, since its belief counts repeated failures"
        yield cause, (*place, "r_patience"), "remove the key, or use another policy"
    asked = sum(1 for step in workflow.action_pairs if not workflow.is_deterministic(step))
    if asked > STEPS_MAX:
        cause = f"policy {policy!r} is for at most {STEPS_MAX} steps with model calls; there are {asked}"
        yield cause, ("action_pairs",), "run some of the steps as a workflow of their own"
