"""Calls that wait to be sent: they respect the limits, and cost nothing if they are withdrawn or stopped."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pytest
import trio

from runtime.drive.options import DriveOptions, Stop
from runtime.models.port import FaultKind
from runtime.models.provider_state import CallLimiter
from tests.host.fake_home import FakeHome, run_request
from tests.support.worlds import pinned


@pytest.mark.parametrize(
    ("limiter", "busiest"), [(CallLimiter(per_provider=3), 3), (CallLimiter(by_provider={"here": 2}), 2)]
)
async def test_calls_in_flight_to_one_provider_are_bounded(autojump_clock, limiter, busiest):
    maximum = 0
    in_flight = 0

    async def call(slot):
        nonlocal maximum, in_flight
        async with slot():
            in_flight += 1
            maximum = max(maximum, in_flight)
            await trio.sleep(1)
            in_flight -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(call, limiter.for_run("here"))
    assert maximum == busiest


async def test_calls_of_one_run_leave_slots_for_others(autojump_clock):
    limiter, starts = CallLimiter(per_provider=10, per_run=2), []

    async def call(name, slot):
        async with slot():
            starts.append((trio.current_time(), name))
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for name, slot in (("greedy", limiter.for_run("here")), ("modest", limiter.for_run("here"))):
            for _ in range(6 if name == "greedy" else 1):
                nursery.start_soon(call, name, slot)
    assert [name for at, name in starts if at == 0].count("greedy") == 2
    assert (0, "modest") in starts


async def test_calls_to_the_model_of_a_step_take_slots_of_its_own_provider(autojump_clock):
    slot = CallLimiter(per_provider=1).for_run("here", {"anthropic:m": "there"})
    starts = []

    async def call(model):
        async with slot(model):
            starts.append((trio.current_time(), model))
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for model in ("", "gpt", "anthropic:m", "anthropic:m"):
            nursery.start_soon(call, model)
    assert sorted(at for at, model in starts if model == "anthropic:m") == [0, 1]
    assert sorted(at for at, model in starts if model != "anthropic:m") == [0, 1]


async def test_a_call_without_a_slot_at_a_stop_is_refunded(autojump_clock, monkeypatch):
    """The time in the queue does not count for the timeout, and an unsent call costs nothing."""
    _use_slow_model(monkeypatch)
    home = FakeHome()
    async with home.engine(limiter=CallLimiter(per_provider=1)) as engine:
        for run in "ab":
            await engine.admit(run_request("one"), run=run)
        async with home.hosting(engine) as stop:
            stop.grace = 10.0
            await trio.sleep(5)
        states = [(await engine.load(run))[0] for run in "ab"]
        faults = [tries.failed.fault.kind for state in states for tries in state.run.calls.tries.values()]
        assert faults[-1] is FaultKind.REFUSED_CONNECTION
        assert min(state.run.ledger.committed.calls for state in states) == 0


@pytest.mark.parametrize(
    ("waits_for", "refund_count", "until"),
    [("slot", 1, 15), ("mailbox", 1, 15), ("mailbox and slot", 1, 15), ("journal", 2, 5)],
)
async def test_an_unsent_call_is_refunded_at_once_at_a_stop(
    autojump_clock, monkeypatch, waits_for, refund_count, until
):
    """Calls in flight get the grace period; an unsent call would only wait for it and be charged."""
    work, limiter = _delayed_calls(monkeypatch, waits_for)
    home, stop, refunds = FakeHome(), Stop(grace=10.0), []

    def on_record(record, state):
        if record.event.kind == "generation_failed":
            refunds.append((trio.current_time(), state.run.ledger.committed.calls))

    async with home.engine(limiter=limiter) as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(engine.begin, work, DriveOptions(stop, on_record), run="a"))
        await trio.sleep(5)
        stop.requested.set()
    assert refunds == [(5, 1), (5, 0)][:refund_count]
    assert trio.current_time() == until


@pytest.mark.parametrize("withdrawn_by", ["requirement", "end"])
@pytest.mark.parametrize(("waits_for", "sent"), [("slot", 1), ("mailbox", 1), ("mailbox and slot", 1), ("journal", 0)])
async def test_a_withdrawn_call_is_refunded_unless_it_was_sent(
    autojump_clock, monkeypatch, waits_for, sent, withdrawn_by
):
    work, limiter = _delayed_calls(monkeypatch, waits_for)
    home, request_ids = FakeHome(), []

    def on_record(record, _):
        if record.event.kind == "generation_requested":
            request_ids.append(record.event.request_id)

    async with home.engine(limiter=limiter) as engine, trio.open_nursery() as nursery:
        nursery.start_soon(partial(engine.begin, work, DriveOptions(on_record=on_record), run="a"))
        await trio.sleep(5)
        first = set(request_ids)
        assert len(first) == 2
        if withdrawn_by == "end":
            await engine.cancel("a")
        else:
            await engine.tell("a", "It must be fast.", "requirement")
        await trio.sleep(5)
        ledger = (await engine.load("a"))[0].run.ledger
        assert (len(first & ledger.forfeited.keys()), ledger.unknown.calls, ledger.spent.calls) == (sent, sent, 0)
        nursery.cancel_scope.cancel()


def _delayed_calls(monkeypatch, waits_for):
    """Return a request for a run with two calls, one of which is delayed, with the journal both, and its limiter."""
    _use_slow_model(monkeypatch)
    work = run_request("one", "two", chained=False)
    if "mailbox" in waits_for:
        config = pinned({"one": {"concurrency": 1}}, search="best_of:2")
        work = replace(work, pinned=config.model_copy(update={"model": "template:bug"}))
    if waits_for == "journal":  # The lease cannot be verified, which must happen before a call is sent.
        monkeypatch.setattr("runtime.drive.lease.LeaseKeeper._may_be_over", lambda _: True)
        monkeypatch.setattr("runtime.drive.lease.LeaseKeeper._renew", _not_renewed)
    return work, CallLimiter(per_run=1) if "slot" in waits_for else CallLimiter()


def _use_slow_model(monkeypatch):
    class SlowModel:
        async def complete(self, request):
            await trio.sleep(1000)

    monkeypatch.setattr("replan.runs.driving.provider_of", lambda name, environment: "here")
    monkeypatch.setattr("replan.runs.driving.open_model", lambda name, **_: nullcontext(SlowModel()))
    monkeypatch.setattr("actors.planning.children._generator", lambda pair, asking, registry: asking)


async def _not_renewed(_):
    await trio.lowlevel.checkpoint()
    return False
