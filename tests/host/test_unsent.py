"""Calls that wait to be sent: in slot, or until they are not wanted any more; then they cost nothing."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pytest
import trio

from replan.runs.options import DriveOptions
from runtime.drive.options import Stop
from runtime.models.limiter import CallLimiter
from runtime.models.port import FaultKind
from tests.host.stage import Stage, job
from tests.support.worlds import pinned


@pytest.mark.parametrize(("limiter", "busiest"), [(CallLimiter(each=3), 3), (CallLimiter(by_provider={"here": 2}), 2)])
async def test_calls_in_flight_to_one_provider_are_bounded(autojump_clock, limiter, busiest):
    most = 0
    inside = 0

    async def call(slot):
        nonlocal most, inside
        async with slot():
            inside += 1
            most = max(most, inside)
            await trio.sleep(1)
            inside -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(call, limiter.for_run("here"))
    assert most == busiest


async def test_calls_of_one_run_leave_turns_for_others(autojump_clock):
    limiter, came = CallLimiter(each=10, per_run=2), []

    async def call(name, slot):
        async with slot():
            came.append((trio.current_time(), name))
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for name, slot in (("greedy", limiter.for_run("here")), ("modest", limiter.for_run("here"))):
            for _ in range(6 if name == "greedy" else 1):
                nursery.start_soon(call, name, slot)
    assert [name for at, name in came if at == 0].count("greedy") == 2
    assert (0, "modest") in came


async def test_a_call_that_waited_for_its_turn_at_a_stop_is_given_back(autojump_clock, monkeypatch):
    """Time in the queue is no part of the request's time limit, and what was not sent costs nothing."""
    _ask_a_slow_model(monkeypatch)
    stage = Stage()
    async with stage.engine(limiter=CallLimiter(each=1)) as engine:
        for run in "ab":
            await engine.admit(job("one"), run=run)
        async with stage.hosting(engine):
            await trio.sleep(5)
        states = [(await engine.load(run))[0] for run in "ab"]
        faults = [tries.failed.fault.kind for state in states for tries in state.run.calls.tries.values()]
        assert faults[-1] is FaultKind.REFUSED_CONNECTION
        assert min(state.run.ledger.committed.calls for state in states) == 0


@pytest.mark.parametrize(
    ("waits_for", "back", "until"),
    [("slot", 1, 15), ("mailbox", 1, 15), ("mailbox and slot", 1, 15), ("journal", 2, 5)],
)
async def test_a_call_that_was_not_sent_before_a_stop_is_given_back_at_once(
    autojump_clock, monkeypatch, waits_for, back, until
):
    """What is in flight gets its ten seconds; what waits to be sent would wait them for nothing, and be charged."""
    work, limiter = _held_up(monkeypatch, waits_for)
    stage, stop, given_back = Stage(), Stop(), []

    def hear(record, state):
        if record.event.kind == "generation_failed":
            given_back.append((trio.current_time(), state.run.ledger.committed.calls))

    async with stage.engine(limiter=limiter) as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(engine.begin, work, DriveOptions(stop, hear), run="a"))
        await trio.sleep(5)
        stop.requested.set()
    assert given_back == [(5, 1), (5, 0)][:back]
    assert trio.current_time() == until


@pytest.mark.parametrize("withdrawn_by", ["requirement", "end"])
@pytest.mark.parametrize(("waits_for", "sent"), [("slot", 1), ("mailbox", 1), ("mailbox and slot", 1), ("journal", 0)])
async def test_a_call_that_is_withdrawn_before_it_was_sent_is_given_back_and_one_that_was_sent_is_not(
    autojump_clock, monkeypatch, waits_for, sent, withdrawn_by
):
    work, limiter = _held_up(monkeypatch, waits_for)
    stage, asked = Stage(), []

    def hear(record, _):
        if record.event.kind == "generation_requested":
            asked.append(record.event.request_id)

    async with stage.engine(limiter=limiter) as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(engine.begin, work, DriveOptions(on_record=hear), run="a"))
        await trio.sleep(5)
        first = set(asked)
        assert len(first) == 2
        if withdrawn_by == "end":
            await engine.cancel("a")
        else:
            await engine.tell("a", "It must be fast.", "requirement")
        await trio.sleep(5)
        books = (await engine.load("a"))[0].run.ledger
        assert (len(first & books.forfeited.keys()), books.unknown.calls, books.spent.calls) == (sent, sent, 0)
        nursery.cancel_scope.cancel()


def _held_up(monkeypatch, waits_for):
    """Return a job of two calls, of which one waits to be sent, or for the journal both, and the limiter for it."""
    _ask_a_slow_model(monkeypatch)
    work = job("one", "two", chained=False)
    if "mailbox" in waits_for:
        config = pinned({"one": {"concurrency": 1}}, search="best_of:2")
        work = replace(work, pinned=config.model_copy(update={"model": "rules"}))
    if waits_for == "journal":  # Which cannot say whose the run is, as it must before a call is sent.
        monkeypatch.setattr("runtime.drive.lease.LeaseKeeper._may_be_over", lambda _: True)
        monkeypatch.setattr("runtime.drive.lease.LeaseKeeper._renewed", _not_yet)
    return work, CallLimiter(per_run=1) if "slot" in waits_for else CallLimiter()


def _ask_a_slow_model(monkeypatch):
    class Slow:
        async def complete(self, request):
            await trio.sleep(1000)

    monkeypatch.setattr("replan.runs.engine.provider_of", lambda name, environment: "here")
    monkeypatch.setattr("replan.runs.engine.open_model", lambda name, **_: nullcontext(Slow()))
    monkeypatch.setattr("actors.planning.actors._generator", lambda pair, asking, registry: asking)


async def _not_yet(_):
    await trio.lowlevel.checkpoint()
    return False
