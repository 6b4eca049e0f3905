"""Each planted bug that changes a decision is named with its exact record; without a bug nothing differs."""

from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import pytest

from actors.planning.machine import PlanningMachine
from replan.whatif.differences import EditedRules, FoldOutcome
from replan.whatif.fold import compare_run
from runtime.core.ledger import Ledger
from tests.long.shell.planted_bugs import BUGS
from tests.whatif.recordings import histories

OF_THE_MACHINE = [
    name
    for name, bug in BUGS.items()
    if bug.machine is not PlanningMachine or any(target is Ledger for target, _, __ in bug.patches)
]
"""The bugs of the machine or of its ledger; the others are of drivers, journals and hosts, which decide nothing."""
UNDECIDED = {
    "leaves answers out of the prompt": "it changes what an actor is handed, and no record",
    "omits questions from the row": "it changes the status row",
    "omits the wake time from the row": "as above",
    "drops a refund": "it is a bug only where money or tokens run out, in no history",
    "settles late replies at zero": "as above",
}
"""The bugs of the machine that change no record of any history, each with the reason."""
LATE_COST = {("reserves nothing", "planning-cancel"), ("reserves nothing", "planning-deadline")}
"""A late reply is recorded with its cost alone, so another cost is not seen; no decision differs there."""


def test_without_a_bug_no_history_differs():
    found = [compare_run(played.run, played.kind, EditedRules()) for played in histories()]
    assert [finding for finding in found if finding.outcome is not FoldOutcome.SAME] == []
    assert len(found) >= 150
    assert [played.name for played in histories() if played.first_difference(played.kind.machine) is not None] == []


@pytest.mark.parametrize("name", OF_THE_MACHINE)
def test_a_planted_bug_is_named_with_the_first_record_that_it_changes(name):
    """The expected record is found by giving the true messages to the machine with the bug, without any record."""
    bug, named = BUGS[name], 0
    with ExitStack() as stack:
        for target in bug.patches:
            stack.enter_context(patch.object(*target))
        for played in histories():
            if played.kind.name != "planning" and not bug.patches:
                continue
            make = bug.machine if played.kind.name == "planning" else lambda: played.kind.machine  # noqa: B023
            expected = played.first_difference(make())
            if (name, played.name) not in LATE_COST:
                finding = compare_run(played.run, replace(played.kind, machine=make()), EditedRules())
                assert finding.seq == expected, played.name
                named += expected is not None
    assert (named == 0) == (name in UNDECIDED)
