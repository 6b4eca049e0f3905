"""The guard that a plan passes before it is executed, at the start of a run and at every replan. Pure."""

from actors.execution.config import ExecutionConfig
from actors.execution.forbidden import keeping_to_requirements
from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.guards.port import Guard
from actors.tools.uses import ToolSet
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict

LEVELS = {
    "plan_minimal": plan_minimal.make,
    "plan_medium": plan_medium.make,
    "plan_expansive": plan_expansive.make,
}
"""The guards that may prove a plan, from the weakest to the strongest."""


def guard_of(level: str, tools: ToolSet, assurance: str, r_max: int) -> Guard:
    """Return a guard with the names that the tools implement beside the usual ones, and the limits of a run.

    A plan that does what one of its own requirements forbids does not pass; all its names are bound.
    """
    proves = LEVELS[level]({"guard_catalog": sorted(tools.guards), "assurance": assurance, "r_max": r_max})
    return keeping_to_requirements(proves, tools)


def plan_guard(config: ExecutionConfig) -> Guard:
    """Return the guard that proves the plans of an execution."""
    return guard_of(config.level, config.tools, config.required_assurance, config.r_max)


def prove(guard: Guard, text: str) -> Verdict:
    """Return the verdict of a guard on the JSON of a plan."""
    return guard(Artifact("plan", "plan", text, "plan"), Context(""))
