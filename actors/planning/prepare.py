"""Preparing a planning run: workflow, policy, prompts and limits, resolved and checked before anything is written."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.config.loader import LoadedWorkflow
from actors.config.model_spec import ModelSpec, Scripted, parse_model_spec
from actors.config.step_guards import GuardRefused, guard_for
from actors.config.workflow import Workflow
from actors.config.workflow_check import check_workflow
from actors.files.suggestions import nearest
from actors.handlers.registry import Registry
from actors.planning.config import RunConfig
from actors.planning.messages import Begin
from actors.policy.cause import CLASSIFIER
from actors.policy.table import Policy
from actors.run.kind import Setup
from actors.values.format import title_of
from actors.values.plugin_marks import PlugInFile
from runtime.core.cost import Price, micro_limit
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits

PROBLEM_BYTES_MAX = 1024 * 1024
"""A problem is a text that a person can have written; a prompt holds a fifth of this at most."""
LIMIT_MOST: Mapping[str, float] = {
    "max_tokens": 10**12,
    "max_cost_usd": 10**9,
    "deadline_seconds": 10**10,
    "active_seconds": 10**10,
    "patience_seconds": 10**10,
}
"""The largest limits that are not slips of the keyboard: sums stay exact, and dates in four-digit years."""

OUTPUT_TOKENS = "output_tokens_max"
"""The key of a workflow that limits its replies; as an option it limits those of every step."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run, from the command line or from Python. None takes the workflow's value, or no limit."""

    workflow: str = "search"
    """A shipped name or a file."""
    search: str | None = None
    """The search strategy, such as `beam:4`."""
    max_calls: int | None = None
    """Model calls at most."""
    max_tokens: int | None = None
    """Tokens at most, input and output together."""
    max_cost_usd: float | None = None
    """Dollars at most."""
    deadline_seconds: float | None = None
    """Seconds from the start, whatever happens."""
    active_seconds: float | None = None
    """Seconds in which models or guards work, at most."""
    output_tokens: int | None = None
    """The most tokens of one reply, of every step."""
    patience_seconds: float | None = None
    """Seconds of pauses in which a process stays for a provider that is down; None is the usual patience."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that may begin."""

    problem: str
    """The problem's text."""
    title: str
    """The title in lists of runs."""
    pinned: RunConfig
    """The configuration that the run keeps."""
    limits: Limits
    """The run's limits."""
    notices: tuple[str, ...] = ()
    """Notices for the user about the workflow."""
    source: str = ""
    """Where the workflow was found, as in `RunStarted`."""
    given: tuple[str, ...] = ()
    """The keys of the workflow that options have changed, as in `RunStarted`."""
    kind: str = "planning"
    """The kind of the run."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins that come from files of the user's own."""

    def first(self, run: str, at: float) -> Begin:
        """Return the message that starts it, at a time in UTC seconds since 1970."""
        pinned = self.pinned.model_dump_json()
        return Begin(
            at,
            run,
            self.problem,
            pinned,
            self.limits,
            source=self.source,
            given=self.given,
            plugins=self.plugins,
        )


@dataclass(frozen=True, slots=True)
class PlanningInput:
    """The user's problem, and the choices about planning it."""

    problem: str
    """The problem's text."""
    options: RunOptions = field(default_factory=RunOptions)
    """The options."""


def prepare_planning(request: PlanningInput, setup: Setup) -> RunRequest:
    """Return a planning run that may begin. Raises `UsageProblem` with the cause, the place and the next step.

    The place is a field of `RunOptions` where that is wrong: the name of the option in Python.
    """
    problem, options, registry = request.problem, request.options, setup.registry
    check_problem(problem)
    _check_limits(options)
    try:
        loaded, policy = check_workflow(options.workflow, setup.root, registry.guards, registry.generator_names)
    except UsageProblem as wrong:  # What is wrong in a file has its place there.
        raise UsageProblem(wrong.cause, place=wrong.place or "workflow", hint=wrong.hint) from None
    workflow, keys = loaded.workflow, _overrides(options)
    if keys:
        workflow = _changed(workflow, keys)
    loaded = replace(loaded, workflow=workflow)
    if options.output_tokens is not None:
        loaded, keys = _with_output_tokens(loaded, options.output_tokens), {**keys, OUTPUT_TOKENS: None}
    everything = (loaded, *_below(loaded))
    for each in everything:
        _check_made(each, registry)  # What cannot be made fails before anything is written.
    _check_script(parse_model_spec(setup.model), set(_asked_steps(loaded)))
    price = setup.price
    setup.check_price(limited=options.max_cost_usd is not None)
    pinned = pin(loaded, policy, setup.model, price)
    limits = Limits(
        calls=workflow.max_total_calls,
        tokens=options.max_tokens,
        micro_usd=None if options.max_cost_usd is None else micro_limit(options.max_cost_usd),
        active_seconds=options.active_seconds,
        deadline=None if options.deadline_seconds is None else setup.now + options.deadline_seconds,
        patience_seconds=options.patience_seconds,
    )
    source = _source(Path(loaded.source), setup.root)
    files = tuple(dict.fromkeys(file for each in everything for file in registry.files_of(each.workflow)))
    title = title_of(problem)
    return RunRequest(problem, title, pinned, limits, loaded.notices, source, tuple(keys), plugins=files)


def _with_output_tokens(loaded: LoadedWorkflow, tokens: int) -> LoadedWorkflow:
    """Limit the replies. Raises `UsageProblem` that names the option."""
    try:
        return with_output_tokens(loaded, tokens)
    except UsageProblem as problem:
        hint = problem.hint or "leave it out for the workflow's own"
        raise UsageProblem(problem.cause, place="output_tokens", hint=hint) from None


def with_output_tokens(loaded: LoadedWorkflow, tokens: int) -> LoadedWorkflow:
    """Return a workflow, and those below it, with one token limit for all replies. Raises `UsageProblem`."""
    children = {name: (with_output_tokens(child, tokens), policy) for name, (child, policy) in loaded.children.items()}
    return replace(loaded, workflow=loaded.workflow.with_output_tokens(tokens), children=children)


def _check_made(loaded: LoadedWorkflow, registry: Registry) -> None:
    """Make every guard and generator of a workflow. Raises `UsageProblem` with file, line, step and guard."""
    for step, pair in loaded.workflow.action_pairs.items():
        try:
            guard_for(loaded.workflow, step, registry.guards)
        except GuardRefused as refused:
            problem = refused.problem
            path = ("action_pairs", step, "guard_config", *refused.path)
            place, hint = f"{loaded.document.place(path)}, guard {refused.guard!r} of step {step!r}", problem.hint
            if not problem.place.startswith("guard_config"):  # It is wrong where it comes from.
                place, hint = problem.place, "; ".join(filter(None, (hint, f"it is named at {place}")))
            raise UsageProblem(problem.cause, place=place, hint=hint) from problem
        registry.generators.get(pair.generator)


def _source(path: Path, root: Path) -> str:
    """Return how a workflow's file is found again: by its name if it is shipped, since another release is elsewhere."""
    shipped = path.parent == root / "configs" / "workflows"
    return path.stem if shipped else str(path.absolute())


def _asked_steps(loaded: LoadedWorkflow) -> Iterator[str]:
    """Yield all that a run, and the runs that its steps start, may ask a model for."""
    yield from loaded.workflow.action_pairs
    if loaded.workflow.classifications_max:
        yield CLASSIFIER
    for child, _ in loaded.children.values():
        yield from _asked_steps(child)


def _below(loaded: LoadedWorkflow) -> Iterator[LoadedWorkflow]:
    """Yield every workflow that a run of this one may start, directly or not."""
    for child, _ in loaded.children.values():
        yield child
        yield from _below(child)


def pin(loaded: LoadedWorkflow, policy: Policy, model: str, price: Price | None) -> RunConfig:
    """Return what a run is pinned to, with the runs that its steps start. Those ask nobody: the parent run does."""
    children = {
        name: pin(replace(child, workflow=child.workflow.changed(questions_max=0)), its_policy, model, price)
        for name, (child, its_policy) in loaded.children.items()
    }
    return RunConfig(
        workflow=loaded.workflow, policy=policy, prompts=loaded.prompts, model=model, price=price, children=children
    )


def check_problem(problem: str) -> None:
    """Refuse a problem that no plan can be made for. Raises `UsageProblem`."""
    given: object = problem  # whatever a caller in Python passes
    if not isinstance(given, str):
        cause = f"the problem is text, not {type(given).__name__}"
        raise UsageProblem(cause, place="PROBLEM", hint="describe it in plain text")
    size = len(problem.encode(errors="replace"))
    if not problem.strip():
        raise UsageProblem("the problem is empty", place="PROBLEM", hint="describe it in plain text")
    if size > PROBLEM_BYTES_MAX:
        hint = f"at most {PROBLEM_BYTES_MAX:,} bytes; leave out logs and listings"
        raise UsageProblem(f"the problem has {size:,} bytes", place="PROBLEM", hint=hint)


def _changed(workflow: Workflow, keys: Mapping[str, Any]) -> Workflow:
    """Return the workflow with the values that were options for. Raises `UsageProblem` that names the option."""
    try:
        return workflow.changed(**keys)
    except UsageProblem as problem:
        place = "max_calls" if problem.place == "max_total_calls" else problem.place
        hint = problem.hint or "leave it out for the workflow's own"
        raise UsageProblem(problem.cause, place=place, hint=hint) from None


def _overrides(options: RunOptions) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    if options.search is not None:
        keys["search"] = options.search
    if options.max_calls is not None:
        keys["max_total_calls"] = options.max_calls
    return keys


def _check_limits(options: RunOptions) -> None:
    """Refuse limits that limit nothing. Raises `UsageProblem` that names the option."""
    for name, most in LIMIT_MOST.items():
        value: Any = getattr(options, name)
        if value is None:
            continue
        kinds, kind = (int, "a whole number") if name == "max_tokens" else (int | float, "a number")
        # A comparison with NaN is false, and True is not meant as 1.
        if not (isinstance(value, kinds) and not isinstance(value, bool) and 0 < value <= most):
            cause = f"a limit is {kind} above 0, at most {most:,}, not {value!r}"
            raise UsageProblem(cause, place=name, hint="leave it out for no limit")


def _check_script(spec: ModelSpec, steps: Collection[str]) -> None:
    """Check that the keys of a script are steps of the workflow. Raises `UsageProblem` for the first that is none."""
    if not isinstance(spec, Scripted):
        return
    from runtime.models.scripted import ScriptedModel  # noqa: PLC0415 - only scripts need it

    script = ScriptedModel.from_file(spec.path)
    for key, step in script.keys.items():
        if step not in steps:
            hint = nearest(step, steps, kind="steps")
            raise UsageProblem(f"the workflow has no step {step!r}", place=script.place_of(key), hint=hint)
