"""Forks of simulated planning runs, at every record: given the replies of the other run, a fork ends as that run did.

`REPLAN_SIM_SEED=N` plays run N alone.
"""

import os
from dataclasses import replace

import pytest

from actors.run.calls import Faulted, Generated
from actors.run.fork_event import Forked
from actors.run.fork_rules import OF_ORIGIN
from actors.run.ids import call_of
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import settle
from runtime.core.messages import Resumed, Woken
from tests.long.simulation.driver import CODEC, MACHINE, Run
from tests.long.simulation.invariants import Invariants
from tests.long.simulation.replaying import places, replay
from tests.long.simulation.seeds import repeatable, seeds_of

SEEDS = int(os.environ.get("REPLAN_SIM_FORKS", "40"))
BATCHES = 4
DECIDED = ("decided", "revised", "branch_opened", "branch_pruned", "verdict_reached", "clarification_requested")


class Calm(Run):
    """A run without crashes, messages of a person's own accord and faults of the provider, which keeps its messages."""

    def __post_init__(self):
        super().__post_init__()
        # A fork has the whole budget, so it would not ask at the limit at which the other run asks.
        self.limits = self.limits.model_copy(update={"at_limit": "stop"})
        self.invariants = Invariants(self.config, self.limits)
        self.power_cuts, self.told = 0.0, []

    def send(self, message):
        before = len(self.events)
        batch = super().send(message)
        if len(self.events) > before:
            self.told.append((before, message))
        return batch

    def generated(self, request_id):
        message = super().generated(request_id)
        while isinstance(message, Faulted):
            self.sent.pop()
            message = super().generated(request_id)
        return message


def played(seed):
    run = Calm(seed)
    run.begin()
    run.play(patient=True, disturbance=0.0)
    return run


def forked(run, seq, before):
    """Return the state of a fork after its own first record; `before` is the state after the shared ones."""
    event = Forked(at=before.run.now, origin="other", seq=seq, hash="00", limits=run.events[0].limits)
    stored = CODEC.encode(event)
    assert CODEC.decode(stored.body, stored.texts) == event
    return MACHINE.evolve(before, event)


def replayed(run, seq, before):
    """Drive a fork with the replies that the other run has had after a record; return its state and its new events."""
    later = [message for before, message in run.told if before >= seq]
    messages = [lambda state, message=message: readdressed(message, state.run) for message in later]
    return replay(MACHINE, forked(run, seq, before), messages)


def readdressed(message, run):
    """Return a message of the other run as the fork gets it: a reply to the try that it has asked for, in time."""
    message = replace(message, mono=None)
    if isinstance(message, Generated):
        named = [name for name in run.calls.open if call_of(name) == call_of(message.request_id)]
        return replace(message, request_id=named[0]) if named else message
    if isinstance(message, Woken) and message.request_id in run.waits:
        return replace(message, at=max(message.at, run.waits[message.request_id].until))
    return message


def decisions(events):
    return [
        event.model_copy(update={"at": 0.0, "mono": None} if hasattr(event, "at") else {})
        for event in events
        if event.kind in DECIDED
    ]


def check(run):
    end = run.state.run.finished
    for seq, before in places(MACHINE, run.events):
        expires = seq < len(run.events) and run.events[seq].kind == "clarification_expired"
        if before.run.finished is not None or expires:  # A question that is about to expire is asked anew in the fork.
            continue
        state, events = replayed(run, seq, before)
        mine, theirs = decisions(events), decisions(run.events[seq:])
        if end is not None and end.outcome == "budget_exhausted":
            # It has the whole budget, so it goes on where the other run could not.
            assert mine[: len(theirs)] == theirs, f"at record {seq}"
            continue
        assert mine == theirs, f"at record {seq}"
        assert (state.run.finished and state.run.finished.outcome) == (end and end.outcome), f"at record {seq}"
        assert [name for name, node in state.nodes.items() if node.status == "accepted"] == [
            name for name, node in run.state.nodes.items() if node.status == "accepted"
        ], f"at record {seq}"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_fork_without_a_change_ends_as_the_other_run(batch):
    for seed in seeds_of(batch, SEEDS, BATCHES):
        with repeatable(seed, __file__):
            check(played(seed))


def test_a_fork_spends_nothing_of_the_other_run_s_budget():
    """At every record of wild runs, its ledger is empty, and what it asks for is reserved in it, each call once."""
    for seed in range(20):
        run = Run(seed)
        run.simulate()
        for seq, before in places(MACHINE, run.events):
            if before.run.finished is not None:
                continue
            state = forked(run, seq, before)
            ledger = state.run.ledger
            assert (ledger.committed, ledger.active, dict(ledger.forfeited)) == (ZERO, 0.0, {})
            assert state.run.fork.used == before.run.ledger.committed
            assert MACHINE.summary(state).status == "running"
            assert all(opened.epoch == OF_ORIGIN for opened in state.run.calls.open.values())
            assert not [name for name in MACHINE.outstanding(state) if name in state.run.calls.open]
            state, _ = settle(MACHINE, state, MACHINE.accept(state, Resumed(2, run.now)))
            asked = {name for name in MACHINE.outstanding(state) if name in state.run.calls.open}
            assert asked <= state.run.ledger.reserved.keys()
            own = state.run.ledger.reserved if state.run.finished is None else state.run.ledger.forfeited
            assert state.run.ledger.committed == sum(own.values(), Amount())
            assert state.run.ledger.committed.calls <= state.run.ledger.limits.calls
