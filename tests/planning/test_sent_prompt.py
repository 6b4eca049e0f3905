"""The messages of a call, rebuilt from the records of a planning run."""

import pytest

from actors.planning.views import VIEWS
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from tests.support.worlds import World, passed, pinned


def test_a_step_that_asks_a_model_shows_its_messages_and_any_other_is_refused():
    steps = {"a": {}, "b": {"requires": ["a"], "generator": "mine", "deterministic": True}}
    world = World(pinned(steps), judge=lambda *_: passed())
    world.run()
    records = [Record("run", place, 0.0, 1, event, "") for place, event in enumerate(world.events, 1)]
    shown = VIEWS.prompt(records, "a/v1.a1")
    assert shown.verified
    assert [role for role, _ in shown.messages] == ["system", "user"]
    with pytest.raises(UsageProblem, match="the step 'b' asks no model"):
        VIEWS.prompt(records, "b/v1.a1")
