"""plan_minimal: the plan can be read, and its steps fit together as a graph. Linear time."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from actors.guards.plan_settings import Settings, settings, verdict
from actors.guards.port import Guard
from actors.plans.graph import Order, cycles, order_of
from actors.plans.plan import RESERVED_IDS, Plan, Step, read_draft
from actors.plans.wording import kind, listed, plain, steps
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.open_questions import questions_of
from runtime.models.replies import Unreadable

BUDGET_MAX = 1_000_000
"""The largest budget that makes sense to read: far above any `r_max`."""

NEAR_MAX = 200
"""Steps of a plan up to which a misspelt dependency is compared with all ids; the comparison is slow."""

SCORE_MAX = 0.2
"""What a plan that fails here can score at most; the levels above share the rest."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What `plan_minimal` found out. `plan` and `order` are there iff no finding is an error."""

    findings: tuple[Finding, ...]
    score: float
    plan: Plan | None = None
    order: Order | None = None


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` on a setting it does not know."""
    chosen = settings(config)

    def plan_minimal(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, chosen)
        return verdict("plan_minimal", structure.findings, structure.score, {})

    return plan_minimal


def check_structure(artifact: Artifact, chosen: Settings) -> Structure:
    """Read the artifact and check everything that needs no meaning of tokens."""
    value = artifact.value
    if isinstance(value, Unreadable):
        return Structure((Finding(code=value.code, message=value.message),), 0.0)
    draft, read = read_draft(value.value)
    read = (*_questions(value.value), *read)
    if draft is None:
        return Structure(read, 0.0)
    order = order_of(draft)
    findings = [*read, *_structural(draft, chosen)]
    if order is None:
        findings.extend(_cycles(draft))
    else:
        findings.extend(_lost_targets(draft, order))
    if any(one.severity == "error" for one in findings):
        bad = {one.where for one in findings if one.severity == "error"}
        return Structure(tuple(findings), SCORE_MAX * max(0.0, 1 - len(bad) / (len(draft.steps) + 1)))
    return Structure(tuple(findings), 1.0, draft, order)


def _questions(value: Any) -> Iterator[Finding]:
    """Yield what the author of the plan could not know; as in other artifacts, but what asks nothing is passed over."""
    asked = value.get("open_questions") if isinstance(value, dict) else None
    found = questions_of(asked if isinstance(asked, list) else [])
    yield from (finding for finding in found if finding.code in (Code.OPEN_QUESTION, Code.CHOICE))


def _structural(plan: Plan, chosen: Settings) -> Iterator[Finding]:
    """Yield what is wrong with single steps and with names. Steps are looked at by id, not as listed."""
    known = {step.step_id for step in plan.steps}
    if len(known) < len(plan.steps):
        for step_id, count in sorted(Counter(step.step_id for step in plan.steps).items()):
            if count > 1:
                yield _at(step_id, Code.DUPLICATE_ID, f"{count} steps have this step_id; give each step its own.")
    repeatable = sum(step.repeatable for step in plan.steps)
    for step in sorted(plan.steps, key=attrgetter("step_id")):
        if step.step_id in RESERVED_IDS:
            yield _at(step.step_id, Code.RESERVED_ID, "this is a word of on_failure; choose another step_id.")
        if not known.issuperset(step.dependencies):
            yield _unknown_dependencies(step, known)
        if step.guard not in chosen.guard_catalog:
            yield _unknown_guard(step, chosen)
        if step.on_failure not in RESERVED_IDS and step.on_failure not in known:
            text = f"on_failure names no step: '{plain(step.on_failure)}'; use escalate, continue, never, or a step_id."
            yield _at(step.step_id, Code.UNKNOWN_TARGET, text)
        if not 1 <= step.retry_budget <= BUDGET_MAX:
            yield _bad_budget(step.step_id, f"step {plain(step.step_id)}: retry_budget", step.retry_budget)
        if step.repeatable and step.dependencies and repeatable == len(plan.steps):
            text = f"a repeatable step has no dependencies; remove {listed(step.dependencies)} and use preconditions."
            yield _at(step.step_id, Code.MIXED_REPEATABLE, text)
    if 0 < repeatable < len(plan.steps):
        odd = sorted(step.step_id for step in plan.steps if not step.repeatable)
        text = f"Either all steps are repeatable or none is; not repeatable: {steps(odd)}."
        yield Finding(code=Code.MIXED_REPEATABLE, where=odd[0], message=text)
    if not 1 <= plan.total_retry_budget <= BUDGET_MAX:
        yield _bad_budget("total_retry_budget", "total_retry_budget", plan.total_retry_budget)


def _at(step_id: str, code: Code, text: str) -> Finding:
    """Return an error about one step."""
    return Finding(code=code, where=step_id, message=f"step {plain(step_id)}: {text}")


def _bad_budget(where: str, name: str, value: int) -> Finding:
    """Say that a budget is out of range."""
    found = kind(value).removeprefix("the number ")
    text = f"{name} must be between 1 and {BUDGET_MAX}, not {found}; it counts all attempts, the first included."
    return Finding(code=Code.BAD_BUDGET, where=where, message=text)


def _unknown_dependencies(step: Step, known: set[str]) -> Finding:
    """Say which dependencies name no step."""
    lost = sorted(step.dependencies - known)
    near = get_close_matches(lost[0], sorted(known), n=1) if len(known) <= NEAR_MAX else []
    hint = f"did you mean '{plain(near[0])}'?" if near else "name existing step_ids or add the steps."
    return _at(step.step_id, Code.UNKNOWN_DEPENDENCY, f"dependencies name no step of this plan: {listed(lost)}; {hint}")


def _unknown_guard(step: Step, chosen: Settings) -> Finding:
    """Say that a guard is missing, or not in the catalogue."""
    allowed = listed(chosen.guard_catalog, limit=30)
    if not step.guard:
        text = f"step {plain(step.step_id)}: no guard checks this step; choose one of {allowed}."
        return Finding(code=Code.UNKNOWN_GUARD, where=step.step_id, message=text, severity="warning")
    text = f"unknown guard '{plain(step.guard)}'; choose one of {allowed}."
    return _at(step.step_id, Code.UNKNOWN_GUARD, text)


def _cycles(plan: Plan) -> Iterator[Finding]:
    """Yield one finding for each cycle of dependencies."""
    for ring in cycles(plan):
        path = " needs ".join((*map(plain, ring[:20]), plain(ring[0]) if len(ring) <= 20 else "…"))
        text = f"dependencies run in a circle, so none of these steps can ever start: {path}. Remove one dependency."
        yield Finding(code=Code.CYCLE, where=ring[0], message=text)


def _lost_targets(plan: Plan, order: Order) -> Iterator[Finding]:
    """Yield a finding for each `on_failure` that goes back to a step which is not before it."""
    if len(order.place) < len(plan.steps):
        return  # Ids repeat, so nobody can say which step is meant.
    for place, step in enumerate(order.steps):
        if step.on_failure in RESERVED_IDS:
            continue
        target = order.place.get(step.on_failure, place)
        if target != place and not order.ancestors[place] >> target & 1:
            text = (
                f"on_failure can only go back to this step or to one that it depends on, and it does not depend on "
                f"{plain(step.on_failure)}; add that dependency, or name another step."
            )
            yield _at(step.step_id, Code.UNKNOWN_TARGET, text)
