"""Nothing differs without a bug or in another release, and a planted bug is named with the first record it changes."""

from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import pytest

from actors.planning.kind import PLANNING
from actors.planning.machine import PlanningMachine
from packages.lab.tests.whatif.recordings import histories
from replan.setup.kinds import Kinds
from replan_lab.whatif.differences import EditedRules, FoldOutcome
from replan_lab.whatif.fold import compare_run
from replan_lab.whatif.recorded_run import StoredRun
from replan_lab.whatif.worker import finding_of
from runtime.core.ledger import Ledger
from runtime.journal.memory import MemoryReader, _MemoryJournal
from tests.long.shell.home_world import EVERY, world_of
from tests.long.shell.planted_bugs import BUGS

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


SEEDS = [*range(9), *range(EVERY * 4 - 1, EVERY * 8, EVERY)]


def noting(method, ends):
    """Return a method of the journal that notes the last record of each append, also where its caller is killed."""

    async def call(journal, run, *arguments, **named):
        try:
            return await method(journal, run, *arguments, **named)
        finally:
            held = journal._store.runs.get(run)
            if held is not None and held.rows:
                ends.setdefault(run, set()).add(held.rows[-1].seq)

    return call


def recorded(seed):
    """Play a world, and return its runs as they are stored."""
    ends, world = {}, world_of(seed)
    with (
        patch.object(_MemoryJournal, "append", noting(_MemoryJournal.append, ends)),
        patch.object(_MemoryJournal, "create", noting(_MemoryJournal.create, ends)),
    ):
        world.play()
    reader = MemoryReader(world.store, 0.0)
    copies = [reader.copy(run) for run in reader.names(recorded=True)]
    return [StoredRun.of(copy._replace(ends=frozenset(ends[copy.head.run]))) for copy in copies]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_that_recorded_a_run_decides_the_same_again(seed):
    for stored in recorded(seed):
        run = StoredRun.from_line(stored.to_line()).decode_events(PLANNING.codec)
        finding = compare_run(run, PLANNING, EditedRules(daily_budget=True))
        assert finding.outcome is FoldOutcome.SAME, finding


def test_a_run_of_an_unknown_kind_or_of_unknown_events_is_a_finding():
    [stored, *_] = recorded(0)
    kinds, edit = Kinds(), EditedRules()
    assert finding_of(stored, kinds, edit).outcome is FoldOutcome.SAME
    line = stored.to_line()
    for changed, words in (
        (line.replace(b'"planning"', b'"novel"', 1), "novel"),
        (line.replace(b"generation_requested", b"generation_wanted"), "is not an event of kind planning"),
    ):
        finding = finding_of(StoredRun.from_line(changed), kinds, edit)
        assert (finding.outcome, finding.run) == (FoldOutcome.UNREADABLE, stored.run)
        assert words in finding.reason
