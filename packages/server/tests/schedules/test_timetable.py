"""The times of schedules, and what a schedule does at a time."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from replan_server.schedules.timetable import (
    ScheduleEntry,
    SkipDue,
    StartDue,
    Timetable,
    decide,
    due_of,
    run_of,
    zone_of,
)

BERLIN = "Europe/Berlin"
ZONES = ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
CRONS = ["30 2 * * *", "0,30 1-3 * * *", "*/20 * * * *", "15 * * * *", "0 0 1 * *", "5 2 * * SUN", "0 3 29 2 *"]
BEGIN = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
WEEK = 7 * 86_400


def utc(text):
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())


def times(table, after, until):
    """List the times in an interval, one after the other."""
    found = []
    while (after := table.next(after)) is not None and after <= until:
        found.append(after)
    return found


TABLES = st.builds(Timetable, st.sampled_from(CRONS), st.sampled_from(ZONES))
NIGHTS = ["2026-03-08", "2026-03-29", "2026-04-04", "2026-10-03", "2026-10-25", "2026-11-01"]
"""The days on which clocks are changed in the zones above."""
MOMENTS = st.one_of(
    st.integers(BEGIN, BEGIN + 52 * WEEK),
    st.builds(lambda day, seconds: utc(day) + seconds, st.sampled_from(NIGHTS), st.integers(-86_400, 86_400)),
)


@given(TABLES, MOMENTS, st.integers(0, 3 * 86_400))
def test_the_latest_time_is_the_last_of_those_that_follow_each_other(table, after, seconds):
    found = times(table, after, after + seconds)
    assert found == sorted(set(found))
    assert table.latest(after, after + seconds) == (found[-1] if found else None)


@given(TABLES, MOMENTS)
def test_the_next_time_is_later_and_no_time_lies_between(table, after):
    following = table.next(after)
    assert following > after
    assert table.latest(after, following - 1) is None
    assert table.latest(after, following) == following


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2026-03-29", ["2026-03-29T01:00"]),  # 02:30 is skipped: 03:00 is the next time that exists.
        ("2026-10-25", ["2026-10-25T00:30"]),  # 02:30 comes twice: the first one counts.
        ("2026-10-26", ["2026-10-26T01:30"]),
    ],
)
def test_a_time_that_daylight_saving_skips_or_repeats_comes_once(day, expected):
    table = Timetable("30 2 * * *", BERLIN)
    begin = int(datetime.fromisoformat(day).replace(tzinfo=zone_of(BERLIN)).timestamp())
    assert times(table, begin, begin + 23 * 3600) == [utc(text) for text in expected]


def test_two_times_in_the_skipped_hour_are_one():
    table = Timetable("0,30 2 * * *", BERLIN)
    assert times(table, utc("2026-03-29T00:00"), utc("2026-03-29T12:00")) == [utc("2026-03-29T01:00")]


def test_an_hourly_schedule_follows_the_real_hours():
    found = times(Timetable("30 * * * *", BERLIN), utc("2026-10-24T22:45"), utc("2026-10-25T02:45"))
    assert [later - earlier for earlier, later in pairwise(found)] == [3600] * 3


@given(TABLES, MOMENTS, st.lists(st.tuples(st.integers(1, 2 * 86_400), st.booleans()), max_size=20))
@pytest.mark.parametrize("overlap", ["queue", "skip"])
def test_no_time_is_done_twice_or_before_it_has_come_and_a_missed_one_is_done_once(overlap, table, begin, looks):
    """A host looks now and then, and an earlier run is unfinished at some of the looks."""
    handled, now, done = begin, begin, []
    for seconds, busy in looks:
        now += seconds
        passed = times(table, handled, now)
        move = decide(table, overlap, handled=handled, now=now, busy="run" if busy else "")
        if not passed or (busy and overlap == "queue"):
            assert move is None
            continue
        assert move == (SkipDue(passed[-1], "run") if busy else StartDue(passed[-1]))
        done.append(move.due)
        handled = move.due
        assert decide(table, overlap, handled=handled, now=now, busy="") is None
    assert done == sorted(set(done))


@given(st.sampled_from(["nightly", "a", "every_hour_2"]), MOMENTS)
def test_the_id_of_a_run_says_its_schedule_and_its_minute(name, moment):
    due = moment // 60 * 60
    assert due_of(name, run_of(name, due)) == due
    assert due_of(f"{name}x", run_of(name, due)) is None
    for other in (f"{name}-v1", f"{name}-20261301t0000z", "k7m2x9qa", ""):
        assert due_of(name, other) is None
    assert run_of(name, due) != run_of(name, due + 60)


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"cron": "61 * * * *"}, "bad minute"),
        ({"cron": "* * * FOO *"}, "bad month"),
        ({"cron": "0 * * * * *"}, "it should have five fields"),
        ({"cron": "0 0 30 2 *"}, "bad day-of-month"),
        ({"cron": "@daily"}, "it should have five fields"),
        ({"zone": "Europe/Berln"}, "no time zone 'Europe/Berln'"),
        ({"zone": "Europe"}, "no time zone 'Europe'"),
        ({"zone": "../../etc/passwd"}, "no time zone"),
        ({"problem": None}, "it starts nothing"),
        ({"kind": "acquisition"}, "problem and kind are given"),
        ({"problem": None, "plan": "p.json"}, "plan and tools belong together"),
        ({"order": {"x": 1}}, "an order without its kind"),
        ({"overlap": "both"}, "skip"),
    ],
)
def test_a_wrong_entry_is_refused(entry, cause):
    with pytest.raises(ValidationError, match=cause):
        ScheduleEntry.model_validate({"cron": "30 2 * * *", "problem": "p.md", **entry})


def test_a_time_stays_the_same_after_a_year_without_a_look():
    table, now = Timetable("* * * * *", BERLIN), BEGIN + 365 * 86_400
    assert table.latest(BEGIN, now) == now
    assert timedelta(seconds=now - BEGIN).days == 365
