"""Several hosts in one process look at one schedule. A simulated kill ends a host at any call of the journal."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from packages.server.tests.schedules.test_scheduler import BEGIN, Home
from replan.runs.reader import ALL
from replan.runs.services import Process
from replan_server.schedules.scheduler import Scheduler
from replan_server.schedules.timetable import Timetable, due_of

HOSTS = 3
CRON = "0 */3 * * *"


class Killed(BaseException):
    """The host is killed here."""


class Mortal:
    """A journal. It raises `Killed` before or after one of the calls to it."""

    def __init__(self, journal, calls, *, before):
        self._journal, self._left, self._before = journal, calls, before

    def now(self):
        return self._journal.now()

    def __getattr__(self, name):
        async def call(*arguments, **named):
            self._left -= 1
            if self._left == 0 and self._before:
                raise Killed
            result = await getattr(self._journal, name)(*arguments, **named)
            if self._left == 0:
                raise Killed
            return result

        return call


LOOKS = st.lists(
    st.tuples(
        st.integers(0, HOSTS - 1), st.sampled_from([0, 1, 1800, 3 * 3600, 86_400]), st.integers(0, 8), st.booleans()
    ),
    min_size=1,
    max_size=15,
)
"""Looks at a schedule: the host, the seconds since the last look, the call that kills it (0 for none), and whether the
kill comes before that call."""


async def play(folder, looks, overlap):
    """Let the hosts look; return the ids of the schedule's runs by their kind."""
    home = Home(folder)
    async with AsyncExitStack() as stack:
        engines = [(await stack.enter_async_context(home.host(cron=CRON, overlap=overlap)))[1] for _ in range(HOSTS)]
        schedulers = {}
        for number, seconds, calls, before in [*looks, (0, 0, 0, True), (0, 0, 0, True)]:
            home.clock.time += seconds
            engine, scheduler = engines[number], schedulers.get(number)
            if scheduler is None or calls:
                journal = Mortal(engine.journal, calls, before=before) if calls else engine.journal
                scheduler = Scheduler(Process(replace(engine, journal=journal), home.notices.append))
            try:
                for schedule in scheduler._schedules:
                    await scheduler.look(schedule)
            except Killed:
                scheduler = None
            schedulers[number] = None if calls else scheduler
        rows = await engines[0].journal.runs(ALL)
        done = await engines[0].journal.inbox("nightly-v1")
    return home.clock.time, {row.run: row for row in rows}, [int(item.key.removeprefix("due ")) for item in done]


@given(LOOKS)
@pytest.mark.parametrize("overlap", ["queue", "skip"])
def test_each_time_is_done_once_and_none_is_lost_by_a_kill(overlap, looks):
    """The latest time that has come is done in the end, unless it waits for the run of an earlier one."""
    with TemporaryDirectory() as folder:
        now, rows, done = trio.run(play, Path(folder), looks, overlap)
    assert [run for run in rows if due_of("nightly", run) is None] == ["nightly-v1"]
    dues = sorted(due_of("nightly", run) for run in rows if run != "nightly-v1")
    started = [run for run, row in rows.items() if row.kind == "planning"]
    table = Timetable(CRON, "UTC")
    assert all(table.latest(due - 1, due) == due for due in dues)
    assert sorted(done) == dues
    latest = table.latest(BEGIN, now)
    assert len(started) == (latest is not None)
    assert dues[-1:] == ([latest] if overlap == "skip" and latest is not None else dues[-1:])
