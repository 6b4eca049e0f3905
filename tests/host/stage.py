"""The stage of the host's tests: engines over one journal in memory, on trio's clock, and hosts that serve it."""

from contextlib import asynccontextmanager
from dataclasses import fields

import trio

from actors.handlers.generators import FunctionGenerator
from actors.handlers.registry import Registry
from actors.planning.kind import CODEC
from actors.planning.prepare import RunRequest
from replan.runs.engine import Engine
from replan.runs.hosting import host
from runtime.core.clock import TrioClock
from runtime.core.cost import Price
from runtime.core.ledger import Limits
from runtime.drive.options import Stop
from runtime.journal.memory import MemoryStore, open_memory
from tests.support.worlds import passed, pinned, rejected

START = 1_700_000_000.0 // 86_400 * 86_400 + 86_400 - 60
"""A minute before midnight, so that the next day is near."""


class Stage:
    """One home. `calls` are the times at which the generator was asked, `busy` how many calls are in flight.

    `told` is what hosts have told, and `told_at` when.
    """

    def __init__(self, *, seconds=1.0, reject=()):
        self.store, self.clock = MemoryStore(), TrioClock(START)
        self.seconds, self.reject = seconds, list(reject)
        self.calls, self.busy, self.busiest, self.told, self.told_at = [], 0, 0, [], []

    async def make(self, context):
        """Make an artifact, after some time."""
        self.calls.append(trio.current_time())
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await trio.sleep(self.seconds)
        finally:
            self.busy -= 1
        return f"artifact {len(self.calls)}"

    def judge(self, artifact, context):
        """Reject with the next finding that was planned; then accept."""
        return rejected(self.reject.pop(0)) if self.reject else passed()

    @asynccontextmanager
    async def engine(self, *, budget=None, plugged=True, clock=None, **fields):
        """Open an engine of its own over the home."""
        own = {"made": FunctionGenerator(self.make, "made")} if plugged else {}
        registry = Registry(guards={"toy": lambda _: self.judge}, generators=own)
        time = clock or self.clock
        async with open_memory(CODEC, time, store=self.store, budget=budget) as journal:
            yield Engine(journal=journal, registry=registry, clock=time, threads=False, environment={}, **fields)

    @asynccontextmanager
    async def hosting(self, engine, *, runs_max=100):
        """Run a host for the length of a block, and stop it in good order."""
        stop = Stop(handover=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.serve, engine, stop, runs_max)
            yield stop
            stop.requested.set()

    async def serve(self, engine, stop, runs_max=100):
        """Serve the home until the stop."""

        def report(notice):
            details = [getattr(notice, field.name) for field in fields(notice) if field.name != "run"]
            self.told.append((notice.event, getattr(notice, "run", ""), *(details or [""])))
            self.told_at.append(trio.current_time())

        await host(engine, runs_max=runs_max, stop=stop, report=report)

    def events(self, run):
        """Return what was told of a run."""
        return [(event, detail) for event, name, detail in self.told if name == run]

    def times(self, event):
        """Return when an event was told, in whole seconds."""
        return [round(at) for at, told in zip(self.told_at, self.told, strict=True) if told[0] == event]

    def row(self, run):
        """Return what the status row of a run says."""
        held = self.store.runs[run]
        return held.summary.status, held.summary.detail


def job(*steps, questions_max=5, chained=True, **limits):
    """Return the job of a toy workflow; each step requires the one before it, or all go side by side."""
    shape = {
        name: {"generator": "made", "requires": list(steps[max(0, place - 1) : place]) if chained else [], "rmax": 4}
        for place, name in enumerate(steps)
    }
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")
    config = pinned(shape, price=price, questions_max=questions_max).model_copy(update={"model": "rules"})
    return RunRequest("the problem", "a run", config, Limits(**{"calls": 20, **limits}))
