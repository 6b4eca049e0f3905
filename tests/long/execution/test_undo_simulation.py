"""Random plans in random worlds with crashes: each effect is undone once, in reverse order, or a person leaves it."""

import os
import random
from collections import Counter
from dataclasses import replace

import pytest

from actors.execution import evolve_steps, evolve_troubles, evolve_undo, undo_rules
from runtime.core.copies import changed
from tests.execution.undo_world import UndoWorld, undoing_plan

SEEDS = int(os.environ.get("REPLAN_UNDOS", "240"))
CHUNKS = 4
PLANTED_SEEDS = 600
"""The seeds in which a planted bug has to be found."""


def played(seed):
    """Play the world of a seed, check what it has come to, and return how it ended."""
    world = UndoWorld(seed, undoing_plan(random.Random(seed)), replans=seed % 3 == 0)
    outcome = world.play()
    if outcome == "undone":
        world.judge()
    return outcome


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_effect_is_undone_twice_and_none_is_left_that_was_to_be_undone(chunk):
    """The world counts by itself what was done and undone, through kills, parkings, replans and messages."""
    ends = Counter(played(seed) for seed in range(chunk, SEEDS, CHUNKS))
    assert ends["undone"] > SEEDS // CHUNKS // 4


def first_call_first(monkeypatch):
    """Undo in the order of the calls."""

    def to_undo(effects, ends):
        return next((each for each in effects.values() if each.counts and each.node not in ends), None)

    monkeypatch.setattr(undo_rules, "to_undo", to_undo)
    monkeypatch.setattr(evolve_undo, "to_undo", to_undo)


def only_accepted_calls(monkeypatch):
    """Forget what a failed attempt did."""
    settled = evolve_steps.settle_step

    def forgetting(state, event):
        left = {name: each for name, each in state.effects.items() if not name.startswith(f"{event.node}.")}
        return settled(changed(state, effects=left) if event.outcome == "fail" else state, event)

    monkeypatch.setattr(evolve_steps, "settle_step", forgetting)


def forgets_at_a_replan(monkeypatch):
    """Undo only what the current plan did."""
    revised = evolve_troubles.adopt_plan
    monkeypatch.setattr(evolve_troubles, "adopt_plan", lambda state, event: changed(revised(state, event), effects={}))


def forgets_withdrawn_calls(monkeypatch):
    """Take a call that was cut short for one that did nothing."""
    monkeypatch.setattr(evolve_undo, "withdraw_attempts", lambda state, _: state)


def forgets_reissued_calls(monkeypatch):
    """Take the second call after a crash for the only one."""
    monkeypatch.setattr(evolve_undo, "record_reissue", lambda state, _: state)


def undoes_without_asking(monkeypatch):
    """Call the undo tool although nobody knows whether there is anything to undo."""
    reason = undo_rules._reason_to_ask
    monkeypatch.setattr(
        undo_rules, "_reason_to_ask", lambda state, effect, now: reason(state, replace(effect, certain=True), now)
    )


@pytest.mark.parametrize(
    "plant",
    [
        first_call_first,
        only_accepted_calls,
        forgets_at_a_replan,
        forgets_withdrawn_calls,
        forgets_reissued_calls,
        undoes_without_asking,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(plant, monkeypatch):
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        Counter(played(seed) for seed in range(PLANTED_SEEDS))
