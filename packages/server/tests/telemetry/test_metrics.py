"""The exported values of leases that were lost, of money, and of the ages that gauges show."""

import pytest

from actors.planning.kind import PLANNING
from actors.run.calls import Settled
from replan_server.telemetry.metrics import Metrics, measures_of
from runtime.core.events import Record
from runtime.core.hooks import LEASE_LOST, report_measure
from runtime.core.ledger import Amount
from runtime.journal.port import Tally
from runtime.models.servers import ServerLimits, Window
from tests.support.collector import attributes, collecting

NOW = 1_000.0
ENDED, REPORTED = (
    Window(limit=60, remaining=left, began=NOW - 30, resets_at=NOW + later) for left, later in ((0, -1), (-2, 30))
)
LIMITS = {
    "api.example.org 3f2a": ServerLimits(windows={"requests": REPORTED, "tokens": ENDED}, held_until=NOW + 7.5),
    "127.0.0.1:8000 0c11": ServerLimits(),
}


@pytest.fixture
def exported(monkeypatch):
    """Return a function that measures what `work` does with the metrics, and returns the collector that has them."""

    def export(work):
        with collecting() as collector:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
            metrics = Metrics(lambda: NOW, lambda: LIMITS)
            try:
                work(metrics)
            finally:
                metrics.close(30)
        return collector

    return export


def value(collector, name):
    (point,) = collector.values(name)
    return point.as_double or point.as_int


def test_each_lost_lease_is_counted(exported):
    def lose(_):
        for _ in range(3):
            report_measure(LEASE_LOST, 1)

    assert value(exported(lose), "replan.lease.losses") == 3
    report_measure(LEASE_LOST, 1)  # Nobody observes any more.


def test_money_is_counted_in_dollars(exported):
    used = Amount(calls=1, tokens=100, micro_usd=1_250_000)
    event = Settled(request_id="r1", used=used, at=NOW, mono=0.0)
    counted = measures_of(PLANNING, Record("run1", 1, 0.0, 1, event, ""))
    (point,) = exported(lambda metrics: metrics.count([*counted, *counted])).values("replan.cost")
    assert (point.as_double, attributes(point)) == (2.5, {"replan.kind": "planning"})


@pytest.mark.parametrize(("since", "age"), [((400.0, 300.0, None), 700.0), ((None, None, None), 0.0)])
@pytest.mark.parametrize("name", ["replan.queue.age", "replan.questions.age"])
def test_an_age_is_that_of_the_oldest_and_0_where_none_waits(exported, name, since, age):
    key = "undriven_since" if name == "replan.queue.age" else "waiting_since"
    tallies = [Tally("planning", f"status{number}", 1, **{key: time}) for number, time in enumerate(since)]
    collector = exported(lambda metrics: metrics.show(tallies))
    (point,) = collector.values(name)
    assert point.as_double == age


def test_rate_limits_that_count_now_are_shown_while_this_process_exports(exported):
    """What two calls too many have taken is not shown as less than nothing."""
    collector = exported(lambda metrics: metrics.show([Tally("planning", "running", 1)]))
    server = {"server.address": "api.example.org", "replan.key": "3f2a"}
    for name, shown in (("replan.rate_limit.left", 0), ("replan.rate_limit.limit", 60)):
        (point,) = collector.values(name)
        assert (point.as_int, attributes(point)) == (shown, {**server, "replan.limited": "requests"})
    held = {
        attributes(point)["server.address"]: point.as_double for point in collector.values("replan.rate_limit.held")
    }
    assert held == {"api.example.org": 7.5, "127.0.0.1:8000": 0.0}
    assert not exported(lambda metrics: metrics.show([])).values("replan.rate_limit.held")
