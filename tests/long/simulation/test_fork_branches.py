"""Forks of simulated searches with several branches, at every record: a fork opens and prunes the same branches.

`REPLAN_SIM_SEED=N` plays run N alone.
"""

import os

import pytest

from actors.planning import evolve
from actors.search.progress import PruneCause
from runtime.core.copies import changed
from tests.long.simulation.scenery import limits
from tests.long.simulation.seeds import repeatable, seeds_of
from tests.long.simulation.test_forks import Calm, check

SEEDS = int(os.environ.get("REPLAN_SIM_FORKS", "24"))
BATCHES = 3
LEAST = 5
"""The seeds of a batch that surely have a run with several branches."""
SEEDS_PLANTED = 10
CALLS = 1_000
SEARCHES = ("beam:3", "beam:2x2", "breadth_first:2", "best_first:4", "iterative_deepening:4", "restart:3", "best_of:3")


class Unchecked:
    """In the place of the invariants, which are those of searches with one branch."""

    def after(self, event, state):
        """Check nothing."""

    def quiet(self, state, work):
        """Check nothing."""


class Branched(Calm):
    """A run of a search that may have several branches."""

    def __post_init__(self):
        super().__post_init__()
        search = SEARCHES[self.seed % len(SEARCHES)]
        # A fork asks open questions anew, so that several would not expire in the same order.
        workflow = type(self.config.workflow).model_validate(
            self.config.workflow.model_dump(exclude_unset=True) | {"search": search, "question_expires_seconds": None}
        )
        self.config = self.config.model_copy(update={"workflow": workflow})
        # Near its limit of calls, a fork, which has all of it, would open more branches than the other run.
        self.limits = limits(self.dice, self.config).model_copy(update={"calls": CALLS, "at_limit": "stop"})
        self.invariants = Unchecked()

    def start(self):
        """Send nothing out: the driver's check of the prompts is about searches with one branch, too."""


def played(seed):
    run = Branched(seed)
    run.begin()
    run.play(patient=True, disturbance=0.0)
    return run


def limited(run):
    """Tell whether the limit of calls decided anything: a fork has the whole of it, so it may open more branches."""
    end = run.state.run.finished
    pruned = any(event.kind == "branch_pruned" and event.cause == PruneCause.CALLS for event in run.events)
    return pruned or (end is not None and end.outcome == "budget_exhausted")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_fork_of_a_search_with_several_branches_ends_as_the_other_run(batch):
    seeds, branched = seeds_of(batch, SEEDS, BATCHES), 0
    for seed in seeds:
        with repeatable(seed, __file__):
            run = played(seed)
            if not limited(run):
                check(run)
                branched += len(run.state.branches) > 1
    assert branched > 0 or len(seeds) < LEAST, "some runs have several branches"


def test_a_fork_that_forgets_what_a_branch_has_tried_is_found(monkeypatch):
    """So the check above can fail."""
    runs = [run for run in map(played, range(SEEDS_PLANTED)) if not limited(run)]
    forked = evolve._start_fork

    def forgets(state, run, event):
        made = forked(state, run, event)
        return changed(made, branches=(*made.branches[:-1], changed(made.branches[-1], attempts={}, history=())))

    def check_all():
        for run in runs:
            check(run)

    check_all()
    monkeypatch.setattr(evolve, "_start_fork", forgets)
    with pytest.raises((AssertionError, KeyError)):
        check_all()
