"""Reads a goal that the command line names by its tokens, in place of a problem."""

from collections.abc import Sequence
from typing import Any

from replan.cli.run_options import is_given, naming_options
from replan.runs.token_goals import MODEL, TokenGoal, goal_in, workflow_for_goal
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem


def read_goal(
    problem: str | None, goal: Sequence[str], holds: Sequence[str], values: dict[str, Any], *, or_else: str = ""
) -> TokenGoal | None:
    """Return the goal of `--goal`, or None where a problem is named; `or_else` names what else may be named.

    For a goal it sets the workflow and the model in `values` that are not given. Raises `UsageProblem` for both, for
    neither, for `--holds` without a goal, and for files that a search for a plan does not read.
    """
    if not goal:
        if holds:
            raise UsageProblem("there is no --goal", place="--holds", hint="name a goal, or leave it out")
        if problem is None and not or_else:
            raise UsageProblem("this argument is missing", place="PROBLEM", hint=f"`{program()} run --help` explains")
        return None
    if problem is not None or or_else:
        cause = f"both a goal and {or_else or 'a problem'} are given"
        raise UsageProblem(cause, place="--goal", hint="leave one of the two out")
    for key, option in (("files", "--attach"), ("repository", "--repo"), ("strict", "--strict")):
        if values.get(key):
            raise UsageProblem("a plan for a goal is made from tools alone", place=option, hint="leave it out")
    if not is_given("workflow"):
        values["workflow"] = workflow_for_goal()
    values["model"] = values["model"] or MODEL
    with naming_options():
        return goal_in(goal, holds)
