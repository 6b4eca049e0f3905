"""The plans of the simulated author."""

import json

import pytest

from actors.config.step_guards import BUILT_IN
from actors.plans.mending import set_given_facts
from actors.values.artifacts import Artifact, Context
from actors.values.given import Given
from replan_lab.simulated.plans import simulate_plan
from replan_lab.simulated.profile import Defect


@pytest.mark.parametrize("defect", [None, *Defect])
def test_a_simulated_plan_leads_from_the_given_state_to_the_given_goal(defect):
    """A defect is still found, though what the plan says of its goal is replaced."""
    given = Given(initial_state=("here", "there"), goal_state=("end",))
    plan, replaced = set_given_facts(simulate_plan("g", defect, "clue", given=given.model_dump(mode="json")), given)
    assert set(replaced) <= {"goal_state"}
    artifact = Artifact("a", "plan", json.dumps(plan))
    assert BUILT_IN["plan_medium"]({})(artifact, Context("The login fails.")).passed is (defect is None)
