"""Three hundred simulations of the whole shell, each from one number. A failure prints how to repeat it.

One in six is a home with several runs and the hosts that serve it; the others are one run and who drives it.

`REPLAN_SHELL_SEEDS=10000` plays more; `REPLAN_SHELL_SEED=N` plays run N alone; `REPLAN_PLANTED=all` looks for every
planted bug at length, not for one of each class.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest

from actors.planning.events import EVENTS
from tests.shell.home import EVERY, world_of
from tests.shell.hosting import FATES
from tests.shell.planted import BUGS, FIRST

SEEDS = int(os.environ.get("REPLAN_SHELL_SEEDS", "300"))
BATCHES = 15
TWICE = 20
"""Seeds that are played twice, to be the same."""
PLANTED = BUGS if "REPLAN_PLANTED" in os.environ else FIRST
PLANTED_SEEDS = 1_500
"""Seeds within which every planted bug must be found."""


def _seeds(batch):
    if "REPLAN_SHELL_SEED" in os.environ:
        return [int(os.environ["REPLAN_SHELL_SEED"])] if batch == 0 else []
    return range(batch, SEEDS, BATCHES)


def _history(seed):
    """Return a run's trace hash and the hash of its last record, which covers all the others."""
    world = world_of(seed)
    played = world.play()
    return played.trace, world.records[-1].hash if world.records else "", world.endings


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_simulated_shell_keeps_every_promise(batch):
    """S6, S8, S23, S93, S94, S95: the books of `tests.shell.books` hold for supervisor, actors and journal together."""
    for seed in _seeds(batch):
        try:
            world_of(seed).play()
        except Exception as error:
            raise AssertionError(f"repeat with: REPLAN_SHELL_SEED={seed} pytest tests/shell -k promise") from error


def test_a_seed_gives_the_same_run_again():
    """The same steps of the same tasks at the same virtual times, the same records, the same endings."""
    assert [_history(seed) for seed in range(TWICE)] == [_history(seed) for seed in range(TWICE)]


def test_a_seed_gives_the_same_run_in_another_process():
    """Also where strings hash otherwise: nothing depends on the order of a set."""
    script = "from tests.shell.test_shell import _history; print([_history(seed) for seed in range(3, 8)])"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([_history(seed) for seed in range(3, 8)])


def test_the_simulated_worlds_are_rough_enough():
    """Every kind of event, way to end and fate of a request comes up; else the promises are kept by nobody."""
    seen = Counter()
    for seed in range(250):
        world = world_of(seed)
        world.play()
        seen.update(record.event.kind for record in world.records)
        seen.update(f"process {ending}" for ending in world.endings)
        for books in (run.books for run in world.runs):
            seen.update(f"request {asked.state}" for asked in books.asked.values())
            seen.update([f"run {books.finished.outcome}"] if books.finished else [])
        seen.update(f"host {fate}" for fate in world.fates)
        seen.update(f"wait {one.event.request_id}" for one in world.records if one.event.kind == "wait_requested")
    wanted = {str(event.model_fields["kind"].default) for event in EVENTS}
    wanted |= {f"process {ending}" for ending in ("finished", "waiting", "parked", "died", "held", "fenced", "broken")}
    wanted |= {f"request {state}" for state in ("answered", "failed", "withdrawn", "settled")}
    wanted |= {f"run {out}" for out in ("success", "budget_exhausted", "all_pruned", "cancelled", "failed")}
    wanted |= {f"host {fate}" for fate in FATES} | {"wait home_budget"}
    assert sorted(wanted - set(seen)) == []


@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_bug_is_found(name):
    """A simulation that finds nothing in a broken shell says nothing about a sound one."""
    assert BUGS[name].found(range(PLANTED_SEEDS)) is not None, f"{PLANTED_SEEDS} seeds do not show that it {name}"


@pytest.mark.parametrize("name", [name for name in BUGS if name not in PLANTED])
def test_every_other_planted_bug_is_planted_rightly(name):
    """The soak looks for all of them at length. Two seeds, one of a run and one of a home, show that it can."""
    BUGS[name].found((0, EVERY - 1))
