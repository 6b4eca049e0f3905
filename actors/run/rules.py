"""The rules that a machine's `advance` tries in order, and the rules that every kind of agent has. Pure.

The first rule that returns an event wins. Rules that handle known results come before rules that request new work. So
no request is made that a pending decision would withdraw. The order has no other purpose.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from actors.run import outage, questions, reminders, tools, waits
from actors.run.calls import C
from actors.run.ending import RunFinished, end_exhausted_run
from actors.run.questions import ClarificationExpired, ClarificationRequested
from actors.run.state import RunState
from actors.run.tools import ToolCheckRequested, ToolFinished, ToolReissued
from actors.run.waits import WaitRequested


class Scope(StrEnum):
    """The arguments that a rule's function gets."""

    COMMON = "common run"  # the common part of the state
    RUN = "run"  # the whole state
    BRANCH = "each branch"  # the state and a branch; called for each branch
    SEARCH = "all branches"  # the state and the strategy's view of the tree; None if the strategy compares no branches


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a function that may make one decision from a state."""

    name: str
    scope: Scope
    function: Callable[..., Any]
    """Returns the event of the decision; None if the rule does not apply. The first line of its docstring names the
    decision.
    """


def keep_deadline(run: RunState[C]) -> WaitRequested | RunFinished | None:
    """End the run at its deadline, or request a wait until the deadline."""
    return None if run.ledger.ends_at is None else waits.keep_deadline(run.waits, run.ledger, run.now)


def take_over_tools(
    run: RunState[C],
) -> ToolCheckRequested | ToolReissued | ClarificationRequested | ToolFinished | RunFinished | None:
    """Settle the outcomes of tool calls of an earlier driver before any new request.

    The run ends if its budget cannot pay for a call that must be made again.
    """
    if not run.tools or run.parked:
        return None
    decision = tools.take_over(run.tools, run.questions, run.epoch, run.now)
    if isinstance(decision, ToolReissued) and decision.again.micro_usd_max:
        if waits.HOME_BUDGET in run.waits:
            return None
        left = tools.release_call(run.ledger, run.tools, decision.replaces)
        short = left.shortfall(decision.again.reserve, run.now)
        return end_exhausted_run(short) if short else decision
    return decision


def expire(state: Any) -> ClarificationExpired | WaitRequested | None:
    """Close a question that has expired without an answer, or request a wait until its expiry."""
    run: RunState[Any] = state.run
    if not run.questions:
        return None
    return questions.expire(run.questions, run.waits, run.now, state.config.question_expires_seconds)


AFTER_FAULT = Rule("try again", Scope.COMMON, outage.after_fault)
TAKE_OVER_TOOLS = Rule("take over tools", Scope.COMMON, take_over_tools)
EXPIRE = Rule("let a question expire", Scope.RUN, expire)
KEEP_DEADLINE = Rule("keep the deadline", Scope.COMMON, keep_deadline)
REMIND = Rule("remind of a question", Scope.COMMON, reminders.remind)
