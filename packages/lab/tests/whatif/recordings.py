"""Recorded runs with the messages that they were made from: the histories, each played to its end."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from unittest.mock import patch

from actors.execution.kind import EXECUTION
from actors.planning.kind import PLANNING
from actors.run.machine import RunMachine
from actors.run.near_limit import LimitNear
from actors.run.waits import Started
from replan_lab.whatif.recorded_run import PlacedEvent, RecordedRun
from runtime.core.machine import Refused, settle
from runtime.core.messages import Mailed
from runtime.journal.port import InboxItem
from tests.execution import stage as execution_stage
from tests.histories.interpreter import Interpreter
from tests.histories.test_execution_histories import HISTORIES as EXECUTIONS
from tests.histories.test_execution_histories import ExecutionInterpreter
from tests.histories.test_histories import HISTORIES as PLANNINGS
from tests.histories.test_histories import rewritten
from tests.support import worlds


@dataclass
class Played:
    name: str
    kind: object
    appends: list = field(default_factory=list)
    """The message and the events of each append."""

    @property
    def run(self):
        """The run as a journal would have it."""
        events, mail = [], {}
        for message, batch in self.appends:
            inbox = None
            if isinstance(message, Mailed):
                inbox = len(mail) + 1
                mail[inbox] = InboxItem(inbox, message.key, message.body, message.at)
            for place, event in enumerate(batch, 1):
                ends = place == len(batch)
                events.append(PlacedEvent(len(events) + 1, event, inbox if place == 1 else None, ends))
        return RecordedRun(self.name, self.kind.name, "waiting", events, mail)

    def first_difference(self, machine):
        """Return the number of the first record that a machine makes otherwise from the true messages; None for none.

        It is found without any record, and so says what `whatif` has to find. Also returned is what is raised there.
        Warnings about limits do not count, as in `whatif`.
        """
        state, seq = machine.initial(), 1
        for message, batch in self.appends:
            try:
                accepted = machine.accept(state, message)
                if accepted is None or isinstance(accepted, Refused):
                    return seq
                if isinstance(message, Started) and len(batch) == 1:  # As where a run is admitted.
                    state, events = machine.evolve(state, accepted), [accepted]
                else:
                    state, events = settle(machine, state, accepted)
            except Exception:  # noqa: BLE001 -- a planted mistake may raise anywhere
                return _raised_at(machine, state, message, batch, seq)
            made = [event for event in events if not isinstance(event, LimitNear)]
            recorded = [(number, event) for number, event in enumerate(batch, seq) if not isinstance(event, LimitNear)]
            for place, (number, event) in enumerate(recorded):
                if place >= len(made) or made[place] != event:
                    return number
            seq += len(batch)
            if len(made) > len(recorded):
                return seq
        return None


def _raised_at(machine, state, message, batch, seq):
    """Return the number of the record at which a machine raises, or makes another one before."""
    accepted = machine.accept(state, message)
    for place, event in enumerate(batch):
        try:
            made = accepted if place == 0 else machine.advance(state)
            if made != event:
                return seq + place
            state = machine.evolve(state, made)
        except Exception:  # noqa: BLE001 -- as above
            return seq + place
    return seq + len(batch)


@contextmanager
def _recorded(played):
    accept, pending = RunMachine.accept, []

    def accepting(machine, state, message):
        event = accept(machine, state, message)
        if event is not None and not isinstance(event, Refused):
            if pending and isinstance(pending[0], Started):
                played.append((pending[0], [pending[0]]))
            pending[:] = [message]
        return event

    def settling(machine, state, first=None):
        after, events = settle(machine, state, first)
        if pending:
            played.append((pending.pop(), events))
        return after, events

    with ExitStack() as stack:
        stack.enter_context(patch.object(RunMachine, "accept", accepting))
        for module in (worlds, execution_stage):
            stack.enter_context(patch.object(module, "settle", settling))
        yield


@cache
def histories():
    """Return the runs of all histories, played once."""
    found = []
    for kind, paths, interpreter in (
        (PLANNING, PLANNINGS, Interpreter),
        (EXECUTION, EXECUTIONS, ExecutionInterpreter),
    ):
        for path in paths:
            if "\nfork " in path.read_text(encoding="utf-8"):
                continue  # Its first records are of another run; tests/long/cli/test_whatif.py compares stored forks.
            played = Played(f"{kind.name}-{path.stem}".replace("_", "-"), kind)
            with _recorded(played.appends):
                rewritten(path.read_text(encoding="utf-8"), interpreter())
            if played.appends:
                found.append(played)
    return tuple(found)
