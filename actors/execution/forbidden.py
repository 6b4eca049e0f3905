"""What requirements forbid, compared with what steps use and do: tools, changed paths, and tokens. Pure."""

from collections.abc import Collection, Iterable, Iterator

from actors.plans.constraints import FORBIDS
from actors.plans.coverage import folded_name
from actors.plans.formatting import printable
from actors.plans.plan import Plan, Step
from actors.tools.snapshot_texts import touched
from actors.tools.uses import PersonUse, ToolSet, ToolUse
from actors.values.findings import Code, Finding, ReasonTag
from actors.values.requirements import Requirement, RequirementKind

PATHS_SHOWN = 5
"""The changed paths that a finding names."""


def forbidden_uses(requirements: Iterable[Requirement], step: Step, tools: ToolSet) -> tuple[Finding, ...]:
    """Return a finding for each requirement that forbids what executes or checks a step.

    The step's generator and guard are compared, and the names of the tools that they stand for.
    """
    forbidding = [each for each in requirements if each.kind == RequirementKind.MUST_AVOID and each.tools]
    if not forbidding:
        return ()
    used = {folded_name(name): name for name in _used(step, tools)}
    found = []
    for requirement in forbidding:
        name = next((used[folded_name(tool)] for tool in requirement.tools if folded_name(tool) in used), None)
        if name is not None:
            what = f"the step {printable(step.step_id, 100)!r} uses {printable(name, 100)!r}"
            found.append(_finding(requirement, what, step.step_id))
    return tuple(found)


def _used(step: Step, tools: ToolSet) -> Iterator[str]:
    """Yield the names of a step's generator and guard, and of what they stand for."""
    if step.guard:
        yield step.guard
    yield step.generator
    for use in (tools.guard_use(step), tools.generator_use(step)):
        if use is None:
            continue
        yield use.tool if isinstance(use, ToolUse) else use.name
        if not isinstance(use, PersonUse) and use.pre_check is not None:
            yield use.pre_check.tool


def broken_by_plan(plan: Plan, tools: ToolSet) -> Iterator[Finding]:
    """Yield what the steps of a plan do against its requirements, by their tools and by what their success changes."""
    forbidding = [item for item in plan.requirements if item.kind in FORBIDS and (item.tools or item.tokens)]
    for step in plan.steps if forbidding else ():
        yield from forbidden_uses(forbidding, step, tools)
        for item in forbidding:
            avoid = item.kind == RequirementKind.MUST_AVOID
            changed = step.effects if avoid else step.delete_effects - step.effects - plan.goal_state
            token = next((token for token in item.tokens if token in changed), None)
            if token is not None:
                verb = "adds" if avoid else "deletes"
                what = f"the step {printable(step.step_id, 100)!r} {verb} {printable(token, 100)}"
                yield _finding(item, what, step.step_id)


def changed_paths(requirements: Iterable[Requirement], changed: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose paths a step has changed."""
    found = []
    for requirement in _forbidding(requirements):
        paths = touched(changed, requirement.paths)
        if paths:
            more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
            shown = ", ".join(printable(path, 100) for path in paths[:PATHS_SHOWN])
            found.append(_finding(requirement, f"{shown}{more} changed", step))
    return tuple(found)


def broken_tokens(requirements: Iterable[Requirement], tokens: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose tokens must not hold and do, or must hold and do not."""
    found = []
    for requirement in _forbidding(requirements):
        wrong = [token for token in requirement.tokens if (token in tokens) == (requirement.kind == "must_avoid")]
        if wrong:
            verb = "holds" if requirement.kind == "must_avoid" else "does not hold"
            found.append(_finding(requirement, f"{printable(wrong[0], 100)} {verb}", step))
    return tuple(found)


def _forbidding(requirements: Iterable[Requirement]) -> Iterator[Requirement]:
    return (requirement for requirement in requirements if requirement.kind in FORBIDS)


def _finding(requirement: Requirement, what: str, step: str) -> Finding:
    return Finding(
        code=Code.VIOLATED,
        message=f"{requirement.kind}: {printable(requirement.text, 200)}: {what}",
        where=step,
        tags=(ReasonTag.REQUIREMENT_VIOLATION,),
    )
