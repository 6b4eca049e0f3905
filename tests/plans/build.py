"""Short forms for plans in tests, and for calling the guards."""

import json

from actors.guards import plan_expansive, plan_medium, plan_minimal
from actors.values.artifacts import Artifact, Context

GUARDS = {"minimal": plan_minimal, "medium": plan_medium, "expansive": plan_expansive}


def step(step_id, needs=(), makes=(), after=(), **fields):
    """Return a step as JSON; `needs`, `makes` and `after` may be strings of space-separated names."""
    return {
        "step_id": step_id,
        "name": step_id,
        "generator": "model",
        "guard": "syntax",
        "retry_budget": 1,
        "dependencies": words(after),
        "preconditions": words(needs),
        "effects": words(makes),
        **{key: words(value) if key.endswith("effects") else value for key, value in fields.items()},
    }


def words(value):
    """Return the names in a string of space-separated names, or in a sequence."""
    return value.split() if isinstance(value, str) else list(value)


def plan(*steps, start="start", goal="goal", **fields):
    return {
        "plan_id": "p",
        "initial_state": words(start),
        "goal_state": words(goal),
        "total_retry_budget": 100,
        "steps": list(steps),
        **fields,
    }


def judge(level, value, **config):
    """Return a guard's verdict on a string, or on any other value as JSON."""
    content = value if isinstance(value, str) else json.dumps(value)
    artifact = Artifact(artifact_id="a1", step="g_plan", content=content)
    return GUARDS[level].make(config)(artifact, Context(specification=""))


def errors(verdict):
    """Return the errors as (code, where), in order."""
    return [(str(finding.code), finding.where) for finding in verdict.errors]


def warnings(verdict):
    """Return the warnings as (code, where), in order."""
    return [(str(finding.code), finding.where) for finding in verdict.findings if finding.severity == "warning"]
