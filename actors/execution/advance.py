"""`advance`: the next decision that follows from the state alone, by one table of rules. Pure."""

from actors.execution import replan_rules, step_rules, trouble_rules
from actors.execution.events import ExecutionEvent
from actors.execution.state import ExecutionState, State
from actors.run import questions
from actors.run.questions import ClarificationExpired
from actors.run.rules import AFTER_FAULT, KEEP_DEADLINE, TAKE_OVER_TOOLS, Rule, Scope, end_tools
from actors.run.state import NotStarted
from actors.run.waits import WaitRequested


def expire(state: State) -> ClarificationExpired | WaitRequested | None:
    """Close a question that nobody has answered in time; until then have the clock wait for that."""
    run = state.run
    return questions.expire(run.questions, run.waits, run.now, state.config.question_expires_seconds)


RULES = (
    TAKE_OVER_TOOLS,
    Rule("let a question expire", Scope.RUN, expire),
    Rule("settle a step", Scope.RUN, step_rules.settle),
    Rule("decide about a trouble", Scope.RUN, trouble_rules.decide),
    Rule("withdraw a question", Scope.RUN, step_rules.withdraw),
    Rule("ask about a trouble", Scope.RUN, trouble_rules.ask),
    Rule("end", Scope.RUN, trouble_rules.finish),
    AFTER_FAULT,
    KEEP_DEADLINE,
    Rule("reissue", Scope.RUN, replan_rules.reissue),
    Rule("rest", Scope.RUN, step_rules.rest),
    Rule("try again", Scope.RUN, replan_rules.try_again),
    Rule("replan", Scope.RUN, replan_rules.replan),
    Rule("request", Scope.RUN, step_rules.request),
)
"""Every rule, in the order that counts."""

_TABLE = tuple((rule.scope is Scope.COMMON, rule.function) for rule in RULES)


def advance(state: ExecutionState) -> ExecutionEvent | None:
    """Return the next decision, or None when there is none to take."""
    if isinstance(state, NotStarted):
        return None
    if state.run.finished is not None:
        return end_tools(state.run)
    for common, function in _TABLE:
        event: ExecutionEvent | None = function(state.run if common else state)
        if event is not None:
            return event
    return None
