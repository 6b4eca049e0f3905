"""A plan for people: its steps in order, what each needs and makes, who checks it, and what a failure leads to."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.text import Text

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, ESCALATE, NEVER, Plan, Step
from actors.plans.reader import read_plan
from replan.views.console import Row, line
from replan.views.format import counted
from runtime.logs.terminal_text import clean


def plan_lines(value: Any) -> list[Row]:
    """Return the plan, a line at a time; what is not a plan of this kind is shown as JSON."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan)
    if plan is None or order is None:
        return value_lines(value)
    later = contingent_steps(plan)
    lines = [Row(line(f"Plan {plan.plan_id}{f': {plan.goal}' if plan.goal else ''}", "bold"))]
    lines.append(_field("start", plan.initial_state))
    lines.append(_field("goal", plan.goal_state))
    for number, step in enumerate(order.steps, 1):
        lines.append(Row(Text("")))
        lines += _step(number, step, contingent=step.step_id in later)
    lines += _invariants(plan)
    return lines


def value_lines(value: Any) -> list[Row]:
    """Return an artifact's JSON value, a line at a time; a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [Row(Text(row)) for row in clean(text).rstrip("\n").split("\n")]


def _step(number: int, step: Step, *, contingent: bool) -> Iterator[Row]:
    title = line(f"{number}. {step.step_id}", "bold")
    if step.name and step.name != step.step_id:
        title.append("  ").append_text(line(step.name))
    if contingent:
        title.append("  (only after a failure)", style="yellow")
    yield Row(title, 3)
    if step.description and step.description != step.name:
        yield _indented(step.description, "dim")
    if step.dependencies:
        yield _field("after", step.dependencies)
    if step.preconditions:
        yield _field("needs", step.preconditions)
    if step.effects:
        yield _field("makes", step.effects)
    if step.delete_effects:
        yield _field("ends", step.delete_effects)
    checked = f"{step.guard}, " if step.guard else ""
    again = ", may run again" if step.repeatable else ""
    yield _field("guard", [f"{checked}{counted(step.retry_budget, 'attempt')}{again}"])
    yield _field("fails", [_failure(step)])


def _failure(step: Step) -> str:
    match step.on_failure:
        case "escalate" | "never" | "continue":
            said = {
                ESCALATE: "hand over to a person or the replanner",
                NEVER: "cannot fail",
                CONTINUE: "go on without it",
            }[step.on_failure]
        case target:
            said = f"go back to {target}"
    if step.failure_effects:
        said += f", leaving {_names(step.failure_effects)}"
    if step.failure_delete_effects:
        said += f", ending {_names(step.failure_delete_effects)}"
    return said


def _invariants(plan: Plan) -> Iterator[Row]:
    if plan.invariants:
        yield Row(Text(""))
        yield Row(line("Always", "bold"))
    for one in plan.invariants:
        when = f"while {_names(one.when)}: " if one.when else ""
        rules = [f"{_names(one.must)} must hold"] if one.must else []
        rules += [f"never {_names(one.must_not)}"] if one.must_not else []
        yield _indented(f"{when}{'; '.join(rules)}")


def _field(name: str, values: Iterable[str]) -> Row:
    text = Text("   ")
    text.append(f"{name:<7}", style="cyan")
    return Row(text.append_text(line(", ".join(sorted(values)) or "nothing")), 10)


def _indented(text: str, style: str = "") -> Row:
    return Row(Text("   ").append_text(line(text, style)), 3)


def _names(tokens: Iterable[str]) -> str:
    return ", ".join(sorted(tokens))
