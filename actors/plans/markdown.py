"""A plan as Markdown: a numbered list of its steps, with their tokens, guards and failures. Pure."""

import re
from collections.abc import Iterable, Iterator

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import Plan, Step
from actors.plans.plan_lines import failure_text
from actors.values.format import counted
from runtime.logs.terminal_text import clean

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


def plan_markdown(plan: Plan) -> str:
    """Return the plan as Markdown text that ends with a newline.

    Text of the plan's author is quoted: it cannot bring in markup, links or HTML.
    """
    order = order_of(plan)
    steps = plan.steps if order is None else order.steps
    later = frozenset() if order is None else contingent_steps(plan)
    rows = [f"# {_text(plan.goal or plan.plan_id)}", "", f"Plan {_code(plan.plan_id)}", ""]
    rows += [f"- Start: {_codes(plan.initial_state)}", f"- Goal: {_codes(plan.goal_state)}", ""]
    for number, step in enumerate(steps, 1):
        indent = " " * (len(str(number)) + 2)
        first, *more = _step(step, contingent=step.step_id in later)
        rows += [f"{number}. {first}", *(f"{indent}{row}".rstrip() for row in more)]
    if plan.invariants:
        rows += ["", "Always:", ""]
    for invariant in plan.invariants:
        when = f"while {_codes(invariant.when)}: " if invariant.when else ""
        must = [f"{_codes(invariant.must)} must hold"] if invariant.must else []
        must += [f"never {_codes(invariant.must_not)}"] if invariant.must_not else []
        rows.append(f"- {when}{'; '.join(must)}")
    return "\n".join(rows) + "\n"


def _step(step: Step, *, contingent: bool) -> Iterator[str]:
    only = " (only after a failure)" if contingent else ""
    yield f"**{_text(step.name or step.step_id)}** {_code(step.step_id)}{only}"
    if step.description and step.description != step.name:
        yield ""
        yield _text(step.description)
        yield ""
    if step.dependencies:
        yield f"- After: {_codes(step.dependencies)}"
    if step.preconditions:
        yield f"- Needs: {_codes(step.preconditions)}"
    if step.effects:
        yield f"- Makes: {_codes(step.effects)}"
    if step.delete_effects:
        yield f"- Ends: {_codes(step.delete_effects)}"
    guard = f"{_code(step.guard)}, " if step.guard else ""
    again = ", may run again" if step.repeatable else ""
    yield f"- Guard: {guard}{counted(step.retry_budget, 'attempt')}{again}"
    yield f"- If it fails: {_text(failure_text(step))}"


def _text(text: str) -> str:
    """Return text on one line, its markup escaped."""
    return _MARKUP.sub(r"\\\1", " ".join(clean(text).split()))


def _code(text: str) -> str:
    """Return text as code on one line; a backtick would end it."""
    return f"`{' '.join(clean(text).replace('`', chr(39)).split())}`"


def _codes(tokens: Iterable[str]) -> str:
    return ", ".join(_code(token) for token in sorted(tokens)) or "nothing"
