"""Checks a workflow with all that it names: guards, generators, prompts, plan files and policy, from one reading."""

from collections.abc import Collection
from pathlib import Path

from actors.config.policies import load_policy
from actors.config.resolve import LoadedWorkflow, find_named, read_workflow, with_prompts
from actors.config.workflow import validate_names
from actors.policy.table import Policy


def check_workflow(
    name_or_path: str, root: Path, guards: Collection[str], generators: Collection[str]
) -> tuple[LoadedWorkflow, Policy]:
    """Return a workflow and its policy, ready to be run.

    Raises:
        UsageProblem: the first thing that is wrong. Names go first: a misspelt guard says no role, so that its step's
            prompt could not be found either.
    """
    workflow, document, notices = read_workflow(name_or_path, root)
    validate_names(workflow, guards, generators, document)
    find_named(workflow.policy, root / "configs" / "policies", "policy", document)
    policy = load_policy(workflow.policy, root, Path(document.source).parent)
    return with_prompts(workflow, document, notices, root), policy
