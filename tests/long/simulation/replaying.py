"""Yields the places at which a run is forked, and drives a fork with the messages that the other run had."""

from runtime.core.machine import Refused, settle
from runtime.core.messages import Resumed


def places(machine, events):
    """Yield the number of each record with the state after it, each made from the one before."""
    state = machine.initial()
    for seq, event in enumerate(events, 1):
        state = machine.evolve(state, event)
        yield seq, state


def replay(machine, state, messages):
    """Give a machine messages, each made from the state at the time; return the last state and all events.

    The fork's first driver takes it first. `messages` are functions that take the state.
    """
    events = []
    for message in (lambda state: Resumed(2, state.run.now), *messages):
        accepted = machine.accept(state, message(state))
        if accepted is not None and not isinstance(accepted, Refused):
            state, batch = settle(machine, state, accepted)
            events.extend(batch)
    return state, events
