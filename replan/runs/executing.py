"""Prepares an execution: its plan, its settings, its tools and its workspace.

The plan is in a file, or is the result of a planning run.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from actors.config.model_spec import PluginSpec, TemplateSpec, parse_model_spec
from actors.config.workflow import GuardLevel
from actors.execution.prepare import CALLS, OUTPUT_TOKENS, ExecutionInput, PreparedExecution, prepare_execution
from actors.execution.state import State
from actors.handlers.generators import Registry
from actors.planning.config import RunConfig
from actors.planning.prepare import RunOptions, RunRequest, planning_config
from actors.plans.reader import read_draft
from actors.run.kind import Setup
from actors.run.limits import RunLimits, check_limits, least_value, ledger_limits
from actors.run.settings import SettingsChanged
from actors.templates.plan import lacking_names, tokens_of
from actors.templates.template_files import PlanTemplate, load_templates
from actors.tools.loader import load_tools
from actors.tools.uses import NO_TOOLS, ModelUse, ToolSet
from actors.tools.workspace import check_workspace, ensure_free
from actors.values.given import Given
from replan.runs.prepare import Prepared, setup_for
from replan.runs.reader import ALL
from replan.runs.token_goals import MODEL, TOOLS_FILE, TokenGoal, planning_for_goal, with_tool_steps
from replan.setup.home_folder import Home, locate_home
from replan.setup.installation import data_root, program
from replan.setup.settings import ModelChoice, NoModel, UserConfig, choose_model, read_user_config
from runtime.core.clock import SystemClock
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.models.replies import BYTES_MAX, Parsed, read_reply

if TYPE_CHECKING:
    from replan.runs.engine import Engine
    from replan.runs.reader import RunReader


@dataclass(frozen=True, slots=True)
class PlanToExecute:
    """A plan and its origin. The plan is proved again before its first step begins."""

    plan: Mapping[str, Any]
    place: str
    """The name of the file or the id of the run, for messages."""
    level: str = "expansive"
    """The level at which the plan is proved: the level of its planning run, or `expansive` for a plan from a file."""
    assurance: str = "strong_cyclic"
    r_max: int = 100
    problem: str = ""
    """The text of the problem that the plan solves; empty for a plan from a file, and for a goal of tokens."""
    plan_of: str = ""
    """The id of the planning run that made the plan; empty for a plan from a file."""
    planning: RunConfig | None = None
    """The configuration of the planning run; None for a plan from a file."""


def is_file(name: str) -> bool:
    """Return whether an argument names a plan file: the file exists, or the argument looks like a path.

    Other arguments name runs.
    """
    return "/" in name or name.endswith((".json", ".yaml", ".yml")) or Path(name).exists()


def plan_in_file(name: str, text: str) -> PlanToExecute:
    """Return the plan in the text of a file.

    The text is a plan, or an object with the key `plan`, such as `run --json` prints.

    Raises `UsageProblem` for any other text. The plan itself is checked later, when it is proved.
    """
    reply = read_reply(text)
    value = reply.value if isinstance(reply, Parsed) else None
    if isinstance(value, Mapping) and "steps" not in value and isinstance(value.get("plan"), Mapping):
        value = value["plan"]
    if not isinstance(value, Mapping):
        hint = f"give a plan as a JSON object; `{program()} export RUN --format json` writes one"
        raise UsageProblem("this is not a plan", place=name, hint=hint)
    return PlanToExecute(value, name)


def read_plan_file(name: str) -> PlanToExecute:
    """Return the plan in a file. Raises the errors of `plan_in_file`, and `UsageProblem` for an unreadable file."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "no file can have this name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or a planning run") from None
    if len(data) > BYTES_MAX:
        raise UsageProblem(f"the plan has more than {BYTES_MAX:,} bytes", place=name)
    try:
        return plan_in_file(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the text is not UTF-8 (byte {error.start})", place=name, hint="save it as UTF-8") from None


async def plan_of_run(reader: "RunReader", run: str) -> PlanToExecute:
    """Return the proved plan of a planning run. `run` is the run's full id.

    Raises `UsageProblem` for a run without a proved plan, and the errors of `RunReader.read`.
    """
    from actors.planning.result import Result  # noqa: PLC0415 -- a plan of a file needs no run

    loaded, result = await reader.read(run), await reader.result(run)
    hint = f"`{program()} show {run}` shows its result"
    if not isinstance(result, Result):
        raise UsageProblem(f"run {run} is not a planning run", place=run, hint=hint)
    if not isinstance(result.plan_json, Mapping):
        raise UsageProblem(f"run {run} has no proved plan", place=run, hint=hint)
    state = loaded.state
    workflow = state.config.workflow
    return PlanToExecute(
        plan=result.plan_json,
        place=run,
        level=result.proof.level or workflow.target_guard_level,
        assurance=workflow.assurance,
        r_max=workflow.r_max,
        problem="" if workflow.plans_from_tools else state.specification,
        plan_of=run,
        planning=state.config,
    )


Approval = Literal["each", "risky", "none"]
"""Which attempts a person must approve before their tools are called: each attempt, only risky or irreversible
attempts, or none."""
LEVELS = get_args(GuardLevel)
_BIND = "bind these names in this file, because the template's steps use them, or name another model"
_NO_AUTHOR = "no model is named (-m, REPLAN_MODEL, or `model` in config.yaml)"


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """The options of an execution, from the command line or from Python."""

    tools: str | None = None
    """The path of the tools file; None for `tools.yaml` in the home, if this file exists."""
    workspace: str = "."
    approval: Approval = "risky"
    level: str | None = None
    """The level at which the plan is proved. None uses the level of its planning run, or `expansive` for a plan from a
    file.
    """
    r_max: int | None = None
    """The largest `total_retry_budget` of a plan. None uses the value of its planning run, or 100 for a plan from a
    file.
    """
    workflow: str | None = None
    """The workflow that makes new plans. None uses the workflow of the plan's planning run, or `search` for a plan from
    a file.
    """
    limits: RunLimits = field(default_factory=RunLimits)
    """The limits of the execution together with the planning runs that make new plans for it."""


def prepare_to_execute(
    source: PlanToExecute,
    options: ExecutionOptions,
    model: str | None,
    *,
    registry: Registry,
    environment: Mapping[str, str],
    config: UserConfig | None = None,
) -> Prepared[PreparedExecution]:
    """Prepare the execution of a plan with the user's settings. Nothing is written or executed.

    `model` is the same as for `replan.runs.prepare.RunOrder`, and `config` as for `prepare`. If no model is named, the
    execution cannot make a new plan. Raises `UsageProblem` with the option or the file as its `place`. The causes are
    an unproved plan, a name in the plan that no tool implements, an invalid tools file, and an unusable workspace.
    """
    home = locate_home(environment)
    config = read_user_config(home.config) if config is None else config
    _check(options)
    limit_values = check_limits(options.limits)
    workspace = check_workspace(options.workspace, home.folder)
    tools, remarks = tools_of(options.tools, home, workspace, environment)
    try:
        choice, unnamed = choose_model(model, environment, config), ""
    except NoModel:
        choice, unnamed = ModelChoice(MODEL, parse_model_spec(MODEL)), _NO_AUTHOR
    clock, root = SystemClock(), data_root()
    now = clock.now()
    setup = setup_for(choice, config=config, registry=registry, root=root, environment=environment, now=now)
    _check_writer(source, tools, choice)
    planning = _planning_for(source, options.workflow, limit_values, setup, tools)
    request = ExecutionInput(
        plan=source.plan,
        tools=tools,
        workspace=workspace,
        approval=options.approval,
        level=f"plan_{options.level or source.level}",
        assurance=source.assurance,
        r_max=source.r_max if options.r_max is None else options.r_max,
        problem=source.problem,
        plan_of=source.plan_of,
        planning=planning,
        author_lacks=_no_new_plan(source, setup.model, tools, unnamed),
        question_expires_seconds=planning.question_expires_seconds,
        timeout_seconds=float(limit_values.get("timeout") or setup.call_seconds),
        limits=ledger_limits(limit_values, planning.limits | {"calls": CALLS}, now),
        output_tokens_max=limit_values.get("output_tokens_max") or OUTPUT_TOKENS,
        model_settings=limit_values.get("model_settings") or {},
    )
    try:
        prepared = prepare_execution(request, setup)
    except UsageProblem as wrong:
        place = source.place if wrong.place == "PLAN" else wrong.place
        raise UsageProblem(wrong.cause, place=place, hint=wrong.hint) from None
    if source.plan_of:
        prepared = replace(prepared, title=f"plan {source.plan_of}: {prepared.title}")
    return Prepared(prepared, choice, environment, remarks)


def tools_of(
    name: str | None, home: Home, workspace: Path, environment: Mapping[str, str]
) -> tuple[ToolSet, tuple[str, ...]]:
    """Return the tools that a tools file defines, and notices for the user about the file.

    If `name` is None, the home's tools file is used; if this file does not exist, there are no tools. Raises
    `UsageProblem` for an invalid file, or for a file in the workspace.
    """
    own = home.folder / TOOLS_FILE
    if name is None and not own.exists():
        return NO_TOOLS, ()
    loaded = load_tools(own if name is None else name, workspace=workspace, environment=environment)
    return loaded.toolset, loaded.notices


def _planning_for(
    source: PlanToExecute, workflow: str | None, limits: RunLimits, setup: Setup, tools: ToolSet
) -> RunConfig:
    """Return the configuration for planning runs of the execution, which make new plans with the execution's model.

    If `workflow` is None, the workflow of the plan's planning run is used. New plans may name the guards that the tools
    implement. Raises `UsageProblem` for an invalid workflow, and for `stop_below` if the policy has no belief.
    """
    if source.planning is not None and workflow is None:
        seconds = limits.get("timeout")
        change = SettingsChanged(
            at=setup.now,
            model=setup.model,
            price=setup.price,
            timeout_seconds=None if seconds is None else float(seconds),
            output_tokens_max=limits.get("output_tokens_max"),
            model_settings=limits.get("model_settings") or {},
        )
        config = source.planning.with_settings(change)
        if config.workflow.plans_from_tools:
            config = with_tool_steps(config, tools)
        if setup.model == source.planning.model:
            config = config.with_step_models(source.planning)
    else:
        of_calls = RunLimits(
            output_tokens_max=limits.get("output_tokens_max"),
            timeout=limits.get("timeout"),
            model_settings=limits.get("model_settings"),
        )
        config = planning_config(RunOptions(workflow=workflow or "search", limits=of_calls), setup)
    least = least_value(limits)
    if least is not None and config.stop_below is None and "stop_below" in limits:
        cause = f"policy {config.policy.name!r} has no belief, so `stop_below` has no effect"
        raise UsageProblem(cause, place="stop_below", hint="use it with a workflow that has `policy: belief`")
    return _with_guards(config if least is None else config.with_stop_below(least), tools)


def _planning_for_tools(request: RunRequest, tools: ToolSet) -> RunRequest:
    """Return a planning run whose plan may use only names that the tools implement. Raises `UsageProblem`."""
    facts = Given(**tools.names_given)
    lack = _missing_names_text(request.pinned.model, facts)
    if lack:
        raise UsageProblem(lack, place="tools", hint=_BIND)
    return replace(request, given_facts=facts)


ToolLoader = Callable[[], tuple[ToolSet, tuple[str, ...]]]
"""A function that loads a tools file, and returns the file's tools and notices about the file. The function may raise
`UsageProblem`.
"""


def plan_with_tools(load: ToolLoader, goal: TokenGoal | None, request: RunRequest) -> RunRequest:
    """Adapt a planning run to tools, and return it. Add the notices about the tools file to its notices.

    With a goal, the run plans from the steps that the tools declare. Without a goal, its plan may use only names that
    the tools implement. Raises `UsageProblem`.
    """
    tools, remarks = load()
    request = _planning_for_tools(request, tools) if goal is None else planning_for_goal(request, tools, goal)
    pinned = _with_guards(request.pinned, tools)
    return replace(request, pinned=pinned, notices=(*remarks, *request.notices))


def _no_new_plan(source: PlanToExecute, model: str, tools: ToolSet, unnamed: str) -> str:
    """Return the reason why an execution cannot make a new plan; empty if no such reason is known yet.

    `unnamed` is the text to return if no model is named; empty if a model is named.
    """
    if source.planning is not None and source.planning.workflow.plans_from_tools:
        return ""  # No model is asked.
    draft, _ = read_draft(dict(source.plan))
    if draft is None:
        return ""  # It is refused with all findings.
    if unnamed:
        return unnamed
    lack = _missing_names_text(model, Given(**tools.names_given))
    if lack:
        return f"{lack}; {_BIND}"
    template = _template(model)
    if template is None:
        return ""
    missing = sorted(draft.goal_state - draft.initial_state - tokens_of(template))
    if not missing:
        return ""
    lack = f"the steps of `{model}` do not make {', '.join(missing)}, which the plan's goal needs"
    return f"{lack}; name another model"


def _template(model: str) -> PlanTemplate | None:
    spec = parse_model_spec(model)
    if not isinstance(spec, TemplateSpec):
        return None
    return load_templates(data_root() / "configs" / "templates")[spec.name]


def _missing_names_text(model: str, facts: Given) -> str:
    """Return a text about the names in a template's plans that no tool implements; empty if there are no such names.

    The text is empty for a language model, because its prompts contain the names of the tools.
    """
    template = _template(model) if facts.generators or facts.step_generators else None
    missing = () if template is None else lacking_names(template, facts.model_dump())
    return f"your tools file does not bind: {', '.join(missing)}" if missing else ""


def _with_guards(config: RunConfig, tools: ToolSet) -> RunConfig:
    """Return a copy of the planning configuration whose plans may also name the guards that the tools implement."""
    catalog = config.workflow.guard_catalog
    more = [name for name in tools.guards if name not in catalog]
    workflow = config.workflow.changed(guard_catalog=[*catalog, *more]) if more else config.workflow
    children = {name: _with_guards(child, tools) for name, child in config.children.items()}
    return config.changed(workflow=workflow, children=children)


def _check(options: ExecutionOptions) -> None:
    if options.approval not in get_args(Approval):
        hint = f"use {' or '.join(get_args(Approval))}"
        raise UsageProblem(f"unknown approval {options.approval!r}", place="approve", hint=hint)
    if options.level is not None and options.level not in LEVELS:
        raise UsageProblem(f"there is no level {options.level!r}", place="level", hint=f"use {' or '.join(LEVELS)}")
    if options.r_max is not None and options.r_max < 1:
        raise UsageProblem(f"must be a whole number of at least 1, not {options.r_max!r}", place="r_max")


def _check_writer(source: PlanToExecute, tools: ToolSet, choice: ModelChoice) -> None:
    """Raise `UsageProblem` if a step of the plan needs a model that writes files, but `choice` writes only plans."""
    draft, _ = read_draft(dict(source.plan))
    generators = {step.generator for step in draft.steps} if draft is not None else set()
    written = sorted(name for name in generators if isinstance(tools.generators.get(name), ModelUse))
    spec = choice.spec
    if written and (isinstance(spec, TemplateSpec) or (isinstance(spec, PluginSpec) and spec.is_ours)):
        cause = f"the generator {written[0]!r} needs a model that writes files, but {choice.text!r} writes only plans"
        raise UsageProblem(
            cause, place="--model", hint="name a language model with -m, or bind a command to the generator"
        )


EXECUTION = "execution"


async def ensure_unused(reader: "RunReader", folder: Path, home: Path, *, besides: str = "") -> None:
    """Raise `UsageProblem` if another unfinished execution of the home uses a folder as its workspace.

    The other execution may be driven, wait for a person, or be parked. The files of its workspace must not change
    before it continues.
    """
    ensure_free(folder, home)
    async for run, used in unfinished_executions(reader):
        if used == folder and run != besides:
            cause = f"run {run!r} works in this workspace and has not finished"
            hint = f"resume it with `{program()} resume {run}`, or end it with `{program()} cancel {run}`"
            raise UsageProblem(cause, place=str(folder), hint=hint)


async def unfinished_executions(reader: "RunReader") -> AsyncIterator[tuple[str, Path]]:
    """Yield the unfinished executions of the home, with their workspaces."""
    for row in await reader.journal.runs(ALL):
        if row.kind != EXECUTION or row.status == "finished":
            continue
        try:
            state = (await reader.read(row.run)).state
        except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
            continue  # `doctor` reports this run, and nobody can drive it.
        if isinstance(state, State):
            yield row.run, Path(state.config.workspace)


async def admit_alone(engine: "Engine", request: "PreparedExecution", run: str, home: Path) -> None:
    """Record the start of an execution for a host, unless another execution uses its workspace.

    If two executions with the same workspace are admitted at the same time, each finds the other. Both are cancelled
    before they do anything, and `UsageProblem` is raised. Also raises the errors of `ensure_unused`.
    """
    folder = Path(request.config.workspace)
    await ensure_unused(engine, folder, home)
    await engine.admit(request, run=run)
    try:
        await ensure_unused(engine, folder, home, besides=run)
    except UsageProblem:
        await engine.cancel(run)
        raise
