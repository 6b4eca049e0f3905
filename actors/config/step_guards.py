"""The built-in guards, and functions that make the guard of a step.

If a plug-in's guard raises, the error names the guard.
"""

from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

from actors.config.workflow import STRICT_GUARD, Workflow
from actors.guards import (
    critique,
    evidence_present,
    plan_expansive,
    plan_medium,
    plan_minimal,
    recon,
    requirements_agree,
    requirements_covered,
    review,
    strategy,
)
from actors.guards.port import (
    AnyGuard,
    Composite,
    GuardFactory,
    PureGuardFactory,
    composite,
    definition_of,
    total_guard,
)
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from runtime.core.errors import UsageProblem, root_cause
from runtime.core.messages import Halt

BUILT_IN: Mapping[str, PureGuardFactory] = {
    "analysis_valid": strategy.make_analysis_valid,
    "critique_valid": critique.make_critique_valid,
    "demands_planned": requirements_covered.make_demands_planned,
    "evidence_present": evidence_present.make,
    "fits_problem_type": strategy.make_fits_problem_type,
    "follows_critique": critique.make_follows_critique,
    "follows_strategy": strategy.make_follows_strategy,
    "human_review": review.make,
    "plan_expansive": plan_expansive.DEFINITION,
    "plan_medium": plan_medium.DEFINITION,
    "plan_minimal": plan_minimal.DEFINITION,
    "recon_valid": recon.make,
    "requirements_agree": requirements_agree.make,
    "requirements_covered": requirements_covered.make_requirements_covered,
    "strategy_valid": strategy.make_strategy_valid,
}
"""A mapping from the names that workflows use to the factories of the built-in guards."""


class PlugInFailed(Exception):
    """A plug-in has raised an error. The message has the plug-in's kind and name, and the error's type, text and line.

    The run stops with the reason `plugin`, so that the user can repair the plug-in and continue the run.
    """

    halt: Halt = "plugin"


@contextmanager
def attribute_errors(plugin: str) -> Iterator[None]:
    """Convert an error in the `with` block to a `PlugInFailed`.

    Its message begins with `plugin`, such as `guard small`.

    For an exception group, the message is about the root cause. A `PlugInFailed` is raised unchanged. Cancellations and
    interrupts are raised unchanged too, because they are not errors of the plug-in.
    """
    try:
        yield
    except PlugInFailed:
        raise
    except (Exception, BaseExceptionGroup) as error:
        cause = _error_to_report(error)
        if cause is None:
            raise
        raise PlugInFailed(f"{plugin}: {type(cause).__name__}: {cause}{_place_of(cause)}") from error


def _error_to_report(error: BaseException) -> Exception | None:
    if isinstance(error, BaseExceptionGroup) and error.subgroup((KeyboardInterrupt, SystemExit)) is not None:
        return None
    cause = root_cause(error)
    return cause if isinstance(cause, Exception) else None


_NOT_A_PLUG_IN = {"actors", "replan", "runtime", "anyio", "outcome", "trio"}
"""The packages of this program, and the packages that run a plug-in's tasks. The place of a plug-in's error is never in
these packages."""


def _place_of(error: Exception) -> str:
    """Return the last line of the plug-in's code in a traceback, as ` (FILE:LINE)`; empty if it has no such line."""
    frames = [
        (frame.f_code.co_filename, number)
        for frame, number in walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _NOT_A_PLUG_IN
    ]
    lines = [number for name, number in frames if name == frames[0][0]]  # Deeper files are libraries.
    return f" ({Path(frames[0][0]).name}:{lines[-1]})" if lines else ""


def _name_guard(name: str, guard: AnyGuard) -> AnyGuard:

    def judge(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        with attribute_errors(f"guard {name}"):
            answer = guard(artifact, context)
        return _await_verdict(name, answer) if isinstance(answer, Awaitable) else _check_verdict(name, answer)

    return judge


async def _await_verdict(name: str, awaitable: Awaitable[object]) -> Verdict:
    with attribute_errors(f"guard {name}"):
        answer = await awaitable
    return _check_verdict(name, answer)


def _check_verdict(name: str, answer: object) -> Verdict:
    if isinstance(answer, Verdict):
        return answer
    raise PlugInFailed(f"guard {name} returned {type(answer).__name__}, not a Verdict")


def guards_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """Return the names of the guards that judge a step, with plan guards replaced according to the target level."""
    guard = workflow.effective_guard(step)
    return guard.members if isinstance(guard, Composite) else (guard,)


class GuardRefused(UsageProblem):
    """A guard does not accept its settings, or cannot be made from them."""

    def __init__(self, guard: str, path: tuple[str, ...], problem: UsageProblem) -> None:
        super().__init__(f"guard {guard!r}: {problem.cause}", place=problem.place, hint=problem.hint)
        self.guard, self.path, self.problem = guard, path, problem


def make_step_guard(workflow: Workflow, step: str, factories: Mapping[str, GuardFactory]) -> AnyGuard:
    """Return the guard that judges a step at the workflow's target level.

    If a built-in guard raises, the artifact is rejected. If a plug-in raises, the error names the plug-in. If a
    composite contains the review by a person, the returned guard has only the other members.

    Raises:
        GuardRefused: a guard does not accept its settings.
    """
    members = {name: _make_guard(workflow, step, name, factories) for name in guards_of(workflow, step)}
    guard = workflow.effective_guard(step)
    if isinstance(guard, str):
        return members[guard]
    automatic = {name: member for name, member in members.items() if name != review.NAME}
    return composite(guard.kind, automatic, absent=len(members) - len(automatic))


def _make_guard(workflow: Workflow, step: str, name: str, factories: Mapping[str, GuardFactory]) -> AnyGuard:
    settings, ours = _guard_settings(workflow, step, name, factories[name]), factories[name] is BUILT_IN.get(name)
    try:
        guard = factories[name](settings)
        return total_guard(name, guard) if ours else _name_guard(name, guard)
    except UsageProblem as problem:
        own = workflow.action_pairs[step].guard_config
        member = next((alias for alias in _aliases(workflow, step, name) if alias in own), None)
        raise GuardRefused(name, () if member is None else (member,), problem) from problem


def is_slow(workflow: Workflow, step: str, factories: Mapping[str, GuardFactory]) -> bool:
    """Return whether at least one guard of the step is slow, so that the guard should run in a worker thread."""
    return any(definition_of(factories[name]).slow for name in guards_of(workflow, step))


def _guard_settings(workflow: Workflow, step: str, name: str, factory: GuardFactory) -> dict[str, Any]:
    """Return the settings of one guard of a step, from the workflow and from the step's `guard_config`.

    In a composite, a key of `guard_config` that is the name of a member has settings for this member only. Every other
    key is a setting of all members except `human_review`.
    """
    shared: dict[str, Any] = {
        "r_max": workflow.r_max,
        "guard_catalog": list(workflow.guard_catalog),
        "assurance": workflow.assurance,
    }
    inherited = {key: shared[key] for key in sorted(definition_of(factory).workflow_settings)}
    pair = workflow.action_pairs[step]
    if name == STRICT_GUARD and name not in pair.guards:
        return inherited  # The option `strict` added this guard. `guard_config` is for the guards that the file names.
    if not isinstance(pair.guard, Composite):
        return inherited | dict(pair.guard_config)
    members = {alias for member in guards_of(workflow, step) for alias in _aliases(workflow, step, member)}
    common: dict[str, Any] = {}
    if name != review.NAME:
        common = {key: value for key, value in pair.guard_config.items() if key not in members}
    for alias in _aliases(workflow, step, name):
        value = pair.guard_config.get(alias, {})
        if not isinstance(value, Mapping):
            problem = UsageProblem(
                "its settings must be a mapping", place="guard_config", hint=f"{alias}: {{KEY: VALUE}}"
            )
            raise GuardRefused(name, (alias,), problem)
        common |= value
    return inherited | common


def _aliases(workflow: Workflow, step: str, name: str) -> tuple[str, ...]:
    """Return the names by which `guard_config` may name a member of a composite; empty if the guard is not a composite.

    Because of the target level, a member can replace guards that the file names. The names of the replaced guards come
    before the member's own name.
    """
    pair = workflow.action_pairs[step]
    if not isinstance(pair.guard, Composite):
        return ()
    replaced = (guard for guard in pair.guards if guard != name and workflow.guard_at_target_level(step, guard) == name)
    return (*replaced, name)
