"""Prepares a planning run or a fork, and compares a run with the files that it was prepared from.

Workflow, policy, prompts and limits are resolved and checked before the run begins.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from actors.config.loader import LoadedWorkflow, load_policy
from actors.config.model_profiles import find_author
from actors.config.model_spec import (
    RecordingSpec,
    ReplaySpec,
    Scripted,
    check_settings,
    is_author,
    parse_model_spec,
    pin_model,
)
from actors.config.step_guards import GuardRefused, make_step_guard
from actors.config.workflow import Workflow
from actors.config.workflow_check import SEARCHES, check_belief, check_workflow
from actors.files.suggestions import nearest
from actors.handlers.generators import Registry
from actors.planning.config import LIMIT_KEYS, RunConfig, StepModel, writes_the_same
from actors.planning.events import RunStarted
from actors.planning.state import State
from actors.policy.author import Author, expected_in_runs
from actors.policy.table import CLASSIFIER, ROLES, Policy, unknown_names
from actors.run.kind import ForkConfig, Setup
from actors.run.limits import RunLimits, check_limits, ledger_limits
from actors.search.notation import read_search
from actors.values.format import title_of
from actors.values.given import Attachment, Given, encode_attachments
from actors.values.model_settings import ModelSettings
from actors.values.plugin_marks import PlugInFile
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits, Price
from runtime.models.scripted import ScriptedModel


def check_script(model: str, names: Collection[str], owner: str, thing: str) -> None:
    """Check that each key of a scripted model names a step or a call of a run. Other models need no check.

    `names` are the names of the steps or calls. `owner` and `thing` are words for the error message, such as
    `the workflow` and `step`. Raises `UsageProblem` with the place of the first unknown key.
    """
    spec = parse_model_spec(model)
    if not isinstance(spec, Scripted):
        return
    script = ScriptedModel.from_file(spec.path)
    for key, name in script.keys.items():
        if name not in names:
            hint = nearest(name, names, kind=f"{thing}s")
            raise UsageProblem(f"{owner} has no {thing} {name!r}", place=script.place_of(key), hint=hint)


PROBLEM_BYTES_MAX = 1024 * 1024
"""The largest number of bytes in a problem's text. A prompt contains at most a fifth of a text of this length."""
OUTPUT_TOKENS = "output_tokens_max"
"""The workflow's key for the token limit of replies. The command-line option for this limit replaces the limits of all
steps."""
TIMEOUT = "model_timeout_seconds"
"""The workflow's key for the time limit of model calls, in seconds. The command-line option for this limit replaces the
limits of all steps."""
_OPTIONS = {**LIMIT_KEYS, TIMEOUT: "timeout"}
"""A mapping from each key of a workflow that a command-line option replaces to the name of the limit that this option
sets."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a planning run, the same for every interface. None means the workflow's value."""

    workflow: str = "search"
    """The name of a shipped workflow, or the path of a workflow's file."""
    search: str | None = None
    """The search strategy in place of the workflow's strategy, such as `beam:4`."""
    limits: RunLimits = field(default_factory=RunLimits)
    no_input: bool = False
    """Whether nobody can answer questions. If so, a belief policy considers no questions."""
    strict: bool = False
    """Whether to reject a plan if a demand of the text is in no step; if False, the workflow decides."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A planning run that is ready to begin (`actors.run.kind.PreparedRun`). Nothing is written to the journal yet."""

    problem: str
    title: str
    """The title in lists of runs: the first line of the problem, cut to 80 characters."""
    pinned: RunConfig
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the time of the deadline."""
    notices: tuple[str, ...] = ()
    source: str = ""
    given: tuple[str, ...] = ()
    kind: str = "planning"
    attachments: tuple[Attachment, ...] = ()
    plugins: tuple[PlugInFile, ...] = ()
    given_facts: Given | None = None

    @property
    def other_models(self) -> tuple[str, ...]:
        """The models of steps, including steps of child runs."""
        return tuple(self.pinned.step_prices)

    def first(self, run: str, at: float) -> RunStarted:
        """Return the first event, which starts the run. `at` is in UTC seconds since 1970."""
        return RunStarted(
            at=at,
            run=run,
            specification=self.problem,
            pinned=self.pinned.model_dump_json(),
            limits=self.limits,
            source=self.source,
            given=self.given,
            attachments=encode_attachments(self.attachments),
            plugins=self.plugins,
            given_facts=self.given_facts,
        )


Adapt = Callable[[RunRequest], RunRequest]
"""A function that changes a prepared planning run, for example to make a plan from tools. It may raise
`UsageProblem`."""


@dataclass(frozen=True, slots=True)
class PlanningInput:
    """The input of `prepare_planning`: the user's problem, and the options for planning."""

    problem: str
    options: RunOptions = field(default_factory=RunOptions)
    attachments: tuple[Attachment, ...] = ()
    adapt: Adapt | None = None
    """Returns the prepared run with changes, such as for a plan from tools; None if nothing needs to change."""


def prepare_planning(request: PlanningInput, setup: Setup) -> RunRequest:
    """Return a planning run that is ready to begin. Raises `UsageProblem` with the cause, the place and the next step.

    For an invalid option, the place is its name in `RunOptions` or `RunLimits`.
    """
    problem, options, registry = request.problem, request.options, setup.registry
    check_problem(problem)
    loaded, policy, changed_keys = _resolve_workflow(options, setup)
    everything = (loaded, *(child for child, _ in _child_workflows(loaded)))
    check_script(setup.model, set(_model_steps(loaded)), "the workflow", "step")
    settings = check_limits(options.limits).get("model_settings") or {}
    pinned = pin(loaded, policy, setup.model, setup.price, no_input=options.no_input, setup=setup, settings=settings)
    setup.check_price(limited="max_cost" in check_limits(options.limits), others=pinned.step_prices)
    limits = ledger_limits(options.limits, pinned.limits, setup.now)
    source = _source(Path(loaded.source), setup.root)
    files = tuple(dict.fromkeys(file for item in everything for file in registry.files_of(item.workflow)))
    title = title_of(problem)
    notices = (*loaded.notices, *_misspelt_names(policy, pinned))
    prepared = RunRequest(
        problem, title, pinned, limits, notices, source, changed_keys, attachments=request.attachments, plugins=files
    )
    return prepared if request.adapt is None else request.adapt(prepared)


def planning_config(options: RunOptions, setup: Setup) -> RunConfig:
    """Return the configuration of the planning runs that another run starts. Raises `UsageProblem`.

    The keys of a scripted model are not checked, because the script may also have replies for the parent run.
    """
    loaded, policy, _ = _resolve_workflow(options, setup)
    settings = check_limits(options.limits).get("model_settings") or {}
    return pin(loaded, policy, setup.model, setup.price, setup=setup, settings=settings)


def _resolve_workflow(options: RunOptions, setup: Setup) -> tuple[LoadedWorkflow, Policy, tuple[str, ...]]:
    registry, limits = setup.registry, check_limits(options.limits)
    try:
        loaded, policy = check_workflow(options.workflow, setup.root, registry.guards, registry.generator_names)
    except UsageProblem as wrong:  # An error in a file names its place in the file.
        raise UsageProblem(wrong.cause, place=wrong.place or "workflow", hint=wrong.hint) from None
    for item in (loaded, *(child for child, _ in _child_workflows(loaded))):
        _check_step_models(item)
    loaded, changed_keys = _with_options(loaded, options, limits)
    loaded = _change_all(loaded, lambda workflow: _with_default_timeout(workflow, setup))
    loaded, policy = _drop_unusable_belief(loaded, policy, options, setup.root)
    if "stop_below" in limits and policy.belief is None:
        cause = f"policy {policy.name!r} has no belief, so `stop_below` has no effect"
        raise UsageProblem(cause, place="stop_below", hint="use `stop_below` with a workflow that has `policy: belief`")
    if "keep_trying" in limits and policy.belief is not None:
        loaded = replace(loaded, workflow=loaded.workflow.changed(stop_below=0.0))
        changed_keys = (*changed_keys, "stop_below")
    for item, its_policy in (loaded, policy), *_child_workflows(loaded):
        check_belief(item, its_policy)
        _check_parts(item, registry)  # An invalid guard or generator is refused before anything is written.
    return loaded, policy, changed_keys


def _drop_unusable_belief(
    loaded: LoadedWorkflow, policy: Policy, options: RunOptions, root: Path
) -> tuple[LoadedWorkflow, Policy]:
    """Return the workflow and its policy. The policy loses its belief if `--search` names a search without belief.

    Only shipped workflows lose the belief, because their policy is only a default. In the user's own file, the user has
    chosen the policy, so `check_belief` refuses the combination.
    """
    shipped = not Path(_source(Path(loaded.source), root)).is_absolute()
    search = read_search(loaded.workflow.search).name
    if policy.belief is None or options.search is None or search in SEARCHES or not shipped:
        return loaded, policy
    text = f"the search {search!r} cannot use the belief of policy {policy.name!r}, so the rows of the policy decide"
    return replace(loaded, notices=(*loaded.notices, text)), policy.without_belief()


def _misspelt_names(policy: Policy, pinned: RunConfig) -> Iterator[str]:
    """Yield a line about each name in a policy that is probably misspelt.

    Rows with a misspelt name would never match.
    """
    for name in unknown_names(policy, {*ROLES, *pinned.roles.values()}):
        if name.near:
            yield f"policy {policy.name}, row {name.row!r}: unknown {name.what}; did you mean {name.near!r}?"


def _with_default_timeout(workflow: Workflow, setup: Setup) -> Workflow:
    of_steps = (setup.call_seconds_of(own.model) for own in _step_models(workflow, None).values())
    seconds = max((setup.call_seconds, *of_steps))
    if TIMEOUT in workflow.model_fields_set or workflow.model_timeout_seconds == seconds:
        return workflow
    return workflow.changed(model_timeout_seconds=seconds)


def _set_limits(loaded: LoadedWorkflow, tokens: int | None, seconds: float | None) -> LoadedWorkflow:
    """Return a workflow and its child workflows with the given limits for the replies and calls of all steps."""

    def change(workflow: Workflow) -> Workflow:
        if tokens is not None:
            workflow = workflow.set_for_every_step("output_tokens_max", OUTPUT_TOKENS, tokens)
        return workflow if seconds is None else workflow.set_for_every_step("timeout_seconds", TIMEOUT, seconds)

    return _change_all(loaded, change)


def _change_all(loaded: LoadedWorkflow, change: Callable[[Workflow], Workflow]) -> LoadedWorkflow:
    children = {name: (_change_all(child, change), policy) for name, (child, policy) in loaded.children.items()}
    return replace(loaded, workflow=change(loaded.workflow), children=children)


def _check_parts(loaded: LoadedWorkflow, registry: Registry) -> None:
    """Create every guard and generator of a workflow, to check them.

    Raises `UsageProblem` with file, line, step and guard.
    """
    for step, pair in loaded.workflow.action_pairs.items():
        try:
            make_step_guard(loaded.workflow, step, registry.guards)
        except GuardRefused as refused:
            problem = refused.problem
            path = ("action_pairs", step, "guard_config", *refused.path)
            place, hint = f"{loaded.document.place(path)}, guard {refused.guard!r} of step {step!r}", problem.hint
            if not problem.place.startswith("guard_config"):  # The error is in the file that defines the guard.
                place, hint = problem.place, "; ".join(filter(None, (hint, f"the guard is named at {place}")))
            raise UsageProblem(problem.cause, place=place, hint=hint) from problem
        registry.generators.get(pair.generator)  # A plug-in is loaded when it is looked up.


def _source(path: Path, root: Path) -> str:
    """Return a shipped workflow's name, because its path may change with a release.

    For any other workflow, return its path.
    """
    shipped = path.parent == root / "configs" / "workflows"
    return path.stem if shipped else str(path.absolute())


def _model_steps(loaded: LoadedWorkflow) -> Iterator[str]:
    yield from loaded.workflow.action_pairs
    if loaded.workflow.classifications_max:
        yield CLASSIFIER
    for child, _ in loaded.children.values():
        yield from _model_steps(child)


def _child_workflows(loaded: LoadedWorkflow) -> Iterator[tuple[LoadedWorkflow, Policy]]:
    for child, policy in loaded.children.values():
        yield child, policy
        yield from _child_workflows(child)


def pin(
    loaded: LoadedWorkflow,
    policy: Policy,
    model: str,
    price: Price | None,
    *,
    no_input: bool = False,
    setup: Setup | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> RunConfig:
    """Return the complete configuration of a run and of its child runs. Only the parent run asks questions.

    Prices and settings of models come from `setup`. `settings` are a person's settings, which apply to every step.
    """
    children = {
        name: pin(
            replace(child, workflow=child.workflow.changed(questions_max=0)),
            its_policy,
            model,
            price,
            setup=setup,
            settings=settings,
        )
        for name, (child, its_policy) in loaded.children.items()
    }
    step_models = _step_models(loaded.workflow, setup)
    return RunConfig(
        workflow=loaded.workflow,
        policy=policy,
        prompts=loaded.prompts,
        model=model,
        price=price,
        children=children,
        author=_known_author(policy, model, setup),
        deterministic=writes_the_same(model, step_models),
        no_input=no_input and policy.belief is not None,
        model_settings=_call_settings(loaded.workflow, model, step_models, setup, settings),
        step_models=step_models,
    )


def _known_author(policy: Policy, model: str, setup: Setup | None) -> Author | None:
    """Return the known behaviour of a model; None if the policy's belief has no numbers for a comparison.

    A measured profile takes precedence over the table of model families.
    """
    table = policy.belief
    if setup is None or table is None or table.author is None or not is_author(model):
        return None
    family, in_runs = find_author(model, setup.root), table.author_in_runs
    profile = None if in_runs is None else setup.profile_of(model)
    if profile is None or in_runs is None:
        return family
    return profile.author(expected_in_runs(in_runs, table.author, family), profile.source)


def _check_step_models(loaded: LoadedWorkflow) -> None:
    for step, pair in loaded.workflow.action_pairs.items():
        if pair.model is not None:
            place = loaded.document.place(("action_pairs", step, "model"))
            if isinstance(parse_model_spec(pin_model(pair.model), place=place), Scripted | ReplaySpec | RecordingSpec):
                hint = "name a model of the server, or a template; a script for all steps is possible with --model"
                raise UsageProblem("the model of a step must not be a script or a recorded run", place=place, hint=hint)


def _step_models(workflow: Workflow, setup: Setup | None) -> dict[str, StepModel]:
    """Return the models that steps name, with their prices. Without a `setup`, the prices are None."""
    named = {step: pin_model(pair.model) for step, pair in workflow.action_pairs.items() if pair.model is not None}
    return {
        step: StepModel(model=name, price=None if setup is None else setup.price_of(name))
        for step, name in named.items()
    }


def _call_settings(
    workflow: Workflow,
    model: str,
    step_models: Mapping[str, StepModel],
    setup: Setup | None,
    settings: Mapping[str, Any],
) -> dict[str, ModelSettings]:
    """Return the settings of each step's calls.

    A person's settings take precedence over the settings of the step, which take precedence over those of the workflow
    and then of the model.
    """
    steps = {step: workflow.action_pairs[step].model_settings for step in workflow.model_steps}
    if workflow.classifications_max:
        steps[CLASSIFIER] = ModelSettings()
    resolved = {}
    for step, own in steps.items():
        name = step_models[step].model if step in step_models else model
        of_model = ModelSettings() if setup is None else setup.settings_of(name)
        resolved[step] = own.fill_from(workflow.model_settings.fill_from(of_model)).apply_patch(settings)
        check_settings(name, resolved[step].body)
    return {step: item for step, item in resolved.items() if item}


def check_problem(problem: str) -> None:
    """Check that a problem is neither empty nor too large. Raises `UsageProblem`."""
    value: object = problem  # whatever a caller in Python passes
    if not isinstance(value, str):
        cause = f"the problem must be text, not {type(value).__name__}"
        raise UsageProblem(cause, place="PROBLEM", hint="describe the problem in plain text")
    size = len(problem.encode(errors="replace"))
    if not problem.strip():
        raise UsageProblem("the problem is empty", place="PROBLEM", hint="describe the problem in plain text")
    if size > PROBLEM_BYTES_MAX:
        hint = f"the limit is {PROBLEM_BYTES_MAX:,} bytes; leave out logs and listings"
        raise UsageProblem(f"the problem has {size:,} bytes", place="PROBLEM", hint=hint)


def _with_options(
    loaded: LoadedWorkflow, options: RunOptions, limits: RunLimits
) -> tuple[LoadedWorkflow, tuple[str, ...]]:
    """Return the workflow with the values from options, and the replaced keys. Raises `UsageProblem`."""
    keys: dict[str, Any] = {"search": options.search}
    keys |= {key: limits.get(name) for key, name in LIMIT_KEYS.items()}
    keys = {key: value for key, value in keys.items() if value is not None}
    keys |= {"strict": True} if options.strict else {}
    try:
        if keys:
            loaded = replace(loaded, workflow=loaded.workflow.changed(**keys))
        tokens, seconds = limits.get("output_tokens_max"), limits.get("timeout")
        loaded = _set_limits(loaded, tokens, None if seconds is None else float(seconds))
    except UsageProblem as problem:
        hint = problem.hint or "leave out the option to use the workflow's value"
        raise UsageProblem(problem.cause, place=_OPTIONS.get(problem.place, problem.place), hint=hint) from None
    of_steps = {OUTPUT_TOKENS: tokens, TIMEOUT: seconds}
    return loaded, (*keys, *(key for key, value in of_steps.items() if value is not None))


def fork_config(state: State, workflow: str | None, policy: str | None, setup: Setup) -> ForkConfig:
    """Return a run's configuration with another workflow, another policy or both. Raises `UsageProblem`.

    The place of the error is the keyword (`workflow` or `policy`), or a place in a file.
    """
    config = state.config
    if workflow is not None:
        options = RunOptions(workflow, no_input=config.no_input)
        config = prepare_planning(PlanningInput(state.specification, options, state.attachments), setup).pinned
        _check_steps(state.config, config)
        config = config.changed(author=_kept_author(state.config, config.policy, setup))
    if policy is not None:
        try:
            chosen = load_policy(policy, setup.root)
        except UsageProblem as wrong:
            place = "policy" if wrong.place == "POLICY" else wrong.place
            raise UsageProblem(wrong.cause, place=place, hint=wrong.hint) from None
        search = read_search(config.workflow.search).name
        if chosen.belief is not None and search not in SEARCHES:
            cause = f"policy {chosen.name!r} cannot be used with the search {search!r}"
            raise UsageProblem(cause, place="policy", hint=f"this policy needs the search {' or '.join(SEARCHES)}")
        config = config.changed(policy=chosen, author=_kept_author(state.config, chosen, setup))
    return ForkConfig(config.model_dump_json(), config.model_copy().stop_below)


def _kept_author(before: RunConfig, policy: Policy, setup: Setup) -> Author | None:
    """Return numbers about the behaviour of the model, for a fork with this policy.

    If the run's policy has a belief, the run's numbers are kept. Otherwise, the numbers are looked up.
    """
    return _known_author(policy, before.model, setup) if before.policy.belief is None else before.author


def _check_steps(before: RunConfig, after: RunConfig) -> None:
    had, has = before.graph.requires, after.graph.requires
    for step in (*had, *has):
        if step in had and step in has and set(had[step]) == set(has[step]):
            continue
        what = "is missing" if step not in has else "is new" if step not in had else "requires other steps"
        hint = "keep the steps and their requirements, or start a new run with `replan run`"
        raise UsageProblem(f"step {step!r} {what} in the other workflow", place="workflow", hint=hint)


NAMED_MAX = 5
"""The largest number of differences between a run's workflow and the current files that a message names. Further
differences are only counted."""

_BY_CONTENT = frozenset({"action_pairs", "policy", "prompts"})
"""The keys of a workflow whose contents are compared instead of their values. They are the steps, and the files that
the workflow names."""


def describe_edits(start: RunStarted, pinned: RunConfig, registry: Registry, root: Path) -> str:
    """Return a line about changes of the workflow since the run began.

    The line is empty if nothing has changed, or if the source of the workflow is unknown.

    If the workflow can no longer be read, the line says so. The run can still go on, because it does not need the file.
    The model and its price are not compared.
    """
    if not start.source:
        return ""
    try:
        loaded, policy = check_workflow(start.source, root, registry.guards, registry.generator_names)
        here = restore_workflow(loaded, start, pinned)
    except UsageProblem as problem:
        return f"the run keeps the workflow that it started with, because the file cannot be read: {problem}"
    names = list(_differences(pinned, pin(here, policy, pinned.model, pinned.price)))
    if len(names) > NAMED_MAX:
        names[NAMED_MAX:] = [f"{len(names) - NAMED_MAX} more"]
    text = f"the run keeps the workflow that it started with; {start.source} has changed since: {', '.join(names)}"
    return text if names else ""


def restore_workflow(loaded: LoadedWorkflow, start: RunStarted, pinned: RunConfig) -> LoadedWorkflow:
    """Return a workflow with the values from the options of a run. Raises `UsageProblem`."""
    option_values = {key: getattr(pinned.workflow, key) for key in start.given}
    tokens, seconds = option_values.pop(OUTPUT_TOKENS, None), option_values.pop(TIMEOUT, None)
    here = replace(loaded, workflow=loaded.workflow.changed(**option_values)) if option_values else loaded
    here = _set_limits(here, tokens, seconds)
    if TIMEOUT not in here.workflow.model_fields_set:  # The value depends on the server.
        here = replace(here, workflow=here.workflow.changed(**{TIMEOUT: pinned.workflow.model_timeout_seconds}))
    return here


def describe_changed_plugins(start: RunStarted, registry: Registry) -> str:
    """Return a line about plug-in files whose content has changed; empty if no file has changed.

    The run does not store the code of a plug-in, but uses the current content of the file.
    """
    now = registry.sources
    changed = [plugin for plugin in start.plugins if plugin.plugin in now and now[plugin.plugin].hash != plugin.hash]
    if not changed:
        return ""
    files = dict.fromkeys(now[item.plugin].file for item in changed)
    names = ", ".join(item.plugin for item in changed)
    return f"{' and '.join(files)} changed after the run began; the run uses the current content: {names}"


def _differences(then: RunConfig, now: RunConfig) -> Iterator[str]:
    for key in Workflow.model_fields:
        if key not in _BY_CONTENT and getattr(then.workflow, key) != getattr(now.workflow, key):
            yield key
    before, after = then.workflow.action_pairs, now.workflow.action_pairs
    if list(before) != list(after):  # The order of steps breaks ties.
        yield "action_pairs"
    yield from (f"action_pairs.{step}" for step, pair in after.items() if before.get(step, pair) != pair)
    # A run may have begun without its policy's belief, because its search has no belief.
    policy = now.policy if then.policy.belief else now.policy.without_belief()
    if then.policy != policy:
        yield "policy"
    if then.prompts != now.prompts:
        yield "prompts"
    for name in then.children.keys() & now.children.keys():
        if any(_differences(then.children[name], now.children[name])):
            yield f"workflow:{name}"
