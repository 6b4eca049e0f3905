"""`plan_minimal`: the plan has the right format, and its steps form a valid graph. The time is linear in the plan."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from actors.files.suggestions import closest
from actors.guards.plan_settings import WORKFLOW_SETTINGS, Settings, plan_verdict, read_settings
from actors.guards.port import Guard, GuardDefinition
from actors.plans.graph import StepOrder, cycles, order_of
from actors.plans.plan import RESERVED_IDS, RESERVED_OUTCOMES, Plan, Step
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import describe_value, id_list, printable, quote_names
from actors.values.open_questions import find_misunderstandings, questions_of
from runtime.models.replies import Unreadable

BUDGET_MAX = 1_000_000
"""The largest number of attempts that a plan's `retry_budget` or `total_retry_budget` may allow at this level. It is
far above any `r_max`."""

NEAR_MAX = 200
"""The largest number of steps of a plan whose ids are compared with a misspelt dependency. In a plan with more steps,
no id is suggested."""
NEAR_LENGTH_MAX = 40
"""The largest number of characters in an id that is suggested for a misspelt id, and in the misspelt id."""
NEAR_STEPS_MAX = 10
"""Ids are suggested for at most this many steps with misspelt dependencies. All searches for similar ids together then
take at most half a second.
"""

SCORE_MAX = 0.2
"""The highest score of a plan that fails at this level. The higher levels use higher scores."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What the checks of `plan_minimal` found in one plan."""

    findings: tuple[Finding, ...]
    score: float
    """The score of the verdict; 1.0 if and only if no finding is an error."""
    plan: Plan | None = None
    order: StepOrder | None = None


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` for an unknown or invalid setting."""
    settings = read_settings(config)

    def plan_minimal(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, settings)
        return plan_verdict("plan_minimal", structure.findings, structure.score, {})

    return plan_minimal


DEFINITION = GuardDefinition(make, workflow_settings=WORKFLOW_SETTINGS)


def check_structure(artifact: Artifact, settings: Settings) -> Structure:
    """Read the plan from the artifact and check everything that does not depend on the meaning of tokens."""
    value = artifact.value
    if isinstance(value, Unreadable):
        return Structure((Finding(code=value.code, message=value.message),), 0.0)
    draft, field_findings = read_draft(value.value)
    not_understood = tuple(find_misunderstandings(value.value))
    if any(finding.severity == "error" for finding in not_understood):
        return Structure(not_understood, 0.0)
    findings = [*_check_questions(value.value), *not_understood, *field_findings]
    if draft is None:
        return Structure(tuple(findings), 0.0)
    order = order_of(draft)
    findings.extend(_check_steps(draft, settings))
    findings.extend(_check_cycles(draft) if order is None else _check_targets(draft, order))
    findings.extend(_check_requirements(draft))
    wrong_places = {finding.where for finding in findings if finding.severity == "error"}
    if wrong_places:
        return Structure(tuple(findings), SCORE_MAX * max(0.0, 1 - len(wrong_places) / (len(draft.steps) + 1)))
    return Structure(tuple(findings), 1.0, draft, order)


def _check_questions(value: Any) -> Iterator[Finding]:
    questions = value.get("open_questions") if isinstance(value, dict) else None
    findings = questions_of(questions if isinstance(questions, list) else [])
    yield from (finding for finding in findings if finding.code in (Code.OPEN_QUESTION, Code.CHOICE, Code.TOO_LARGE))


def _check_requirements(plan: Plan) -> Iterator[Finding]:
    known = {requirement.id for requirement in plan.requirements}
    for step in plan.steps:
        if not known.issuperset(step.satisfies):
            unknown = quote_names(sorted(step.satisfies - known))
            text = f"step {printable(step.step_id)}: satisfies names unknown requirements of this plan: {unknown}."
            yield Finding(code=Code.UNKNOWN_REQUIREMENT, where=step.step_id, message=text, severity="warning")


def _check_steps(plan: Plan, settings: Settings) -> Iterator[Finding]:
    known = {step.step_id for step in plan.steps}
    if len(known) < len(plan.steps):
        for step_id, count in sorted(Counter(step.step_id for step in plan.steps).items()):
            if count > 1:
                yield _step_error(
                    step_id, Code.DUPLICATE_ID, f"{count} steps have this step_id; give each step its own step_id."
                )
    repeatable = sum(step.repeatable for step in plan.steps)
    similar = sorted(name for name in known if len(name) <= NEAR_LENGTH_MAX) if len(known) <= NEAR_MAX else []
    searched, allowed = 0, quote_names(settings.guard_catalog, limit=30)
    for step in sorted(plan.steps, key=attrgetter("step_id")):
        if step.step_id in RESERVED_IDS:
            yield _step_error(
                step.step_id, Code.RESERVED_ID, "this step_id is a word that on_failure uses; choose another step_id."
            )
        if not known.issuperset(step.dependencies):
            yield _dependency_finding(step, known, similar if searched < NEAR_STEPS_MAX else [])
            searched += 1
        if step.guard not in settings.guard_catalog and (step.guard or not step.outcomes):
            yield _guard_finding(step, allowed)
        if step.on_failure not in RESERVED_IDS and step.on_failure not in known:
            target = printable(step.on_failure)
            text = f"on_failure names an unknown step '{target}'; use escalate, continue, never, undo, or a step_id."
            yield _step_error(step.step_id, Code.UNKNOWN_TARGET, text)
        if not 1 <= step.retry_budget <= BUDGET_MAX:
            yield _budget_finding(step.step_id, f"step {printable(step.step_id)}: retry_budget", step.retry_budget)
        yield from _check_outcomes(step)
        if step.repeatable and step.dependencies and repeatable == len(plan.steps):
            text = (
                f"a repeatable step must have no dependencies; remove {quote_names(step.dependencies)}, and use "
                f"preconditions."
            )
            yield _step_error(step.step_id, Code.MIXED_REPEATABLE, text)
    if 0 < repeatable < len(plan.steps):
        others = sorted(step.step_id for step in plan.steps if not step.repeatable)
        text = f"Either all steps or no steps must be repeatable; these are not: {id_list(others)}."
        yield Finding(code=Code.MIXED_REPEATABLE, where=others[0], message=text)
    if not 1 <= plan.total_retry_budget <= BUDGET_MAX:
        yield _budget_finding("total_retry_budget", "total_retry_budget", plan.total_retry_budget)


def _check_outcomes(step: Step) -> Iterator[Finding]:
    names = [outcome.name for outcome in step.outcomes]
    for name, count in sorted(Counter(names).items()):
        shown = printable(name)
        if not name:
            yield _step_error(step.step_id, Code.BAD_OUTCOME, "an outcome has no name; give each outcome its own name.")
        elif name in RESERVED_OUTCOMES:
            text = (
                f"an outcome must not be named '{shown}': on_failure is for failures, and a success needs no name. "
                f"Name the outcome after what the result says."
            )
            yield _step_error(step.step_id, Code.BAD_OUTCOME, text)
        elif count > 1:
            yield _step_error(
                step.step_id, Code.BAD_OUTCOME, f"{count} outcomes are named '{shown}'; give each its own name."
            )


def _step_error(step_id: str, code: Code, text: str) -> Finding:
    return Finding(code=code, where=step_id, message=f"step {printable(step_id)}: {text}")


def _budget_finding(where: str, name: str, value: int) -> Finding:
    number = describe_value(value).removeprefix("the number ")
    text = f"{name} must be between 1 and {BUDGET_MAX}, not {number}; it counts all attempts, including the first."
    return Finding(code=Code.BAD_BUDGET, where=where, message=text)


def _dependency_finding(step: Step, known: set[str], similar: list[str]) -> Finding:
    """Return the error about dependencies whose ids belong to no step.

    `similar` are the ids that the message may suggest.
    """
    unknown = sorted(step.dependencies - known)
    near = closest(unknown[0], similar) if len(unknown[0]) <= NEAR_LENGTH_MAX else ""
    hint = f"did you mean '{printable(near)}'?" if near else "name existing step_ids, or add the missing steps."
    return _step_error(
        step.step_id, Code.UNKNOWN_DEPENDENCY, f"dependencies name unknown steps: {quote_names(unknown)}; {hint}"
    )


def _guard_finding(step: Step, allowed: str) -> Finding:
    if not step.guard:
        text = f"step {printable(step.step_id)}: no guard checks this step; choose a guard from {allowed}."
        return Finding(code=Code.UNKNOWN_GUARD, where=step.step_id, message=text, severity="warning")
    text = f"unknown guard '{printable(step.guard)}'; choose one of {allowed}."
    return _step_error(step.step_id, Code.UNKNOWN_GUARD, text)


def _check_cycles(plan: Plan) -> Iterator[Finding]:
    for cycle in cycles(plan):
        path = " needs ".join((*map(printable, cycle[:20]), printable(cycle[0]) if len(cycle) <= 20 else "…"))
        text = f"these steps depend on each other, so none of them can start: {path}. Remove one dependency."
        yield Finding(code=Code.CYCLE, where=cycle[0], message=text)


def _check_targets(plan: Plan, order: StepOrder) -> Iterator[Finding]:
    if len(order.index) < len(plan.steps):
        return  # Ids repeat, so a target is ambiguous.
    for index, step in enumerate(order.steps):
        if step.on_failure in RESERVED_IDS:
            continue
        target = order.index.get(step.on_failure, index)
        if target != index and not order.ancestors[index] >> target & 1:
            text = (
                f"on_failure must name this step or a step that it depends on. It does not depend on "
                f"{printable(step.on_failure)}; add this dependency, or name another step."
            )
            yield _step_error(step.step_id, Code.UNKNOWN_TARGET, text)
