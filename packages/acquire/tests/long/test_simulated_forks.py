"""Forks of simulated acquisitions, at every record: given the replies of the other run, a fork ends as that run did.

`REPLAN_SIM_SEED=N` plays run N alone.
"""

import json
import os
import random
from dataclasses import replace

import pytest

from actors.run.calls import Faulted, Generated
from actors.run.fork_event import Forked
from actors.run.ids import call_of
from actors.run.tools import Begun, Ended
from packages.acquire.tests.acquisition.stage import Stage, prepared
from packages.acquire.tests.acquisition.states import BOOT
from packages.acquire.tests.acquisition.test_properties import STEPS_MAX, move, random_profile
from replan_acquire.acquisition.kind import CODEC
from replan_acquire.acquisition.machine import AcquisitionMachine
from replan_acquire.acquisition.prepare import PreparedAcquisition
from runtime.core.ledger import ZERO
from runtime.core.messages import Mailed, Resumed, Woken
from tests.long.simulation.replaying import places, replay
from tests.long.simulation.seeds import repeatable, seeds_of

SEEDS = int(os.environ.get("REPLAN_SIM_FORKS", "8"))
BATCHES = 4
MACHINE = AcquisitionMachine()


class Calm(Stage):
    """A run that keeps its messages, without takeovers and faults of the provider."""

    def __init__(self, job):
        self.told = []
        super().__init__(job)

    def send(self, message):
        if isinstance(message, Faulted) or (isinstance(message, Resumed) and self.told):
            return None
        before, node = len(self.events), self.asked(message)
        event = super().send(message)
        if len(self.events) > before:
            self.told.append((before, message, node))
        return event

    def asked(self, message):
        """Return the node of the question that a message answers, or declines."""
        name = json.loads(message.body).get("question", "") if isinstance(message, Mailed) else ""
        return self.state.run.questions[name].request.node if name else ""


def played(seed):
    chance, base = random.Random(seed), prepared()
    config = base.pinned.model_copy(update={"profile": random_profile(chance)})
    run = Calm(PreparedAcquisition("goal", config, base.limits, chance.choice([{}, BOOT, BOOT]), "random"))
    for _ in range(STEPS_MAX):
        if run.finished is not None:
            return run
        move(chance, run)
    raise AssertionError("the run does not end")


def replayed(run, seq, before):
    """Drive a fork after a record with the replies that the other run has had; return its state and its events."""
    event = Forked(at=before.run.now, origin="other", seq=seq, hash="00", limits=run.events[0].limits)
    stored = CODEC.encode(event)
    assert CODEC.decode(stored.body, stored.texts) == event
    state = MACHINE.evolve(before, event)
    assert state.run.ledger.committed == ZERO, "a fork has a budget of its own"

    later = [(message, asked) for place, message, asked in run.told if place >= seq]
    messages = [lambda state, told=told: readdressed(told[0], state.run, told[1]) for told in later]
    return replay(MACHINE, state, messages)


def readdressed(message, run, asked):
    """Return a message of the other run as the fork gets it: a reply to the try that it has asked for, in time."""
    if isinstance(message, Generated | Begun | Ended):
        named = [name for name in (*run.calls.open, *run.tools) if call_of(name) == call_of(message.request_id)]
        return replace(message, request_id=named[0]) if named else message
    if isinstance(message, Woken) and message.request_id in run.waits:
        return replace(message, at=max(message.at, run.waits[message.request_id].until))
    if asked:
        named = [name for name, each in run.questions.items() if each.request.node == asked and each.open]
        body = json.loads(message.body) | {"question": named[0] if named else "gone"}
        return replace(message, body=json.dumps(body))
    return message


def decisions(events):
    return [event for event in events if event.kind == "routed"]


def check(run):
    """Fork the acquisition at every record before its end; return how many forks that were."""
    forks = 0
    for seq, before in places(MACHINE, run.events):
        if before.run.finished is not None:
            continue
        (state, events), forks = replayed(run, seq, before), forks + 1
        theirs = decisions(run.events[seq:])
        if run.finished.outcome == "budget_exhausted":  # It has the whole budget, so it goes on from there.
            assert decisions(events)[: len(theirs)] == theirs, f"at record {seq}"
            continue
        assert decisions(events) == theirs, f"at record {seq}"
        assert (state.run.finished and state.run.finished.outcome) == run.finished.outcome, f"at record {seq}"
        assert state.planner == run.planner, f"at record {seq}"
    return forks


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_fork_of_an_acquisition_without_a_change_ends_as_the_other_run(batch):
    seeds, forks = seeds_of(batch, SEEDS, BATCHES), 0
    for seed in seeds:
        with repeatable(seed, __file__):
            forks += check(played(seed))
    assert forks > 0 or not seeds
