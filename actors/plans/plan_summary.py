"""A plan in short, for people: what it rests on, and a line for each step. `plan_lines` has all of it. Pure."""

from collections.abc import Iterator
from typing import Any

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, ESCALATE, NEVER, UNDO, Step
from actors.plans.plan_lines import one_of, value_lines
from actors.plans.reader import read_plan
from actors.values.lines import BLANK, Line, StyledSpan, line


def plan_summary(value: Any) -> list[Line]:
    """Return the plan with a line for each step, in order; what is not a plan of this kind is shown as JSON."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None:
        return value_lines(value)
    later = contingent_steps(plan)
    head = line(f"Plan {plan.plan_id}{f': {plan.goal}' if plan.goal else ''}", "bold")
    width = len(str(len(order.steps)))
    rows = (_row(f"{number:>{width}}. ", step, step.step_id in later) for number, step in enumerate(order.steps, 1))
    basis = [line(plan.basis, "yellow"), BLANK] if plan.basis else []
    return [*basis, head, *rows]


def _row(number: str, step: Step, contingent: bool) -> Line:
    name = f"  {step.name}" if step.name and step.name != step.step_id else ""
    spans = [StyledSpan(number), *line(step.step_id, "bold").spans, *(StyledSpan(f"  {part}") for part in _clean(name))]
    if step.guard:
        spans += [StyledSpan("  "), *line(f"[{step.guard}]", "cyan").spans]
    if contingent:
        spans.append(StyledSpan("  (only after a failure)", "yellow"))
    if step.outcomes:
        spans += [StyledSpan("  "), *line(f"tells {one_of(step)}").spans]
    failure = _failure(step)
    if failure:
        spans += [StyledSpan("  "), *line(failure, "dim").spans]
    return Line(tuple(spans), hang=len(number))


def _clean(name: str) -> Iterator[str]:
    if name:
        yield line(name).plain.strip()


def _failure(step: Step) -> str:
    """Return what happens when the step fails; empty where a person takes over, as for most steps."""
    match step.on_failure:
        case "escalate" | "never" | "continue" | "undo":
            texts = {ESCALATE: "", NEVER: "cannot fail", CONTINUE: "if it fails: go on", UNDO: "if it fails: undo all"}
            return texts[step.on_failure]
        case target:
            return f"if it fails: back to {target}"
