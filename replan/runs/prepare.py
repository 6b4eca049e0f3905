"""Preparing a run: everything that starts it, resolved and checked before anything is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from actors.config.loader import LoadedWorkflow
from actors.config.model_spec import Named, Simulated
from actors.config.step_guards import guard_for
from actors.config.workflow import Workflow
from actors.config.workflow_check import check_workflow
from actors.handlers.actors import Registry
from actors.planning.config import RunConfig
from actors.policy.cause import CLASSIFIER
from actors.policy.table import Policy
from replan.runs.models import check_model, check_script
from replan.setup.data_files import data_root
from replan.setup.home_folder import locate_home
from replan.setup.prices import price_of
from replan.setup.settings import Choice, UserConfig, choose_model, read_user_config
from runtime.core.clock import SystemClock
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
}
"""The largest limits that are not slips of the keyboard: sums stay exact, and dates in four-digit years."""


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
    """What the user should know about the workflow."""
    source: str = ""
    """Where the workflow was found, as in `RunStarted`."""
    given: tuple[str, ...] = ()
    """The keys of the workflow that options have changed, as in `RunStarted`."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that may begin, and the model that was chosen for it."""

    request: RunRequest
    """The run."""
    choice: Choice
    """The model, and who chose it."""
    environment: Mapping[str, str]
    """The environment that names keys and servers."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before the run starts."""
        return tuple(filter(None, (self.choice.notice, *self.request.notices)))

    def check_model(self) -> None:
        """Check that the model can be opened. Raises `UsageProblem`."""
        check_model(self.choice.spec, self.environment)


def prepare(
    problem: str,
    options: RunOptions,
    model: str | None,
    *,
    registry: Registry,
    environment: Mapping[str, str],
    config: UserConfig | None = None,
) -> Prepared:
    """Prepare a run with the user's settings, for the command line and for Python alike.

    `model` is as after `--model`; None takes the environment's or the config file's. `config` takes the place of the
    home's config file. Raises `UsageProblem` as `prepare_run` does, and for a wrong config file.
    """
    config = read_user_config(locate_home(environment).config) if config is None else config
    choice = choose_model(model, environment, config)
    request = prepare_run(
        problem,
        options,
        choice,
        config=config,
        registry=registry,
        root=data_root(),
        environment=environment,
        now=SystemClock().now(),
    )
    return Prepared(request, choice, environment)


def prepare_run(
    problem: str,
    options: RunOptions,
    choice: Choice,
    *,
    config: UserConfig,
    registry: Registry,
    root: Path,
    environment: Mapping[str, str],
    now: float,
) -> RunRequest:
    """Return the request for a run. Raises `UsageProblem` with the cause, the place and the next step.

    The place is a field of `RunOptions` where that is wrong: the name of the option in Python.
    """
    check_problem(problem)
    _check_limits(options)
    try:
        loaded, policy = check_workflow(options.workflow, root, registry.guards, registry.generator_names)
    except UsageProblem as wrong:  # What is wrong in a file has its place there.
        raise UsageProblem(wrong.cause, place=wrong.place or "workflow", hint=wrong.hint) from None
    workflow, keys = loaded.workflow, _overrides(options)
    if keys:
        workflow = _changed(workflow, keys)
    for each in (workflow, *(child.workflow for child in _below(loaded))):
        for step, pair in each.action_pairs.items():  # What cannot be made fails before anything is written.
            guard_for(each, step, registry.guards)
            registry.generators.get(pair.generator)
    check_script(choice.spec, set(_asked_steps(replace(loaded, workflow=workflow))))
    price = _price(choice, config, environment, now, root)
    if options.max_cost_usd is not None and price is None:
        hint = "give input_usd_per_mtok and output_usd_per_mtok under prices in config.yaml, or limit calls or tokens"
        raise UsageProblem(f"the price of {choice.text!r} is not known", place="max_cost_usd", hint=hint)
    if config.home_budget.usd is not None and price is None:
        hint = "give its price under prices in config.yaml, or limit home_budget by calls"
        raise UsageProblem(f"the price of {choice.text!r} is not known", place="home_budget.usd", hint=hint)
    pinned = pin(replace(loaded, workflow=workflow), policy, choice.text, price)
    limits = Limits(
        calls=workflow.max_total_calls,
        tokens=options.max_tokens,
        micro_usd=None if options.max_cost_usd is None else micro_limit(options.max_cost_usd),
        active_seconds=options.active_seconds,
        deadline=None if options.deadline_seconds is None else now + options.deadline_seconds,
    )
    source = _source(Path(loaded.source), root)
    return RunRequest(problem, title_of(problem), pinned, limits, loaded.notices, source, tuple(keys))


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


def title_of(problem: str) -> str:
    """Return the first line with words, without Markdown's marks, cut to 80 characters."""
    lines = (line.strip("#*_= \t-") for line in problem.splitlines())
    title = next((" ".join(line.split()) for line in lines if line), "")
    return title if len(title) <= 80 else f"{title[:79]}…"


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


def _price(choice: Choice, config: UserConfig, environment: Mapping[str, str], now: float, root: Path) -> Price | None:
    own = {
        name: Price.per_mtok(entry.input_usd_per_mtok, entry.output_usd_per_mtok, "config.yaml")
        for name, entry in config.prices.items()
    }
    if isinstance(choice.spec, Simulated):
        from actors.simulated.model import load_profile  # noqa: PLC0415 - few runs need it

        cost = load_profile(choice.spec.profile, root).cost
        return Price.per_mtok(cost.input_usd_per_mtok, cost.output_usd_per_mtok, "simulated")
    url = environment.get("OPENAI_BASE_URL") if isinstance(choice.spec, Named) else None
    return price_of(choice.spec, base_url=url, own=own, at=now)
