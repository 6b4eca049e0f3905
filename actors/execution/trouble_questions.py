"""The questions to a person where the plan does not go on by itself, and what their answers mean. Pure."""

from collections.abc import Mapping
from typing import Any, assert_never

from actors.execution import faults
from actors.execution.events import Cause
from actors.execution.state import State, Trouble
from actors.policy.table import BacktrackLevel
from actors.values.answers import choice
from actors.values.format import counted

TRY_AGAIN = "try the step again"
"""The answer by which the step has a further visit."""
BY_HAND = "the step is done"
"""The answer by which the step counts as succeeded: its tool has run, or a person has done it."""
REPLAN = "make a new plan"
"""The answer by which a new plan for the same goals is made."""
REVISE_GOALS = "make a new plan, and revise the goals"
"""The answer by which a new plan is made that may have other goals."""
GO_ON = "go on with this plan"
"""The answer by which nothing changes."""
GIVE_UP = "give up"
"""The answer by which the run ends without its goals."""

LEVELS: Mapping[str, BacktrackLevel] = {
    TRY_AGAIN: BacktrackLevel.LOCAL_RETRY,
    GO_ON: BacktrackLevel.LOCAL_RETRY,
    REPLAN: BacktrackLevel.PARTIAL_REPLAN,
    REVISE_GOALS: BacktrackLevel.FULL_REPLAN,
    GIVE_UP: BacktrackLevel.GIVE_UP,
}
"""What each answer decides; `BY_HAND` settles the step instead."""

_MAY_GO_ON = frozenset(
    {Cause.REQUIREMENTS_CHANGED, Cause.REQUIREMENT_VIOLATED, Cause.INVARIANT_BROKEN, Cause.GOAL_FAILED}
)
"""The troubles after which the plan may go on as it is, if a person wants that."""


def question_of(state: State, trouble: Trouble, *, again: bool, plan: bool) -> tuple[str, dict[str, Any]]:
    """Return the text of the question about a trouble, and the schema of its answer.

    `again` says whether the step may be visited again, `plan` whether a new plan can be made.
    """
    found = trouble.findings[0]
    if trouble.cause is Cause.PLANNER_ASKS:
        text = f"{_reason(trouble)}\nFor a new plan this must be known: {found.message}"
        return text, dict(found.answer_schema or {"type": "string", "minLength": 1})
    if trouble.cause in (Cause.PLAN_REJECTED, Cause.REPLAN_FAILED):
        text = f"{_reason(trouble)}\n{_what(trouble)} {_tried(state)}\nWhat follows?"
    else:
        text = f"{_what(trouble)} {found.message}\nWhat follows?"
    options: list[str] = []
    if trouble.cause is Cause.UNKNOWN_OUTCOME:
        options += [BY_HAND, TRY_AGAIN] if again else [BY_HAND]
    elif trouble.step:
        options += [TRY_AGAIN] if again else []
        options.append(BY_HAND)
    elif trouble.cause in _MAY_GO_ON:
        options.append(GO_ON)
    if plan:
        options += [REPLAN, REVISE_GOALS]
    return text, choice([*options, GIVE_UP])


def _reason(trouble: Trouble) -> str:
    """Return what made a new plan necessary; what guards have found about new plans is for models."""
    first = next((found for found in trouble.findings if found.where != faults.REPLAN), trouble.findings[-1])
    place = f"At the step {trouble.step!r}: " if trouble.step else ""
    return f"{place}{first.message}"


def _tried(state: State) -> str:
    return f"{counted(state.replans, 'attempt')} to plan anew so far."


def _what(trouble: Trouble) -> str:
    step = repr(trouble.step)
    match trouble.cause:
        case Cause.ESCALATED:
            return f"The step {step} failed, and the plan hands that over:"
        case Cause.REQUIREMENT_VIOLATED:
            return "A requirement is violated:"
        case Cause.UNKNOWN_OUTCOME:
            return f"The outcome of the step {step} is not known:"
        case Cause.ASSUMPTION_BROKEN:
            return f"The step {step} failed, which the plan rules out:"
        case Cause.INVARIANT_BROKEN:
            return "An invariant of the plan is broken:"
        case Cause.DEAD_END:
            return "The plan has come to a dead end:"
        case Cause.GOAL_FAILED:
            return "A goal is out of reach:"
        case Cause.REQUIREMENTS_CHANGED:
            return "What is asked for has changed, and no new plan can be made here:"
        case Cause.REPLAN_FAILED:
            return "No new plan was found."
        case Cause.STEP_FORBIDDEN:
            return f"The step {step} would do what a requirement forbids, and was not begun:"
        case Cause.PLAN_REJECTED:
            return "The last new plan that was found may not be executed: it does not keep to what a plan must here."
        case Cause.PLANNER_ASKS:
            return ""
        case _:
            assert_never(trouble.cause)
