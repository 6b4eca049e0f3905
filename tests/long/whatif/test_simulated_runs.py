"""Runs of simulated homes, with crashes, stops, faults, spent budgets and clocks that are set: nothing differs."""

from unittest.mock import patch

import pytest

from actors.planning.kind import PLANNING
from replan.setup.kinds import Kinds
from replan.whatif.differences import EditedRules, FoldOutcome
from replan.whatif.fold import compare_run
from replan.whatif.recorded_run import StoredRun
from replan.whatif.worker import finding_of
from runtime.journal.memory import MemoryReader, _MemoryJournal
from tests.long.shell.home_world import EVERY, world_of

SEEDS = [*range(18), *range(EVERY * 4 - 1, EVERY * 8, EVERY)]


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
        (line.replace(b"generation_requested", b"generation_wanted"), "is no event of kind planning"),
    ):
        finding = finding_of(StoredRun.from_line(changed), kinds, edit)
        assert (finding.outcome, finding.run) == (FoldOutcome.UNREADABLE, stored.run)
        assert words in finding.reason
