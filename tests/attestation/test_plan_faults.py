"""What the verifier derives about a plan holds for every plan that a guard passes, and for few that it rejects."""

import json

from actors.guards import plan_medium
from actors.values.artifacts import Artifact, Context
from replan.verifier.verify_attestation import _fault
from tests.execution.random_plans import drawn

PLANS = 300


def test_no_plan_that_plan_medium_passes_has_a_fault():
    guard, passed, faults = plan_medium.make({}), 0, 0
    for seed in range(PLANS):
        value, _ = drawn(seed)
        if seed % 2:
            value["goal_state"] = [*value["goal_state"], *(["never"] if seed % 4 == 1 else [])]
            value["steps"] = value["steps"][: -(seed % 3)] or value["steps"]
        text = json.dumps(value)
        verdict = guard(Artifact(artifact_id="a", step="g_plan", content=text), Context(specification=""))
        assert not (verdict.passed and _fault(text)), (seed, _fault(text))
        passed, faults = passed + verdict.passed, faults + bool(_fault(text))
    assert passed > PLANS // 10
    assert faults > PLANS // 10
