"""The configuration of a planning run that goes on under another workflow or policy. Pure but for reading their files.

The search goes on where it is, so another workflow must have the same steps, each with the same steps before it. What
was accepted stays accepted: its verdicts are recorded, and no guard is asked again.
"""

from actors.config.loader import load_policy
from actors.config.workflow_check import SEARCHES
from actors.planning.config import RunConfig
from actors.planning.prepare import PlanningInput, RunOptions, prepare_planning
from actors.planning.state import State
from actors.run.kind import ForkConfig, Setup
from actors.search.strategies.notation import read_search
from actors.values.given import PddlTexts
from runtime.core.errors import UsageProblem


def fork_config(state: State, workflow: str | None, policy: str | None, setup: Setup) -> ForkConfig:
    """Return the configuration with another workflow, another policy or both. Raises `UsageProblem`.

    Its place is the keyword, `workflow` or `policy`, or a place in a file.
    """
    config = state.config
    if workflow is not None:
        options = RunOptions(workflow, no_input=config.no_input)
        pddl: PddlTexts | None = None if state.given is None else state.given.pddl
        task = PlanningInput(state.specification, options, state.attachments, pddl)
        config = prepare_planning(task, setup).pinned
        _check_steps(state.config, config)
    if policy is not None:
        try:
            chosen = load_policy(policy, setup.root)
        except UsageProblem as wrong:
            place = "policy" if wrong.place == "POLICY" else wrong.place
            raise UsageProblem(wrong.cause, place=place, hint=wrong.hint) from None
        search = read_search(config.workflow.search).name
        if chosen.belief is not None and search not in SEARCHES:
            cause = f"policy {chosen.name!r} cannot be used with the search {search!r}"
            raise UsageProblem(cause, place="policy", hint=f"it needs {' or '.join(SEARCHES)}")
        config = config.model_copy(update={"policy": chosen})
    return ForkConfig(config.model_dump_json(), config.model_copy().stop_below)


def _check_steps(before: RunConfig, after: RunConfig) -> None:
    """Raise `UsageProblem` for the first step that is new, is missing, or requires other steps."""
    had, has = before.graph.requires, after.graph.requires
    for step in (*had, *has):
        if step in had and step in has and set(had[step]) == set(has[step]):
            continue
        what = "is missing" if step not in has else "is new" if step not in had else "requires other steps"
        hint = "keep the steps and what they require, or start a new run with `replan run`"
        raise UsageProblem(f"step {step!r} {what} in the other workflow", place="workflow", hint=hint)
