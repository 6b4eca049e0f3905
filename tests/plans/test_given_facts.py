"""What is said about given facts that took the place of what a plan said."""

from actors.plans.given_facts import replaced_findings
from actors.values.findings import Code


def test_each_replaced_value_is_a_warning_that_names_its_key():
    found = [(each.code, each.where, each.severity) for each in replaced_findings(("initial_state", "goal_state"))]
    assert found == [(Code.GIVEN_REPLACED, key, "warning") for key in ("initial_state", "goal_state")]
    assert replaced_findings(()) == ()
