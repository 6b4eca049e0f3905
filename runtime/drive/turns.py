"""Turns: the order in which the runs of one process make their model calls. The run with the fewest calls goes first.

A run whose turn it is not requests nothing. What counts is the number of calls in its ledger, so a new process goes on
where a killed one was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import trio


class Turn:
    """The place of one run among the runs that take turns."""

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns
        self.calls = 0
        """The calls that the run has committed, open ones included; 0 until it was read."""
        self.at_work = True
        """Whether runs with more calls wait for it: until it is read, while it waits for its turn, and while a model or
        a guard works for it; not while it waits for a person, a time or a tool.
        """
        self._refused = False
        self._given = trio.Event()

    def may_call(self, calls: int) -> bool:
        """Return whether a run that has committed so many calls may make the next one. If not, `given` tells when."""
        self.note(calls, at_work=True)
        self._refused = calls > self._turns.fewest
        return not self._refused

    async def given(self) -> None:
        """Return once a run that was refused a call may ask again."""
        await self._given.wait()
        self._given = trio.Event()

    def wake(self, fewest: float) -> None:
        """Let a run that was refused a call ask again, if no run that others wait for has fewer than `fewest` calls."""
        if self._refused and self.calls <= fewest:
            self._refused = False
            self._given.set()

    def note(self, calls: int, *, at_work: bool) -> None:
        """Note where the run is after a change of it."""
        if (calls, at_work) != (self.calls, self.at_work):
            self.calls, self.at_work = calls, at_work
            self._turns.wake()


class Turns:
    """The runs of one process that take turns."""

    def __init__(self) -> None:
        self._members = set[Turn]()

    @contextmanager
    def join(self) -> Iterator[Turn]:
        """Let a run take turns with the others for the length of a block."""
        turn = Turn(self)
        self._members.add(turn)
        try:
            yield turn
        finally:
            self._members.remove(turn)
            self.wake()

    @property
    def fewest(self) -> float:
        """The fewest calls of a run that others wait for; infinite if there is none."""
        return min((turn.calls for turn in self._members if turn.at_work), default=inf)

    def wake(self) -> None:
        """Wake the runs that were refused a call and may make it now."""
        fewest = self.fewest
        for turn in self._members:
            turn.wake(fewest)
