"""The preflight check of a plan: which tools, files, servers and disk space the plan needs, and the findings. Pure.

If a need is not met, the finding is an error. If it is unknown whether a need is met, the finding is a warning, which
never stops a plan.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, assert_never

from actors.plans.graph import bits
from actors.plans.plan import Plan, Step
from actors.plans.semantics import Program, compile_plan
from actors.tools.agent_work import list_paths
from actors.tools.parameters import PathParameter
from actors.tools.specs import CommandSpec, ToolSpec
from actors.tools.uses import ModelUse, PersonUse, ToolSet, ToolUse, Use, built_in_use
from actors.values.findings import Code, Finding, ReasonTag
from runtime.core.events import Value

WORKSPACE_LOOK = "workspace:look"
"""The name of the built-in tool that makes the preflight check. This tool changes nothing."""
LOOK_SECONDS = 120.0
"""The time limit of a preflight check, in seconds."""
_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am", "pull"})
"""The git commands that can make commits."""


class NeededCall(Value):
    """A call of a tool in a plan, as it is known before the plan runs."""

    tool: str
    arguments: str
    """The fixed arguments: the canonical text of a JSON object."""
    later: tuple[str, ...] = ()
    """The parameters whose values are not known before the call."""


class Needs(Value):
    """The needs of a plan: the arguments of `workspace:look`."""

    calls: tuple[NeededCall, ...] = ()
    """The calls of tools, without repetition."""
    paths: tuple[str, ...] = ()
    """The sorted paths below the workspace that steps read."""
    clean: bool = False
    """Whether a step makes a commit. If so, the repository should have no uncommitted changes."""
    disk_mb: int = 0
    """The free disk space that all tools together need, in megabytes (10^6 bytes)."""


class Availability(Value):
    """Whether a need is met."""

    answer: Literal["yes", "no", "unknown"] = "yes"
    """Whether the need is met; `unknown` if this cannot be found out."""
    why: str = ""
    """Why the need is not met, or why this is unknown, as a clause; empty for `yes`."""


class PreflightReport(Value):
    """The result of a preflight check: the output of `workspace:look`."""

    calls: tuple[Availability, ...] = ()
    """Whether the tool of each call is available, in the order of `Needs.calls`."""
    paths: Mapping[str, Availability] = {}
    dirty: tuple[str, ...] = ()
    """The sorted tracked files with uncommitted changes."""
    clean: Availability = Availability()
    """Whether `dirty` is certain; `unknown` if git cannot list the changes exactly."""
    free_mb: int | None = None
    """The free disk space of the workspace in megabytes (10^6 bytes); None if it is unknown."""


_NOT_LOOKED_UP = Availability(answer="unknown", why="it was not checked")


class _Reading(NamedTuple):
    step: Step
    path: str


def needs_of(plan: Plan, tools: ToolSet) -> Needs | None:
    """Return the needs of a plan; None if the plan has no needs. All names in the plan must be bound to tools."""
    calls: dict[NeededCall, None] = {}
    names: set[str] = set()
    for step in plan.steps:
        for use in _calls_of(step, tools):
            names.add(use.tool)
            calls.setdefault(_needed_call(use))
    needs = Needs(
        calls=tuple(calls),
        paths=tuple(sorted({reading.path for reading in _readings(plan, tools)})),
        clean=any(_commits(tools.tools.get(name)) for name in names),
        disk_mb=sum(tools.disk_mb.get(name, 0) for name in names),
    )
    return needs if needs != Needs() else None


def _needed_call(use: ToolUse) -> NeededCall:
    return NeededCall(tool=use.tool, arguments=use.arguments, later=tuple(sorted(use.takes)))


def preflight_use(needs: Needs) -> ToolUse:
    """Return the call of the built-in tool `workspace:look`, which checks the needs of a plan."""
    return built_in_use(WORKSPACE_LOOK, needs.model_dump(mode="json"), LOOK_SECONDS)


def judge_report(
    plan: Plan, tools: ToolSet, needs: Needs, report: PreflightReport, *, begun: bool
) -> tuple[Finding, ...]:
    """Return a finding for each need of a plan that is not met or perhaps not met.

    `begun` says whether earlier steps have run. If so, these steps may have made the uncommitted changes.
    """
    return tuple(_judge(plan, tools, needs, report, begun=begun))


def _judge(plan: Plan, tools: ToolSet, needs: Needs, report: PreflightReport, *, begun: bool) -> Iterator[Finding]:
    answers = dict(zip(needs.calls, report.calls, strict=False))
    reported: set[str] = set()
    for step in plan.steps:
        for use in _calls_of(step, tools):
            found = answers.get(_needed_call(use), _NOT_LOOKED_UP)
            if found.answer != "yes" and found.why not in reported:
                reported.add(found.why)
                yield _finding(found.answer == "no", f"the tool {use.tool!r}: {found.why}", step.step_id)
    yield from _judge_paths(plan, tools, report)
    yield from _judge_repository(plan, tools, needs, report, begun=begun)
    if needs.disk_mb and report.free_mb is None:
        yield _finding(False, "the free disk space of the workspace is not known", "")
    elif report.free_mb is not None and report.free_mb < needs.disk_mb:
        text = f"the tools need {needs.disk_mb:,} MB of disk space, but only {report.free_mb:,} MB are free"
        yield _finding(True, text, "")


def _judge_paths(plan: Plan, tools: ToolSet, report: PreflightReport) -> Iterator[Finding]:
    unmet = {path: found for path, found in report.paths.items() if found.answer != "yes"}
    if not unmet:
        return
    program, by_id = compile_plan(plan), {step.step_id: step for step in plan.steps}
    made_paths = {name: _made_by(tools.generator_use(step), tools) for name, step in by_id.items()}
    for step, path in _readings(plan, tools):
        found = unmet.pop(path, None)
        if found is None:
            continue
        others = by_id if program.repeats else _steps_before(program, step.step_id)
        earlier = [name for name in others if name != step.step_id]
        makers = [name for name, files in made_paths.items() if files and any(_is_inside(file, path) for file in files)]
        makers = [name for name in makers if name != step.step_id]
        if any(name in makers for name in earlier):
            continue
        if changing := [*makers, *(name for name in earlier if made_paths[name] is None)]:
            yield _finding(False, f"{found.why}, unless the step {changing[0]} makes it", step.step_id)
        else:
            yield _finding(found.answer == "no", found.why, step.step_id)


def _judge_repository(
    plan: Plan, tools: ToolSet, needs: Needs, report: PreflightReport, *, begun: bool
) -> Iterator[Finding]:
    if not needs.clean or (report.clean.answer == "yes" and not report.dirty):
        return
    step = next(
        item.step_id
        for item in plan.steps
        if any(_commits(tools.tools.get(use.tool)) for use in _calls_of(item, tools))
    )
    if not report.dirty:
        yield _finding(
            False, f"it is not known whether the repository has uncommitted changes: {report.clean.why}", step
        )
        return
    text = f"the step commits, but the workspace already has uncommitted changes: {list_paths(report.dirty)}"
    if report.clean.answer == "unknown" or begun:
        yield _finding(False, f"{text}; {report.clean.why or 'earlier steps may have made them'}", step)
    else:
        yield _finding(True, text, step)


def _finding(lacks: bool, message: str, where: str) -> Finding:
    if lacks:
        tags = (ReasonTag.MISSING_EVIDENCE,)
        return Finding(code=Code.WORLD_LACKS, message=message, where=where, tags=tags)
    return Finding(code=Code.WORLD_UNKNOWN, message=message, where=where, severity="warning")


def _calls_of(step: Step, tools: ToolSet) -> Iterator[ToolUse]:
    """Yield the calls of the user's tools in a step: its generator, its guard, and their pre-checks."""
    uses: Sequence[Use | None] = (tools.generator_use(step), tools.guard_use(step))
    for use in uses:
        if use is None or isinstance(use, PersonUse):
            continue
        if use.pre_check is not None:
            yield use.pre_check
        if isinstance(use, ToolUse):
            yield use


def _readings(plan: Plan, tools: ToolSet) -> Iterator[_Reading]:
    """Yield the paths that steps read: path arguments that must exist, and files that are shown to a model."""
    for step in plan.steps:
        for use in _calls_of(step, tools):
            yield from (_Reading(step, path) for path in _existing_paths(use, tools))
        use_of_step = tools.generator_use(step)
        if isinstance(use_of_step, ModelUse) and use_of_step.missing == "failure":
            files = (path for path in use_of_step.context_files if path != use_of_step.file)
            yield from (_Reading(step, path) for path in files)


def _existing_paths(use: ToolUse, tools: ToolSet) -> Iterator[str]:
    spec = tools.tools.get(use.tool)
    arguments = json.loads(use.arguments)
    for name, parameter in ({} if spec is None else spec.parameters).items():
        if isinstance(parameter, PathParameter) and parameter.exists and name in arguments:
            yield str(arguments[name])


def _made_by(use: Use, tools: ToolSet) -> tuple[str, ...] | None:
    """Return the files that a use makes; None if these files are unknown. The files that a person makes are unknown."""
    match use:
        case ModelUse():
            return (use.file,)
        case ToolUse():
            return tools.makes.get(use.tool)
        case PersonUse():
            return None
        case _:
            assert_never(use)


def _is_inside(made: str, path: str) -> bool:
    """Return whether making one path may also make the other: they are equal, or one contains the other."""
    made, path = made.removeprefix("./").rstrip("/"), path.removeprefix("./").rstrip("/")
    return made == path or made.startswith(f"{path}/") or path.startswith(f"{made}/")


def _steps_before(program: Program, step_id: str) -> list[str]:
    """Return the ids of the steps that a step waits for, directly or indirectly, because of dependencies or tokens."""
    makers: dict[int, list[int]] = {}
    for index, added in enumerate(program.adds):
        for token in bits(added):
            makers.setdefault(token, []).append(index)
    first = program.order.index[step_id]
    before, left = set[int](), [first]
    while left:
        index = left.pop()
        needed = (maker for token in bits(program.needs[index]) for maker in makers.get(token, ()))
        found = {*bits(program.dependencies[index]), *needed} - before - {first}
        before |= found
        left += found
    return [program.steps[index].step_id for index in sorted(before)]


def _commits(spec: ToolSpec | None) -> bool:
    if not isinstance(spec, CommandSpec) or spec.argv[0].rpartition("/")[2] != "git":
        return False
    return any(word in _COMMITS for word in spec.argv[1:])
