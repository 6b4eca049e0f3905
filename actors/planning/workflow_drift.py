"""Compares the files of a run's workflow with the configuration that the run stored, to notify its user."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from actors.config.loader import LoadedWorkflow
from actors.config.workflow import Workflow
from actors.config.workflow_check import check_workflow
from actors.handlers.registry import Registry
from actors.planning.config import RunConfig
from actors.planning.events import RunStarted
from actors.planning.prepare import OUTPUT_TOKENS, TIMEOUT, pin, with_output_tokens, with_timeout
from runtime.core.errors import UsageProblem

NAMED_MAX = 5
"""How many differences are named; further ones are only counted."""

_BY_CONTENT = frozenset({"action_pairs", "policy", "prompts"})
"""The keys of a workflow whose content is compared: the steps, and the files that it names."""


def describe_edits(start: RunStarted, pinned: RunConfig, registry: Registry, root: Path) -> str:
    """Return a line about the differences; empty if there are none, or if it is not known where the workflow came from.

    A workflow that can no longer be read gives a line too, not an error, because the run does not need it. The model
    and its price are not compared.
    """
    if not start.source:
        return ""
    try:
        loaded, policy = check_workflow(start.source, root, registry.guards, registry.generator_names)
        here = restore_workflow(loaded, start, pinned)
    except UsageProblem as problem:
        return f"the run goes on as it began, though its workflow cannot be read now: {problem}"
    names = list(_differences(pinned, pin(here, policy, pinned.model, pinned.price)))
    if len(names) > NAMED_MAX:
        names[NAMED_MAX:] = [f"{len(names) - NAMED_MAX} more"]
    text = f"the run goes on as it began, though its workflow {start.source} differs now: {', '.join(names)}"
    return text if names else ""


def restore_workflow(loaded: LoadedWorkflow, start: RunStarted, pinned: RunConfig) -> LoadedWorkflow:
    """Return a workflow with the values from the options of a run.

    Raises `UsageProblem` if the workflow does not accept a value.
    """
    option_values = {key: getattr(pinned.workflow, key) for key in start.given}
    tokens, seconds = option_values.pop(OUTPUT_TOKENS, None), option_values.pop(TIMEOUT, None)
    here = replace(loaded, workflow=loaded.workflow.changed(**option_values)) if option_values else loaded
    here = here if tokens is None else with_output_tokens(here, tokens)
    here = here if seconds is None else with_timeout(here, seconds)
    if TIMEOUT not in here.workflow.model_fields_set:  # It depends on the server, not on the file.
        here = replace(here, workflow=here.workflow.changed(**{TIMEOUT: pinned.workflow.model_timeout_seconds}))
    return here


def describe_changed_plugins(start: RunStarted, registry: Registry) -> str:
    """Return a line about plug-in files whose content has changed; empty if none has.

    The code of a plug-in is not stored: the run uses the current content of the file.
    """
    now = registry.sources
    changed = [plugin for plugin in start.plugins if plugin.plugin in now and now[plugin.plugin].hash != plugin.hash]
    if not changed:
        return ""
    files = dict.fromkeys(now[item.plugin].file for item in changed)
    names = ", ".join(item.plugin for item in changed)
    return f"{' and '.join(files)} has changed since the run began, and is used as it is now: {names}"


def _differences(then: RunConfig, now: RunConfig) -> Iterator[str]:
    """Yield the keys and steps of the workflow that differ, then the policy, the prompts and the child workflows."""
    for key in Workflow.model_fields:
        if key not in _BY_CONTENT and getattr(then.workflow, key) != getattr(now.workflow, key):
            yield key
    before, after = then.workflow.action_pairs, now.workflow.action_pairs
    if list(before) != list(after):  # The order of steps breaks ties.
        yield "action_pairs"
    yield from (f"action_pairs.{step}" for step, pair in after.items() if before.get(step, pair) != pair)
    # A run may have begun without the belief of its policy, because its search has none.
    policy = now.policy if then.policy.belief else now.policy.without_belief()
    if then.policy != policy:
        yield "policy"
    if then.prompts != now.prompts:
        yield "prompts"
    for name in then.children.keys() & now.children.keys():
        if any(_differences(then.children[name], now.children[name])):
            yield f"workflow:{name}"
