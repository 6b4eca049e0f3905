"""`fits_problem_type`: a strategy is for the type of problem that the analysis has found."""

from collections.abc import Mapping
from typing import Any

from actors.guards.comparison import dependency, object_of, same_name, verdict_of, warn_nothing_to_compare
from actors.guards.fields import check_settings, quote_text
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.requirements import FOR_TYPE

NAME = "fits_problem_type"


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings.

    It compares the strategy's `for_type` with the `problem_type` of the analysis that the step requires. A strategy
    without `for_type` passes.
    """
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        value, unreadable = object_of(artifact)
        if value is None:
            return verdict_of(NAME, unreadable)
        wanted = value.get(FOR_TYPE)
        if not isinstance(wanted, str):
            return verdict_of(NAME, ())
        analysis = dependency(context, "analysis")
        found = None if analysis is None else analysis.get("problem_type")
        if not isinstance(found, str):
            return warn_nothing_to_compare(NAME, "analysis with a problem_type")
        if same_name(wanted) == same_name(found):
            return verdict_of(NAME, ())
        message = (
            f"the strategy is for a problem of the type {quote_text(wanted)}, and the analysis found "
            f"{quote_text(found)}; choose a strategy for that type"
        )
        tags = (ReasonTag.WORKFLOW_MISMATCH,)
        return verdict_of(NAME, [Finding(code=Code.WORKFLOW_MISMATCH, message=message, where=FOR_TYPE, tags=tags)])

    return guard
