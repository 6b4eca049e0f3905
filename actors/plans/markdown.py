"""A plan as Markdown: a document to read, or a checklist for an issue. Pure; texts of models are escaped."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, ESCALATE, IRREVERSIBLE, NEVER, NOTHING, UNDO, Plan, Step
from actors.plans.plan_lines import one_of
from actors.plans.reader import read_plan
from actors.values.format import counted
from runtime.core.errors import UsageProblem
from runtime.logs.terminal_text import clean

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_LEADING = re.compile(r"^([-+=]|\d+[.)])")


def plan_markdown(value: Any, note: str = "", demands: Sequence[str] = ()) -> str:
    """Return a plan as a document; its basis and `note` stand below its title, what it does about `demands` at its end.

    Raises `UsageProblem` for what is no plan.
    """
    plan, steps = _ordered(value)
    lines = [f"# {escaped(plan.goal or plan.plan_id)}", ""]
    lines += _remarks(plan, note)
    lines += [f"- Start: {_codes(plan.initial_state)}", f"- Goal: {_codes(plan.goal_state)}"]
    later = contingent_steps(plan)
    for number, step in enumerate(steps, 1):
        only = " (only after a failure)" if step.step_id in later else ""
        lines += ["", f"## {number}. {escaped(step.name or step.step_id)}{only}", ""]
        if step.description and step.description != step.name:
            lines += [escaped(step.description), ""]
        lines += [f"- {name}: {text}" for name, text in _facts(step)]
    if plan.invariants:
        lines += ["", "## Always", ""]
    for invariant in plan.invariants:
        when = f"While {_codes(invariant.when)}: " if invariant.when else ""
        rules = [f"{_codes(invariant.must)} must hold"] if invariant.must else []
        rules += [f"never {_codes(invariant.must_not)}"] if invariant.must_not else []
        lines.append(f"- {when}{'; '.join(rules)}")
    if demands:
        lines += ["", "## Demands of the text", "", *(f"- {escaped(text)}" for text in demands)]
    return "\n".join(lines) + "\n"


def plan_checklist(value: Any, note: str = "", demands: Sequence[str] = ()) -> str:
    """Return a plan as a task list of GitHub: the steps to do, then those that only a failure makes necessary.

    Its basis and `note` stand below its title, and what it does about `demands` at its end.
    Raises `UsageProblem` for what is no plan.
    """
    plan, steps = _ordered(value)
    later = contingent_steps(plan)
    lines = [f"## {_for_github(escaped(plan.goal or plan.plan_id))}", ""]
    lines += map(_for_github, _remarks(plan, note))
    nominal = [step for step in steps if step.step_id not in later]
    names = {step.step_id: step.name or step.step_id for step in steps}
    lines += [_task(step, names) for step in nominal]
    if len(nominal) < len(steps):
        lines += ["", "Only after a failure:", ""]
        lines += [_task(step, names) for step in steps if step.step_id in later]
    if demands:
        lines += ["", "Demands of the text:", "", *(f"- {_for_github(escaped(text))}" for text in demands)]
    return "\n".join(lines) + "\n"


def _remarks(plan: Plan, note: str) -> list[str]:
    """Return what stands below the title: what the plan was made from, where it says so, and a note."""
    return [part for text in (plan.basis, note) if text for part in (escaped(text), "")]


def _task(step: Step, names: Mapping[str, str]) -> str:
    checked = f" (checked by {_code(step.guard)})" if step.guard else ""
    either = f"; it tells {escaped(one_of(step))}" if step.outcomes else ""
    failure = ""
    if step.on_failure == CONTINUE:
        failure = "; if it fails: go on without it"
    elif step.on_failure == UNDO:
        failure = "; if it fails: undo everything"
    elif step.goes_back_to is not None:
        back = names.get(step.goes_back_to, step.goes_back_to)
        failure = f'; if it fails: back to "{_for_github(escaped(back))}"'
    return f"- [ ] {_for_github(escaped(names[step.step_id]))}{checked}{_for_github(either)}{failure}"


def _facts(step: Step) -> Iterator[tuple[str, str]]:
    yield "Id", _code(step.step_id)
    for name, values in (
        ("After", step.dependencies),
        ("Needs", step.preconditions),
        ("Makes", step.effects),
        ("Ends", step.delete_effects),
    ):
        if values:
            yield name, _codes(values)
    for outcome in step.outcomes:
        ended = f", ending {_codes(outcome.delete_effects)}" if outcome.delete_effects else ""
        yield "Either", f"{_code(outcome.name)}, making {_codes(outcome.effects)}{ended}"
    again = ", may run again" if step.repeatable else ""
    yield "Guard", f"{_code(step.guard)}, {counted(step.retry_budget, 'attempt')}{again}"
    yield "If it fails", _failure(step)
    if step.undo:
        words = {NOTHING: "it changes nothing", IRREVERSIBLE: "it cannot be undone"}
        yield "Undone by", words.get(step.undo) or _code(step.undo)


def _failure(step: Step) -> str:
    match step.on_failure:
        case "escalate" | "never" | "continue" | "undo":
            texts = {
                ESCALATE: "a person takes over",
                NEVER: "it cannot fail",
                CONTINUE: "go on without it",
                UNDO: "undo everything and end",
            }
            text = texts[step.on_failure]
        case target:
            text = f"go back to {_code(target)}"
    left = f", leaving {_codes(step.failure_effects)}" if step.failure_effects else ""
    ended = f", ending {_codes(step.failure_delete_effects)}" if step.failure_delete_effects else ""
    return f"{text}{left}{ended}"


def escaped(text: str) -> str:
    """Return one line of text that Markdown shows as it is."""
    shown = _SPECIAL.sub(r"\\\1", clean(text, one_line=True).strip())
    return _LEADING.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", shown)


def _for_github(text: str) -> str:
    """Return escaped text in which no name is mentioned: GitHub would notify its owner."""
    return text.replace("@", "@<!-- -->")


def _codes(values: Iterable[str]) -> str:
    return ", ".join(_code(value) for value in sorted(values)) or "nothing"


def _code(value: str) -> str:
    return f"`{clean(value, one_line=True).replace('`', '')}`"


def _ordered(value: Any) -> tuple[Plan, tuple[Step, ...]]:
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None:
        raise UsageProblem("this is not a plan that can be written so", hint="--format json writes it as it is")
    return plan, tuple(order.steps)
