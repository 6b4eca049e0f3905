"""Edits of a plan by a person: the editable part, the reasons to refuse an edit, and the new plan. Pure.

Like a replan, an edit replaces the remaining plan. Tokens and prohibitions are kept, and a finished step is not done
again.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from actors.execution.events import PlanEdited, StepOutcome
from actors.execution.state import AttemptPhase, State
from actors.plans.constraints import dropped_constraints, with_constraints
from actors.plans.graph import bits
from actors.plans.reader import read_plan
from actors.run.inbox import EDIT, MailRefused, edit_fields, read_edit, refuse_message
from actors.run.questions import PEOPLE
from actors.values.findings import Code, Finding
from runtime.core.errors import UsageProblem
from runtime.core.events import make_storable
from runtime.core.messages import Mailed


def edit_problem(state: State) -> str:
    """Return why the plan cannot be edited now, as a clause; empty if it can be edited."""
    if state.run.finished is not None:
        return "the run has finished"
    if state.undoing is not None:
        return "the run is undoing everything"
    if state.ending is not None:
        return "the run is about to end"
    if state.replan is not None and state.replan.edit is not None:
        return f"{state.replan.edit.who} has edited the plan, and the run does not use the edited plan yet"
    return "" if rest_of_plan(state)["steps"] else "every step is done"


def rest_of_plan(state: State) -> dict[str, Any]:
    """Return the remaining part of the current plan, as JSON.

    The result has the unfinished steps. The initial state of the result is the set of tokens that hold.
    """
    value = dict(with_constraints(state.plan.json, state.constraints))
    left = without_steps(value, _done_steps(state))
    budgets = sum(state.plan.by_id[step["step_id"]].retry_budget for step in left["steps"])
    over = state.used - sum(attempt.number for attempt in state.active.values() if attempt.begun)
    total = max(state.plan.plan.total_retry_budget - over, budgets)
    return {**left, "initial_state": sorted(state.tokens), "total_retry_budget": total}


def edited_plan(state: State, text: str) -> str:
    """Return, as JSON, the plan with which the run continues after an edit. `text` is the edited plan as JSON.

    The result lacks the finished steps, and has all constraints that the execution puts on its plans.
    """
    return json.dumps(state.config.tools.with_undo(_edited_rest(state, json.loads(text))), sort_keys=True)


def _edited_rest(state: State, value: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(with_constraints(value, state.constraints))
    return {**without_steps(kept, _done_steps(state)), "initial_state": sorted(state.tokens)}


def _done_steps(state: State) -> frozenset[str]:
    """Return the steps of the current plan that will not be done again.

    The result is empty for a policy (a plan of repeatable steps).

    A failed step is done again, unless the plan goes on after its failure.
    """
    program = state.plan.program
    if program.repeats:
        return frozenset()
    left = {program.steps[index].step_id for index in bits(state.now.pending)}
    left |= {attempt.step for attempt in state.active.values()}
    settled = {
        step
        for step, result in state.results.items()
        if result.outcome is StepOutcome.OK or program.continues[program.order.index[step]]
    }
    return frozenset(settled - left)


def without_steps(value: Mapping[str, Any], done: Collection[str]) -> dict[str, Any]:
    """Return a plan, given as JSON, without the steps in `done`.

    If the `on_failure` of a step names a step in `done`, the step loses the key `on_failure`.
    """
    steps = []
    for step in value["steps"]:
        if step["step_id"] in done:
            continue
        needed = [name for name in step.get("dependencies", ()) if name not in done]
        left = {**step, "dependencies": needed}
        if left.get("on_failure") in done:
            del left["on_failure"]
        steps.append(left)
    return {**value, "steps": steps}


def check_edit(state: State, value: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the errors of an edited plan (JSON) that make a proof unnecessary; empty if the plan may be proved."""
    plan, findings = read_plan(dict(value))
    if plan is None:
        return tuple(finding for finding in findings if finding.severity == "error")
    found = (*_changed_done_steps(state, value), *dropped_constraints(state.constraints, value))
    if found:
        return found
    begins = read_plan(_edited_rest(state, value))[0] or plan
    hint = f"use a name that {state.config.tools.source or 'a tools file'} binds"
    return tuple(
        Finding(code=Code.UNBOUND, message=f"no tool implements {name}; {hint}")
        for name in state.config.tools.unbound(begins, state.values.keys())
    )


def _changed_done_steps(state: State, value: Mapping[str, Any]) -> Iterator[Finding]:
    done = _done_steps(state)
    for step in value["steps"]:
        name = step.get("step_id")
        if name in done and _work(step) != _work(_step_json(state, name)):
            message = f"the step {name!r} is done already and cannot be changed; give the new step another id"
            yield Finding(code=Code.EDIT_DONE, message=message, where=name)


def _step_json(state: State, name: str) -> Mapping[str, Any]:
    return next(step for step in state.plan.json["steps"] if step["step_id"] == name)


def _work(step: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key not in ("dependencies", "on_failure")}


def accept_edit(state: State, body: Mapping[str, Any], message: Mailed) -> PlanEdited | MailRefused | None:
    """Return the event for a message with an edited plan; None for any other message."""
    if body.get("kind") != EDIT:
        return None
    if cause := edit_problem(state):
        return refuse_message(message, cause)
    try:
        value = read_edit(body, {"revision": state.revision}, partial(check_edit, state))
    except UsageProblem as problem:
        return refuse_message(message, problem.cause)
    fields = edit_fields(body, message)
    shown = body.get("approves") if fields["via"] in PEOPLE else None
    # The person has not seen a step that began to wait after the plan was opened. That step has its own question.
    approves = tuple(step for step in waiting_approvals(state) if isinstance(shown, list) and step in shown)
    return PlanEdited(**fields, plan=make_storable(json.dumps(value, sort_keys=True)), approves=approves)


def waiting_approvals(state: State) -> tuple[str, ...]:
    """Return the steps that wait for a person's approval."""
    waiting = (item for item in state.active.values() if item.open and item.phase is AttemptPhase.APPROVE)
    return tuple(attempt.step for attempt in waiting)
