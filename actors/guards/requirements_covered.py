"""Two guards that compare a plan with what the user wants.

`requirements_covered`: a plan covers each stated goal, and does nothing that a requirement forbids. The requirements
come from recon and from the plan. Only the plan's requirements have tokens. A goal is covered if a step whose
`satisfies` names the goal helps to make a token of the goal. This token must be in `goal_state`. A step must not use a
forbidden tool as its generator or guard. A step must not add a forbidden token, or delete a token that must be kept.
All other requirements are listed as not checked. For each goal, the time is linear in the plan.

`demands_planned`: each demand of the user's text is in a step of the plan. The package `actors.demands` finds the
demands in the problem, in later messages and in answers. The option `strict` adds this guard. Without this guard,
missing demands are only shown after the plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.demands.table import DemandTable, TableRow, demand_table
from actors.demands.user_texts import user_texts_in
from actors.guards.fields import (
    ITEMS_MAX,
    comparable_name,
    dependency,
    normalize_name,
    object_of,
    quote_text,
    verdict_of,
    warn_if_given,
    without_settings,
)
from actors.guards.requirements_agree import disagreements
from actors.plans.coverage import GOALS_MAX, CheckedRequirement, RequirementStanding, check_requirements
from actors.plans.plan import Plan, Step
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.format import format_count, id_list, printable, quote_names, shorten
from actors.values.requirements import Requirement, RequirementKind, requirements_in

REQUIREMENTS_COVERED = "requirements_covered"
SATISFIED_MAX = 5
"""The largest number of requirements that one step may satisfy without a warning. Requirements of the kind `scope` do
not count, because they are only shown.
"""
_VIOLATION = (ReasonTag.REQUIREMENT_VIOLATION,)


def _judge_coverage(artifact: Artifact, context: Context) -> Verdict:
    value, unreadable = object_of(artifact)
    if value is None:
        return verdict_of(REQUIREMENTS_COVERED, unreadable)
    recon = dependency(context, "recon")
    if not value.get("requirements") and not (recon or {}).get("requirements"):
        return verdict_of(REQUIREMENTS_COVERED, ())  # Most plans of other workflows: nothing else is read.
    draft, findings = read_draft(value)
    if draft is None:
        return verdict_of(REQUIREMENTS_COVERED, findings)
    plan = add_stated_requirements(draft, recon)
    conflicts = () if recon is not None else disagreements(plan.requirements, context)
    results = check_requirements(plan)
    return verdict_of(
        REQUIREMENTS_COVERED,
        [
            *conflicts,
            *warn_if_given(_check_coverage(plan, results), context, Code.UNCOVERED),
            *_check_tools(plan),
            *_check_steps(plan),
        ],
        len(plan.requirements),
        {
            "not_checked": [
                result.requirement.id for result in results if result.standing is RequirementStanding.NOT_CHECKED
            ]
        },
    )


def add_stated_requirements(plan: Plan, recon: Mapping[str, Any] | None) -> Plan:
    """Return the plan with the requirements of recon added.

    If the plan already has a requirement of recon, the requirement keeps the tokens that the plan gives it.
    """
    own = {item.id: item for item in plan.requirements}
    raw = None if recon is None else recon.get("requirements")
    for item in requirements_in(raw[:ITEMS_MAX] if isinstance(raw, list) else ()):
        mine = own.get(item.id)
        if mine is None:
            own[item.id] = item._replace(tokens=(), depends_on=())
        else:
            # An author may forget a prohibition, but may not change the kind of a requirement.
            own[item.id] = mine._replace(
                kind=item.kind,
                text=item.text if item.ambiguous else mine.text,
                tools=tuple(dict.fromkeys((*item.tools, *mine.tools))),
                paths=item.paths,
                readings=item.readings,
            )
    stated = tuple(own.values())
    return plan if stated == plan.requirements else _replace_requirement(plan, stated)


def _replace_requirement(plan: Plan, stated: tuple[Requirement, ...]) -> Plan:
    fields = {name: getattr(plan, name) for name in Plan.__dataclass_fields__}
    return Plan(**fields | {"requirements": stated})


def _check_coverage(plan: Plan, results: Sequence[CheckedRequirement]) -> Iterator[Finding]:
    goals = sum(1 for item in plan.requirements if item.kind == RequirementKind.GOAL)
    if goals > GOALS_MAX:
        message = f"the plan has {goals:,} goal requirements; at most {GOALS_MAX} are allowed"
        yield Finding(code=Code.TOO_LARGE, message=message, where="requirements")
    for item, standing, steps in results:
        name = f"requirement {printable(item.id)} ({quote_text(item.text)})"
        if standing is RequirementStanding.UNCOVERED:
            message = f"{name} is not covered: {_uncovered_reason(item, plan)}"
            yield Finding(code=Code.UNCOVERED, message=message, where=item.id, tags=_VIOLATION)
        for step in steps if standing is RequirementStanding.VIOLATED else ():
            message = f"step {printable(step)} breaks {name}; reach the goal without this step"
            yield Finding(code=Code.VIOLATED, message=message, where=step, tags=_VIOLATION)
    yield from _check_order(plan)


def _uncovered_reason(item: Requirement, plan: Plan) -> str:
    tokens = [token for token in item.tokens if token in plan.goal_state]
    satisfying = sorted(step.step_id for step in plan.steps if item.id in step.satisfies)
    if not item.tokens:
        return "its 'tokens' are empty; list the tokens of goal_state that hold once this goal is reached"
    if not tokens:
        return f"none of its tokens is in goal_state: {quote_names(item.tokens)}"
    if not satisfying:
        return f"no step satisfies it; add its id to 'satisfies' of a step that leads to {quote_names(tokens)}"
    return f"the effects of {id_list(satisfying)} do not lead to {quote_names(tokens)}"


def _check_order(plan: Plan) -> Iterator[Finding]:
    """Yield a warning for each goal that depends on an unknown goal, and an error if goals depend on each other."""
    stated = [item for item in plan.requirements if item.kind == RequirementKind.GOAL]
    goals = {item.id: item for item in stated[:GOALS_MAX]}
    for item in goals.values():
        unknown = sorted(set(item.depends_on) - goals.keys())
        if unknown:
            message = f"requirement {printable(item.id)}: depends_on names unknown goals: {quote_names(unknown)}"
            yield Finding(code=Code.UNKNOWN_REQUIREMENT, message=message, where=item.id, severity="warning")
    waiting = {name: {other for other in item.depends_on if other in goals} for name, item in goals.items()}
    while free := {name for name, others in waiting.items() if not others}:
        waiting = {name: others - free for name, others in waiting.items() if name not in free}
    if waiting:
        first, *_ = sorted(waiting)
        message = f"these goals depend on each other, so none can be reached first: {id_list(sorted(waiting))}"
        yield Finding(code=Code.GOAL_CYCLE, message=message, where=first)


def _check_tools(plan: Plan) -> Iterator[Finding]:
    forbidden = {
        normalize_name(tool): (tool, item)
        for item in plan.requirements
        if item.kind == RequirementKind.MUST_AVOID
        for tool in item.tools
    }
    for step in _sort_steps(plan) if forbidden else ():
        for used in (step.generator, step.guard):
            tool, item = forbidden.get(normalize_name(used), ("", None))
            if item is not None and used and comparable_name(used) != comparable_name(tool):
                why = f"the similar name {quote_text(tool)} is forbidden by requirement {item.id}"
                message = f"step {printable(step.step_id)} uses {quote_text(used)}; {why}"
                yield Finding(code=Code.NEARLY_VIOLATED, message=message, where=step.step_id, severity="warning")


def _check_steps(plan: Plan) -> Iterator[Finding]:
    """Yield a warning for each step that satisfies many requirements, because its guard can hardly check all."""
    shown_only = {item.id for item in plan.requirements if item.kind == RequirementKind.SCOPE}
    for step in _sort_steps(plan):
        satisfied = step.satisfies - shown_only
        if len(satisfied) > SATISFIED_MAX:
            message = (
                f"step {printable(step.step_id)} satisfies {len(satisfied)} requirements, but one check can cover "
                f"at most {SATISFIED_MAX}; split the step"
            )
            yield Finding(code=Code.MANY_SATISFIED, message=message, where=step.step_id, severity="warning")


def _sort_steps(plan: Plan) -> list[Step]:
    return sorted(plan.steps, key=lambda step: step.step_id)


DEMANDS_PLANNED = "demands_planned"
FINDINGS_MAX = 20
"""The largest number of demands in no step that one verdict quotes. Further demands are only counted."""
QUOTE_MAX = 300
"""The largest number of characters of a demand that a finding quotes."""


def _judge_demands(artifact: Artifact, context: Context) -> Verdict:
    value, unreadable = object_of(artifact)
    if value is None:
        return verdict_of(DEMANDS_PLANNED, unreadable)
    plan, findings = read_draft(value)
    if plan is None:
        return verdict_of(DEMANDS_PLANNED, findings)
    if context.given is not None and context.given.initial_state is not None:
        # The plan continues an execution, which has done a part of the work and has its own table.
        return verdict_of(DEMANDS_PLANNED, ())
    table = demand_table(user_texts_in(context), add_stated_requirements(plan, dependency(context, "recon")))
    return verdict_of(DEMANDS_PLANNED, list(_missing_demands(table)), len(table.rows))


def _missing_demands(table: DemandTable) -> Iterator[Finding]:
    """Yield an error for each demand that is in no step.

    After `FINDINGS_MAX` errors, one last error counts the other demands.
    """
    missing = table.in_no_step
    for row in missing[:FINDINGS_MAX]:
        quote = shorten(row.quote, QUOTE_MAX)
        unstated = row.requirement is None
        message = f'the text demands "{quote}", but no step covers this demand; {_advice(row)}'
        tag = ReasonTag.MISSING_EVIDENCE if unstated else ReasonTag.REQUIREMENT_VIOLATION
        yield Finding(code=Code.DEMAND_IN_NO_STEP, message=message, where=row.id, tags=(tag,))
    more = len(missing) - FINDINGS_MAX
    if more > 0:
        message = f"{format_count(more, 'more demand')} of the text {'is' if more == 1 else 'are'} in no step"
        yield Finding(code=Code.DEMAND_IN_NO_STEP, message=message, where="requirements")


def _advice(row: TableRow) -> str:
    if row.requirement is not None:
        return f"add {row.requirement} to 'satisfies' of a step that leads to the goal, and let no step break it"
    stated = f"add a requirement of kind {row.kind} with these words as its quote"
    return f"{stated}, and let a step satisfy this requirement" if row.kind == RequirementKind.GOAL else stated


make_requirements_covered = without_settings(REQUIREMENTS_COVERED, _judge_coverage)


make_demands_planned = without_settings(DEMANDS_PLANNED, _judge_demands)
