"""`demands_planned`: each demand of the user's text is in a step of the plan.

The demands are those that the program finds in the problem, in what was told to the run and in the answers
(`actors.demands`). The guard is that of `strict`: without it such a demand is only shown after the plan. A demand that
no requirement quotes was missed when the facts were collected; one that a requirement quotes lacks a step.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.demands.table import DemandTable, TableRow, demand_table
from actors.demands.user_texts import user_texts_in
from actors.guards.comparison import dependency, object_of, verdict_of
from actors.guards.fields import check_settings
from actors.guards.port import Guard
from actors.guards.requirements_covered import add_stated_requirements
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.format import format_count, shorten
from actors.values.requirements import RequirementKind

NAME = "demands_planned"
FINDINGS_MAX = 20
"""Demands that one verdict quotes; the others are counted."""
QUOTE_MAX = 300
"""Characters of a demand that a finding quotes."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        value, unreadable = object_of(artifact)
        if value is None:
            return verdict_of(NAME, unreadable)
        plan, findings = read_draft(value)
        if plan is None:
            return verdict_of(NAME, findings)
        if context.given is not None and context.given.initial_state is not None:
            # The plan goes on with an execution, which has done a part of the work and has a table of its own.
            return verdict_of(NAME, ())
        table = demand_table(user_texts_in(context), add_stated_requirements(plan, dependency(context, "recon")))
        return verdict_of(NAME, list(_missing_demands(table)), len(table.rows))

    return guard


def _missing_demands(table: DemandTable) -> Iterator[Finding]:
    """Yield an error for each demand in no step, `FINDINGS_MAX` at most, and one that counts the others."""
    missing = table.in_no_step
    for row in missing[:FINDINGS_MAX]:
        quote = shorten(row.quote, QUOTE_MAX)
        unstated = row.requirement is None
        message = f'the text demands "{quote}", which is in no step; {_todo(row)}'
        tag = ReasonTag.MISSING_EVIDENCE if unstated else ReasonTag.REQUIREMENT_VIOLATION
        yield Finding(code=Code.DEMAND_IN_NO_STEP, message=message, where=row.id, tags=(tag,))
    more = len(missing) - FINDINGS_MAX
    if more > 0:
        message = f"{format_count(more, 'demand')} more of the text {'is' if more == 1 else 'are'} in no step"
        yield Finding(code=Code.DEMAND_IN_NO_STEP, message=message, where="requirements")


def _todo(row: TableRow) -> str:
    if row.requirement is not None:
        return f"write {row.requirement} under 'satisfies' of a step that leads to the goal, and break it nowhere"
    stated = f"state it as a requirement of kind {row.kind} with these words as its quote"
    return f"{stated}, and have a step satisfy it" if row.kind == RequirementKind.GOAL else stated
