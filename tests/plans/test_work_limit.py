"""The work of an exploration is limited, however small the plan."""

import json
import time

import pytest

from actors.plans.exploration import WORK_CONFIGURATIONS_MIN
from tests.plans.build import judge, plan, step


def wide(count, **fields):
    """Return a plan of independent steps whose failures are remembered."""
    steps = [
        step(f"s{n}", "start", f"t{n}", on_failure="continue", failure_effects=f"f{n}", **fields) for n in range(count)
    ]
    rules = [{"when": [f"t{n}" for n in range(count)], "must_not": [f"f{n}" for n in range(count)]}]
    return plan(*steps, goal="never", invariants=rules)


@pytest.mark.parametrize(("level", "repeatable"), [("medium", True), ("expansive", True), ("expansive", False)])
def test_a_small_plan_cannot_cost_half_a_minute(level, repeatable):
    """The number of configurations did not limit the number of their outcomes."""
    value = wide(18, repeatable=repeatable)
    if not repeatable:
        value["goal_state"] = ["t0"]
    assert len(json.dumps(value)) < 8_000
    began = time.process_time()
    verdict = judge(level, value)
    assert time.process_time() - began < 8  # About two seconds; the machine may be busy.
    assert "plan.too_complex" in [finding.code for finding in verdict.errors]
    assert verdict.facts["explored"] < WORK_CONFIGURATIONS_MIN
    assert verdict == judge(level, value)
