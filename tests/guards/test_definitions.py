"""The properties of a guard belong to its definition: whether it is slow, and what it inherits from the workflow."""

import pytest

from actors.config.step_guards import BUILT_IN, is_slow, make_step_guard
from actors.guards.port import GuardDefinition, definition_of
from tests.support.worlds import passed, pinned


@pytest.mark.parametrize(
    ("guard", "slow"),
    [
        ("plan_medium", False),
        ("plan_expansive", True),
        ({"all_of": ["plan_medium", "follows_critique"]}, False),
        ({"all_of": ["follows_critique", "plan_expansive"]}, True),
    ],
)
def test_a_step_is_slow_if_one_of_its_guards_is(guard, slow):
    workflow = pinned({"g_plan": {"guard": guard}}).workflow
    assert is_slow(workflow, "g_plan", BUILT_IN) is slow


@pytest.mark.parametrize("settings", [(), ("r_max",), ("r_max", "guard_catalog", "assurance")])
def test_a_guard_inherits_the_workflow_settings_that_it_names(settings):
    configs = []

    def make(config):
        configs.append(config)
        return lambda artifact, context: passed()

    workflow = pinned({"a": {"guard": "toy", "guard_config": {"r_max": 7, "own": ["x"]}}}).workflow
    make_step_guard(workflow, "a", {"toy": GuardDefinition(make, workflow_settings=frozenset(settings))})
    assert configs[0] == {key: getattr(workflow, key) for key in settings if key != "guard_catalog"} | {
        key: list(workflow.guard_catalog) for key in settings if key == "guard_catalog"
    } | {"r_max": 7, "own": ["x"]}


def test_a_plain_factory_is_fast_and_inherits_nothing():
    definition = definition_of(lambda config: lambda artifact, context: passed())
    assert (definition.slow, definition.workflow_settings) == (False, frozenset())
    assert definition_of(BUILT_IN["plan_medium"]) is BUILT_IN["plan_medium"]
