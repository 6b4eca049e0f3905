"""The rules of a planning run in the order that counts, and how they are tried over all branches. Pure."""

from collections.abc import Callable
from typing import Any

from actors.planning import question_rules, rules
from actors.planning.early_ends import park_for_cut
from actors.planning.events import PlanningEvent, RunFinished
from actors.planning.state import State
from actors.planning.strategy_view import change_of, end_with_best, tree_of
from actors.run import ending
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, REMIND, Rule, Scope
from actors.search.strategies.tree import SearchTree

_COMMON, _RUN, _BRANCH = Scope.COMMON, Scope.RUN, Scope.BRANCH  # Before Python 3.12, looking up a member is slow.


def rules_with(reissue: Callable[[State], Any]) -> tuple[Rule, ...]:
    """Return every rule, in the order that counts."""
    return (
        Rule("judge", Scope.RUN, rules.judge),
        Rule("begin a round", Scope.BRANCH, rules.begin_round),
        Rule("open or prune", Scope.SEARCH, change_of),
        Rule("go back", Scope.BRANCH, rules.revise),
        Rule("change the requirements", Scope.RUN, question_rules.replan),
        Rule("withdraw a question", Scope.BRANCH, question_rules.withdraw),
        Rule("ask", Scope.BRANCH, question_rules.ask),
        EXPIRE,
        Rule("have it reviewed", Scope.RUN, question_rules.look),
        Rule("decide about a failure", Scope.BRANCH, rules.settle_failure),
        Rule("end", Scope.SEARCH, rules.end),
        AFTER_FAULT,
        KEEP_DEADLINE,
        REMIND,
        Rule("reissue", Scope.RUN, reissue),
        Rule("rest", Scope.RUN, rules.rest),
        Rule("request", Scope.SEARCH, rules.request),
        Rule("park for cut replies", Scope.BRANCH, park_for_cut),
    )


def decide(table: tuple[tuple[Scope, Any], ...], state: State) -> PlanningEvent | None:
    """Return the event of the first rule that returns one; None where no rule does."""
    run, branches, strategy = state.run, state.branches, state.config.strategy
    event = tree = None
    for scope, function in table:
        if scope is _RUN:
            event = function(state)
        elif scope is _BRANCH:
            for branch in branches:
                event = function(state, branch)
                if event is not None:
                    break
        elif scope is _COMMON:
            event = function(run)
        else:
            if tree is None and strategy.compares:
                tree = tree_of(state, strategy)
            event = function(state, tree)
        if event is not None:
            return _finish_run(event, tree) if isinstance(event, ending.RunFinished) else event
    return None


def _finish_run(event: ending.RunFinished, tree: SearchTree | None) -> RunFinished:
    """Return the run's end; where the search compares branches, with the one whose result is the best."""
    end = RunFinished.of(event)
    return end if tree is None else end_with_best(tree, end)
