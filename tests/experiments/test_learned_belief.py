"""An arm may learn its belief from runs of its own world before its trials begin."""

import pickle

import pytest

from runtime.core.errors import UsageProblem


def learning(prepared, model, count=12, **keys):
    """Return the belief that an arm has in its trials, and that of the policy it began with."""
    pipelines = [{"name": "search", "policy": "belief", "learns_from": count, **keys}]
    changes = {"models": [model], "pipelines": pipelines, "searches": [], "baseline": "search"}
    (arm,) = prepared(**changes).arms
    again = pickle.loads(pickle.dumps(arm))
    assert again.lab_setup.pinned == arm.lab_setup.pinned, "every process learns the same"
    return arm.lab_setup.pinned.policy.belief, arm.request.pinned.policy.belief


def test_an_arm_learns_where_the_mistakes_of_its_world_lie(prepared):
    learned, began = learning(prepared, "simulated:plan_level", 20)
    total = sum(began.causes.values())
    assert learned.causes["plan"] > 1.3 * began.causes["plan"] / total
    assert learned.causes["analysis"] < began.causes["analysis"] / total
    assert learned.chances == began.chances


def test_an_arm_that_learns_from_nothing_keeps_its_belief(prepared):
    learned, began = learning(prepared, "simulated:plan_level", 0)
    assert learned == began


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ["rules"]}, "learns_from is for a simulated author only"),
        ({"pipelines": [{"name": "search", "policy": "default", "learns_from": 5}]}, "has no belief that learns"),
    ],
)
def test_an_arm_that_cannot_learn_is_reported_in_one_line(prepared, changes, message):
    own = {
        "pipelines": [{"name": "search", "policy": "belief", "learns_from": 5}],
        "searches": [],
        "baseline": "search",
    }
    with pytest.raises(UsageProblem, match=message):
        prepared(**(own | changes))
