"""A plan for people: its steps in order, with their tokens, guards and failures. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, ESCALATE, IRREVERSIBLE, NEVER, NOTHING, UNDO, Plan, Step
from actors.plans.reader import read_plan
from actors.values.format import counted
from actors.values.lines import BLANK, Line, StyledSpan, indented, line
from runtime.logs.terminal_text import clean


def plan_lines(value: Any) -> list[Line]:
    """Return the plan, a line at a time; what is not a plan of this kind is shown as JSON."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None:
        return value_lines(value)
    later = contingent_steps(plan)
    lines = [line(plan.basis, "yellow"), BLANK] if plan.basis else []
    lines.append(line(f"Plan {plan.plan_id}{f': {plan.goal}' if plan.goal else ''}", "bold"))
    lines.append(_field("start", plan.initial_state))
    lines.append(_field("goal", plan.goal_state))
    for number, step in enumerate(order.steps, 1):
        lines.append(BLANK)
        lines += _step(number, step, contingent=step.step_id in later)
    lines += _invariants(plan)
    return lines


def value_lines(value: Any) -> list[Line]:
    """Return an artifact's JSON value, a line at a time; a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return [Line((StyledSpan(row),)) for row in clean(text).rstrip("\n").split("\n")]


def _step(number: int, step: Step, *, contingent: bool) -> Iterator[Line]:
    title = line(f"{number}. {step.step_id}", "bold", hang=3)
    if step.name and step.name != step.step_id:
        title += Line((StyledSpan("  "), *line(step.name).spans))
    if contingent:
        title += Line((StyledSpan("  (only after a failure)", "yellow"),))
    yield title
    if step.description and step.description != step.name:
        yield indented(step.description, "dim")
    if step.dependencies:
        yield _field("after", step.dependencies)
    if step.preconditions:
        yield _field("needs", step.preconditions)
    if step.effects:
        yield _field("makes", step.effects)
    if step.delete_effects:
        yield _field("ends", step.delete_effects)
    for outcome in step.outcomes:
        ended = f", ending {_names(outcome.delete_effects)}" if outcome.delete_effects else ""
        yield _field("either", [f"{outcome.name}: {_names(outcome.effects) or 'nothing'}{ended}"])
    checked = f"{step.guard}, " if step.guard else ""
    again = ", may run again" if step.repeatable else ""
    yield _field("guard", [f"{checked}{counted(step.retry_budget, 'attempt')}{again}"])
    yield _field("fails", [_failure(step)])
    if step.undo:
        words = {NOTHING: "it changes nothing", IRREVERSIBLE: "it cannot be undone"}
        yield _field("undo", [words.get(step.undo, step.undo)])


def one_of(step: Step) -> str:
    """Return the names of a step's outcomes, as in `red, green or black`."""
    *names, last = [outcome.name for outcome in step.outcomes]
    return f"{', '.join(names)} or {last}" if names else last


def _failure(step: Step) -> str:
    match step.on_failure:
        case "escalate" | "never" | "continue" | "undo":
            text = {
                UNDO: "undo everything and end",
                ESCALATE: "hand over to a person or the replanner",
                NEVER: "cannot fail",
                CONTINUE: "go on without it",
            }[step.on_failure]
        case target:
            text = f"go back to {target}"
    if step.failure_effects:
        text += f", leaving {_names(step.failure_effects)}"
    if step.failure_delete_effects:
        text += f", ending {_names(step.failure_delete_effects)}"
    return text


def _invariants(plan: Plan) -> Iterator[Line]:
    if plan.invariants:
        yield BLANK
        yield line("Always", "bold")
    for invariant in plan.invariants:
        when = f"while {_names(invariant.when)}: " if invariant.when else ""
        rules = [f"{_names(invariant.must)} must hold"] if invariant.must else []
        rules += [f"never {_names(invariant.must_not)}"] if invariant.must_not else []
        yield indented(f"{when}{'; '.join(rules)}")


def _field(name: str, values: Iterable[str]) -> Line:
    value = line(", ".join(sorted(values)) or "nothing")
    return Line((StyledSpan("   "), StyledSpan(f"{name:<7}", "cyan"), *value.spans), 10)


def _names(tokens: Iterable[str]) -> str:
    return ", ".join(sorted(tokens))
