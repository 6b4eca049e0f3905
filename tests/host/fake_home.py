"""A home in memory for tests of hosts: engines over one journal, on trio's clock, and hosts that serve it."""

from contextlib import asynccontextmanager
from dataclasses import fields

import trio

from actors.handlers.generators import FunctionGenerator, Registry
from actors.planning.kind import CODEC
from actors.planning.prepare import RunRequest
from replan.runs.engine import Engine
from replan.runs.hosting import host
from runtime.core.clock import TrioClock
from runtime.core.ledger import Limits, Price
from runtime.drive.options import Stop
from runtime.journal.memory import MemoryStore, open_memory
from tests.support.worlds import passed, pinned, rejected

START = 1_700_000_000.0 // 86_400 * 86_400 + 86_400 - 60
"""A minute before midnight, so that the next day is near."""


class FakeHome:
    """One home. `calls` has the time of each call of the generator, `busy` the number of calls in flight.

    `notices` has the notices of hosts as `(event, run, detail)`, `notice_times` their times.
    """

    def __init__(self, *, seconds=1.0, reject=()):
        self.store, self.clock = MemoryStore(), TrioClock(START)
        self.seconds, self.reject = seconds, list(reject)
        self.calls, self.busy, self.busiest, self.notices, self.notice_times = [], 0, 0, [], []

    async def make(self, context):
        self.calls.append(trio.current_time())
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await trio.sleep(self.seconds)
        finally:
            self.busy -= 1
        return f"artifact {len(self.calls)}"

    def judge(self, artifact, context):
        """Reject with the next planned finding; accept when none is left."""
        return rejected(self.reject.pop(0)) if self.reject else passed()

    @asynccontextmanager
    async def engine(self, *, budget=None, plugins=True, clock=None, fault=None, **fields):
        """Open a further engine over the home; `plugins`: whether it has the generator `made`."""
        generators = {"made": FunctionGenerator(self.make, "made")} if plugins else {}
        registry = Registry(guards={"toy": lambda _: self.judge}, generators=generators)
        time = clock or self.clock
        async with open_memory(CODEC, time, store=self.store, budget=budget, fault=fault) as journal:
            yield Engine(journal=journal, registry=registry, clock=time, threads=False, environment={}, **fields)

    @asynccontextmanager
    async def hosting(self, engine, *, runs_max=100, dispatcher=None):
        """Run a host for the length of a block, then stop it in order."""
        stop = Stop(handover=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.serve, engine, stop, runs_max, dispatcher)
            yield stop
            stop.requested.set()

    async def serve(self, engine, stop, runs_max=100, dispatcher=None):
        def report(notice):
            details = [getattr(notice, field.name) for field in fields(notice) if field.name != "run"]
            self.notices.append((notice.event, getattr(notice, "run", ""), *(details[:1] or [""])))
            self.notice_times.append(trio.current_time())

        await host(engine, runs_max=runs_max, stop=stop, report=report, dispatcher=dispatcher)

    def events(self, run):
        return [(event, detail) for event, name, detail in self.notices if name == run]

    def times(self, event):
        return [round(at) for at, notice in zip(self.notice_times, self.notices, strict=True) if notice[0] == event]

    def row(self, run):
        held = self.store.runs[run]
        return held.head.summary.status, held.head.summary.detail


def run_request(*steps, questions_max=5, chained=True, **limits):
    """Return a request for a toy workflow; each step requires the one before it, or none if not `chained`."""
    pairs = {
        name: {"generator": "made", "requires": list(steps[max(0, place - 1) : place]) if chained else [], "rmax": 4}
        for place, name in enumerate(steps)
    }
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=1e-6, source="test")
    config = pinned(pairs, price=price, questions_max=questions_max).model_copy(update={"model": "template:bug"})
    return RunRequest("the problem", "a run", config, Limits(**{"calls": 20, **limits}))
