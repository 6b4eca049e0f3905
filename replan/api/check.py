"""Checks a plan from Python, without a model, a run or a home. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from actors.execution.forbidden import guard_requirements
from actors.guards.built_in import BUILT_IN
from actors.guards.plan_settings import Settings
from actors.plans.plan import Plan, plan_to_json
from actors.plans.plan_text import ProvedPlan
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from runtime.core.errors import UsageProblem


def check(
    plan: Plan | Mapping[str, Any] | str,
    *,
    level: str = "medium",
    assurance: str = "strong_cyclic",
    r_max: int = Settings().r_max,
    guard_catalog: Sequence[str] = (),
) -> Verdict:
    """Judge a plan (a typed plan, a JSON value, or text that holds one) at a level: minimal, medium or expansive.

    A plan that does what one of its own requirements forbids is rejected, as far as names and tokens show it; only an
    execution can compare what a name is bound to. A rejection is returned, not raised. `guard_catalog` are guard names
    that steps may use beside the default ones; `r_max` bounds the plan's total budget; `assurance` is what expansive
    demands of the traces that do not escalate. Raises `UsageProblem` for a level or a setting that does not exist.
    """
    guard = BUILT_IN.get(f"plan_{level}")
    if guard is None:
        raise UsageProblem(f"there is no level {level!r}", place="level", hint="minimal, medium or expansive")
    proves = guard({"assurance": assurance, "r_max": r_max, "guard_catalog": list(guard_catalog)})
    judge = guard_requirements(proves, None)
    return judge(Artifact(artifact_id="plan", step="plan", content=_text(plan)), Context(specification=""))


def _text(plan: Plan | Mapping[str, Any] | str) -> str:
    match plan:
        case str():
            return plan
        case ProvedPlan():
            return json.dumps(plan.to_dict())
        case Plan():
            return json.dumps(plan_to_json(plan))
        case _:
            return json.dumps(plan)
