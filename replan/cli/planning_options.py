"""Reads the options of the commands that make a plan: its goal, its workflow and its tools."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from actors.planning.prepare import Adapt, RunOptions
from actors.run.limits import split_limits
from replan.cli.options import Invocation
from replan.cli.run_options import is_given, name_options
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.token_goals import TokenGoal


def read_goal(problem: str | None, values: Mapping[str, Any], *, or_else: str = "") -> TokenGoal | None:
    """Return the goal of `--goal`, or None without the option. `or_else` is an option that replaces the problem.

    Raises `UsageProblem` if both a problem and a goal are given, or neither. Also raises it for `--holds` without a
    goal, and for files that a search for a plan does not read.
    """
    if not values["goal"]:
        if values["holds"]:
            raise UsageProblem("there is no --goal", place="--holds", hint="name a goal, or leave it out")
        if problem is None and not or_else:
            raise UsageProblem("this argument is missing", place="PROBLEM", hint=f"`{program()} run --help` explains")
        return None
    from replan.runs import token_goals

    if problem is not None or or_else:
        cause = f"both a goal and {or_else or 'a problem'} are given"
        raise UsageProblem(cause, place="--goal", hint="leave one of the two out")
    for key, option in (("files", "--attach"), ("repository", "--repo"), ("strict", "--strict")):
        if values[key]:
            raise UsageProblem("a plan for a goal is made only from tools", place=option, hint="leave it out")
    with name_options():
        return token_goals.read_goal(values["goal"], values["holds"])


def options_of(invocation: Invocation, values: dict[str, Any], goal: TokenGoal | None) -> RunOptions:
    """Return the options of planning. A goal has its own workflow, which the option `--workflow` replaces."""
    return RunOptions(
        values["workflow"] if goal is None or is_given("workflow") else goal.workflow,
        values["search"],
        split_limits(values),
        no_input=invocation.no_input,
        strict=values["strict"],
    )


def adapt_to(values: Mapping[str, Any], goal: TokenGoal | None) -> Adapt | None:
    """Return the function that adapts a run to the tools of `--tools` or to a goal; None if neither is given."""
    if goal is None and values["tools"] is None:
        return None
    from replan.runs.executing import plan_with_tools
    from replan.runs.token_goals import tools_to_plan_with

    return partial(plan_with_tools, partial(tools_to_plan_with, values["tools"], os.environ), goal)
