"""The timeline of a run, from its records."""

from actors.run.near_limit import LimitNear
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested
from actors.run.waits import WaitEnded, WaitRequested
from replan_server.web.timeline import LANES_MAX, WIDTH, at_time, timeline
from runtime.core.events import Record
from runtime.core.ledger import Limit


def records(*events):
    return [Record(run="r", seq=seq, epoch=1, at=at, event=event, hash="") for seq, (at, event) in enumerate(events, 1)]


def tool(name, node):
    return ToolRequested(node=node, tool=name, arguments="{}", timeout_seconds=10)


def finished(node, outcome=ToolOutcome.SUCCEEDED):
    """Return the end of the call of a tool."""
    return ToolFinished(at=0, request_id=f"tool:{node}", outcome=outcome)


def test_each_bar_has_a_lane_a_begin_an_end_and_how_it_ended():
    wait = WaitRequested(request_id="wait:tool:b", until=9, why="retry", node="b")
    shown = timeline(
        records(
            (100, tool("pytest", "a")),
            (102, finished("a")),
            (102, tool("git", "b")),
            (103.5, finished("b", ToolOutcome.FAILED)),
            (104, wait),
            (110, WaitEnded(at=110, request_id="wait:tool:b")),
            (110, tool("git", "c")),
            (120, tool("git", "d")),
        ),
        {"tool:d"},
        price_known=True,
    )
    told = [(row.bar.lane, row.bar.kind, row.after, row.took, row.bar.how) for row in shown.rows]
    assert told == [
        ("pytest", "tool", "0 ms", "2.0 s", ""),
        ("git", "tool", "2.0 s", "1.5 s", "failed"),
        ("b", "wait", "4.0 s", "6.0 s", ""),
        ("git", "tool", "10.0 s", "0 ms", "withdrawn"),  # Nobody waits for it any more.
        ("git", "tool", "20.0 s", "under way", ""),
    ]
    assert [lane.name for lane in shown.lanes] == ["pytest", "git", "b"]
    assert shown.ticks == ("0 ms", "10.0 s", "20.0 s")


def test_what_is_under_way_reaches_until_now_and_what_has_ended_stays():
    shown = timeline(
        records((100, tool("pytest", "a")), (110, finished("a")), (110, tool("git", "b"))), {"tool:b"}, price_known=True
    )
    later = at_time(shown, 120)
    assert [lane.text for lane in later.lanes] == ["1 call, 10.0 s", "1 call, 10.0 s"]
    assert [(bar.x, bar.length) for lane in later.lanes for bar in lane.drawn_bars] == [(0, 500), (500, 500)]
    assert later.ticks[-1] == "20.0 s"
    over = timeline(records((100, tool("pytest", "a")), (110, finished("a"))), (), price_known=True)
    assert at_time(over, 120) is over


def test_what_is_drawn_is_inside_and_short_for_any_number_of_bars():
    events = [
        (n + part, event) for n in range(5000) for part, event in ((0, tool("a", f"{n}")), (0.9, finished(f"{n}")))
    ]
    shown = timeline(records(*events), (), price_known=False)
    (lane,) = shown.lanes
    assert len(shown.rows) == 5000
    assert 0 < len(lane.drawn_bars) < WIDTH
    assert all(each.x >= 0 and each.x + each.length <= WIDTH + 0.1 for each in lane.drawn_bars)
    many = timeline(records(*((n, tool(f"t{n}", f"{n}")) for n in range(LANES_MAX + 3))), (), price_known=False)
    assert (len(many.lanes), many.left_out) == (LANES_MAX, 3)
    assert timeline([], (), price_known=True) is None


def test_a_warning_about_a_limit_is_a_moment_in_the_lane_of_the_run():
    near = LimitNear(limit=Limit.CALLS, percent=80, used=4, most=5)
    shown = timeline(records((100, tool("pytest", "a")), (105, near), (110, finished("a"))), (), price_known=True)
    told = [(row.bar.lane, row.bar.kind, row.bar.words, row.after, row.bar.how) for row in shown.rows]
    assert told[1] == ("the run", "warning", "80 % of 5 calls are used", "5.0 s", "")
