"""Warnings about limits change nothing in a comparison: a run is compared with and without them."""

import pytest

from actors.planning.kind import PLANNING
from actors.run.near_limit import WARN_AT, LimitNear
from replan_lab.whatif.differences import EditedRules, FoldOutcome
from replan_lab.whatif.fold import compare_run
from replan_lab.whatif.recorded_run import PlacedEvent, RecordedRun
from runtime.core.ledger import Limits
from tests.support.planning_start import planning_start
from tests.support.worlds import SEEDS, World, passed, pinned


class Appends(World):
    """Keeps the events of each append in `appends`."""

    def send(self, message):
        events = super().send(message)
        self.appends.append(events)
        return events


@pytest.mark.parametrize("recorded", [True, False])
def test_a_run_is_the_same_whether_its_warnings_were_recorded_or_not(recorded):
    world = Appends(pinned(SEEDS), judge=lambda *_: passed(), limits=Limits(calls=5))
    world.appends = []
    world.send(planning_start(world.now, world.config, world.limits, warn_at=WARN_AT))
    assert world.run().run.finished.outcome == "success"
    assert world.kinds().count("limit_near") == 2
    events = []
    for batch in world.appends:
        kept = [event for event in batch if recorded or not isinstance(event, LimitNear)]
        for place, event in enumerate(kept, 1):
            events.append(PlacedEvent(len(events) + 1, event, None, place == len(kept)))
    finding = compare_run(RecordedRun("run", "planning", "finished", events, {}), PLANNING, EditedRules())
    assert finding.outcome is FoldOutcome.SAME, finding
