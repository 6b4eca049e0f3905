"""The table of demands of an execution: what its current plan does about what the user's texts ask for. Pure."""

from collections.abc import Sequence

from actors.demands.conclusion import Conclusion, conclusion
from actors.demands.table import DemandTable, demand_table
from actors.demands.user_texts import user_texts
from actors.execution.config import ExecutionConfig
from actors.plans.plan import Plan

COMPARED_BY = "the execution"
"""What compares the files that a requirement protects, after each step."""


def demands_of(config: ExecutionConfig, plan: Plan, later: Sequence[str] = ()) -> DemandTable | None:
    """Return the table; `later` is what the user has told the execution. None where nobody has said anything."""
    if not (config.problem.strip() or later or plan.requirements):
        return None
    said = user_texts(config.problem, later)
    return demand_table(said, plan, paths_compared_by=COMPARED_BY if config.snapshots else "")


def conclusion_of(config: ExecutionConfig, plan: Plan, assurance: str | None, table: DemandTable | None) -> Conclusion:
    """Return what may be said of a plan that is executed; a plan without any text is as its guard says.

    A plan that states its basis comes from a template, whichever run or file brought it.
    """
    facts = {"level": config.level.removeprefix("plan_"), "assurance": assurance}
    return conclusion(facts, table if table is not None else DemandTable(), reads_text=not plan.basis)
