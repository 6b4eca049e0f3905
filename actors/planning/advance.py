"""`advance`: the next decision that follows from the state alone, by one table of rules. Pure."""

from actors.planning import question_rules, rules
from actors.planning.events import PlanningEvent, RunFinished
from actors.planning.state import PlanningState
from actors.planning.strategy_view import change_of, ended, tree_of
from actors.run import ending
from actors.run.rules import AFTER_FAULT, KEEP_DEADLINE, Rule, Scope
from actors.run.state import NotStarted
from actors.search.strategies.tree import Tree

RULES = (
    Rule("judge", Scope.RUN, rules.judge),
    Rule("begin a round", Scope.BRANCH, rules.begin_round),
    Rule("open or prune", Scope.SEARCH, change_of),
    Rule("go back", Scope.LIVE, rules.revise),
    Rule("change the requirements", Scope.RUN, question_rules.replan),
    Rule("withdraw a question", Scope.BRANCH, question_rules.withdraw),
    Rule("ask", Scope.LIVE, question_rules.ask),
    Rule("let a question expire", Scope.RUN, question_rules.expire),
    Rule("have it reviewed", Scope.RUN, question_rules.look),
    Rule("decide about a failure", Scope.LIVE, rules.settle_failure),
    Rule("end", Scope.SEARCH, rules.end),
    AFTER_FAULT,
    KEEP_DEADLINE,
    Rule("reissue", Scope.RUN, rules.reissue),
    Rule("rest", Scope.RUN, rules.rest),
    Rule("request", Scope.SEARCH, rules.request),
)
"""Every rule, in the order that counts. A search that has one branch only goes through the same rows."""


_TABLE = tuple((rule.scope, rule.function) for rule in RULES)
_COMMON, _RUN, _LIVE, _SEARCH = Scope.COMMON, Scope.RUN, Scope.LIVE, Scope.SEARCH  # An enum is slow to look into.


def advance(state: PlanningState) -> PlanningEvent | None:
    """Return the next decision, or None when there is none to take."""
    if isinstance(state, NotStarted) or state.run.finished is not None:
        return None
    run, branches, strategy, tree = state.run, state.branches, state.config.strategy, None
    for scope, function in _TABLE:
        if scope is _RUN:
            event = function(state)
        elif scope is _COMMON:
            event = function(run)
        elif scope is _SEARCH:
            if tree is None and strategy is not None:
                tree = tree_of(state, strategy)
            event = function(state, tree)
        elif strategy is None:
            event = function(state, branches[0])
        else:
            chosen = [branch for branch in branches if not branch.pruned] if scope is _LIVE else branches
            event = next((event for branch in chosen if (event := function(state, branch)) is not None), None)
        if event is not None:
            return _finished(event, tree) if isinstance(event, ending.RunFinished) else event
    return None


def _finished(event: ending.RunFinished, tree: Tree | None) -> RunFinished:
    """Return the run's end, with the branch that got on best."""
    end = RunFinished.of(event)
    return end if tree is None else ended(tree, end)
