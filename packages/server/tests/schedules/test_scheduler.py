"""Hosts start the orders of schedules: each time once, and what cannot be started is recorded."""

import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache

import pytest
import trio

from replan.runs.engine import Engine
from replan.runs.reader import ALL
from replan.runs.retention import delete_run
from replan.runs.services import Process, run_services
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry
from replan.setup.settings import config_model
from replan_server.schedules.scheduler import Scheduler, describe_schedules
from replan_server.schedules.timetable import run_of
from replan_server.settings import ServerSettings
from runtime.core.errors import UsageProblem
from runtime.journal.memory import MemoryStore, open_memory
from runtime.journal.port import Fact
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, RECON, STRATEGY, write_script
from tests.long.cli.test_fork_execution import ACTIONS, TOOLS
from tests.long.cli.test_fork_execution import PLAN as EXECUTED
from tests.support import poems
from tests.support.distributions import install

BEGIN = datetime(2026, 11, 29, 18, 0, tzinfo=UTC).timestamp()
DAY = 86_400.0
ASKS = {"g_analysis": [ASKING, ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}
FIRST, SECOND, THIRD = "nightly-20261130t0200z", "nightly-20261201t0200z", "nightly-20261202t0200z"


@cache
def _installed():
    """Return the kinds and the plug-ins, which are read once."""
    return Kinds(), registry()


class SetClock:
    """A clock that is set by a test."""

    def __init__(self):
        self.time = BEGIN

    def now(self):
        return self.time

    async def sleep_until(self, time):
        await trio.sleep_forever()


class Home:
    """A home in memory, with a schedule."""

    def __init__(self, folder):
        self.folder, self.clock, self.store, self.notices = folder, SetClock(), MemoryStore(), []
        self.problem = folder / "nightly.md"
        self.problem.write_text(PROBLEM, encoding="utf-8")
        self.environment = {"REPLAN_HOME": str(folder)}
        self.tools = {}

    def settings(self, **entry):
        schedule = {"cron": "0 2 * * *", "problem": "nightly.md", "model": "asks", **entry}
        value = {
            "schedules": {"nightly": schedule},
            "clients": {"models": {"asks": write_script(self.folder, ASKS)}, "tools": self.tools},
        }
        return config_model(value).model_validate(value)

    @asynccontextmanager
    async def host(self, **entry):
        """Open a host's part for schedules; yield a function that lets it look, and its engine."""
        kinds, plugins = (Kinds(), registry()) if "kind" in entry else _installed()
        async with open_memory(kinds.codecs, self.clock, store=self.store) as journal:
            engine = Engine(
                journal=journal,
                registry=plugins,
                clock=self.clock,
                kinds=kinds,
                threads=False,
                environment=self.environment,
                config=self.settings(**entry),
            )
            scheduler = Scheduler(Process(engine, self.notices.append, report=self.notices.append))

            async def look():
                for schedule in scheduler._schedules:
                    await scheduler.look(schedule)

            await look()
            yield look, engine


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


async def rows(engine):
    """Return the outcome, or the status, of each run by its id, the oldest first."""
    listed = await engine.journal.runs(ALL)
    return {row.run: row.detail if row.status == "finished" else row.status for row in reversed(listed)}


async def test_an_order_starts_at_its_time_once_whatever_number_of_hosts_look(home):
    async with home.host() as (look, engine), home.host() as (other, _):
        assert await rows(engine) == {"nightly-v1": "success"}
        home.clock.time = BEGIN + 8 * 3600 - 1
        await look()
        assert len(await rows(engine)) == 1
        home.clock.time += 1
        for turn in (look, other, look, other):
            await turn()
        assert await rows(engine) == {"nightly-v1": "success", FIRST: "running"}
        record = await engine.journal.row("nightly-v1")
        assert record.title == "schedule nightly: 0 2 * * * UTC"
        assert (await engine.read(FIRST)).records[0].event.by == "schedule:nightly"
        assert (await engine.resume(FIRST)).status == "waiting"


async def test_of_the_times_that_were_missed_the_latest_one_is_started(home):
    async with home.host():
        pass
    home.clock.time = BEGIN + 3 * DAY
    async with home.host() as (look, engine):
        await look()
        assert list(await rows(engine)) == ["nightly-v1", THIRD]


async def test_a_schedule_that_is_new_has_missed_nothing(home):
    home.clock.time = BEGIN + 30 * DAY
    async with home.host() as (look, engine):
        await look()
        assert list(await rows(engine)) == ["nightly-v1"]


async def test_a_time_is_skipped_while_an_earlier_run_is_unfinished_and_that_is_recorded(home):
    async with home.host() as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        await engine.resume(FIRST)
        home.clock.time = BEGIN + 2 * DAY
        await look()
        assert (await rows(engine))[SECOND] == "cancelled"
        row = await engine.journal.row(SECOND)
        assert row.title == f"schedule nightly at 2026-12-01T02:00:00Z: skipped, {FIRST} has not finished"
        await engine.answer(f"{FIRST}/q1", "3.12")
        assert (await engine.resume(FIRST)).outcome == "success"
        await look()
        assert list(await rows(engine)) == ["nightly-v1", FIRST, SECOND]
        home.clock.time = BEGIN + 3 * DAY
        await look()
        assert (await rows(engine))[THIRD] == "running"


async def test_a_queued_order_starts_when_the_earlier_run_has_finished(home):
    async with home.host(overlap="queue") as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        await engine.resume(FIRST)
        home.clock.time = BEGIN + 2 * DAY
        for _ in range(3):
            await look()
        assert list(await rows(engine)) == ["nightly-v1", FIRST]
        await engine.cancel(FIRST)
        await engine.finish_cancelled(FIRST)
        await look()
        assert list(await rows(engine)) == ["nightly-v1", FIRST, SECOND]


async def test_an_order_whose_file_is_gone_is_recorded_and_reported_and_the_next_one_starts(home):
    async with home.host() as (look, engine):
        home.problem.unlink()
        home.clock.time = BEGIN + DAY
        for _ in range(2):
            await look()
        assert (await rows(engine))[FIRST] == "not_started"
        [notice] = home.notices
        assert notice.run == FIRST
        assert "nightly.md: no such file or directory" in notice.reason
        result = await engine.result(FIRST)
        assert "no such file" in result.why
        home.problem.write_text(PROBLEM, encoding="utf-8")
        home.clock.time = BEGIN + 2 * DAY
        await look()
        assert (await rows(engine))[SECOND] == "running"


async def test_new_times_count_from_their_first_sight(home):
    async with home.host() as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        await engine.cancel(FIRST)
        await engine.finish_cancelled(FIRST)
    async with home.host(cron="0 12 * * *") as (look, engine):
        await look()
        assert list(await rows(engine)) == ["nightly-v1", FIRST, "nightly-v2"]
        home.clock.time = BEGIN + DAY + 18 * 3600
        await look()
        assert list(await rows(engine))[-1] == "nightly-20261201t1200z"


async def test_a_run_that_was_deleted_is_not_started_again(home):
    async with home.host() as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        await engine.cancel(FIRST)
        await engine.finish_cancelled(FIRST)
        await delete_run(engine, FIRST)
        await look()
    async with home.host() as (look, engine):
        await look()
        assert list(await rows(engine)) == ["nightly-v1"]


async def test_a_host_starts_orders_by_itself(home, autojump_clock):
    async with home.host() as (_, engine):
        process = Process(engine, home.notices.append, report=home.notices.append)
        async with run_services(process, in_hosts=True):
            home.clock.time = BEGIN + DAY
            await trio.sleep(3)
        assert (await rows(engine))[FIRST] == "running"


async def test_a_schedule_starts_runs_of_other_kinds(home, tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "site", "replan-poems", poems.GROUPS)
    order = {"problem": None, "kind": "poem", "order": {"topic": "the night"}}
    async with home.host(**order) as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        assert (await engine.journal.row(FIRST)).title == "the night: any form"
    async with home.host(**{**order, "order": {"topic": ""}}) as (look, engine):
        home.clock.time = BEGIN + 3 * DAY
        await engine.cancel(FIRST)
        await engine.finish_cancelled(FIRST)
        await look()
        assert (await rows(engine))[THIRD] == "not_started"
        assert "topic" in home.notices[-1].reason


async def test_a_schedule_executes_a_plan_alone_in_its_workspace(home, tmp_path_factory):
    top = tmp_path_factory.mktemp("shop")
    (top / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    (top / "actions.py").write_text(ACTIONS, encoding="utf-8")
    (top / "work").mkdir()
    (home.folder / "plan.json").write_text(json.dumps(EXECUTED), encoding="utf-8")
    home.tools = {"shop": {"file": str(top / "tools.yaml"), "workspace": str(top / "work"), "approve": "none"}}
    async with home.host(problem=None, plan="plan.json", tools="shop", model="template:bug") as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        assert not home.notices, home.notices
        assert (await engine.resume(FIRST)).outcome == "success"
        assert (top / "work" / "made").exists()
        busy = run_of("other", int(BEGIN))
        first = (await engine.read(FIRST)).records[0].event
        await engine.journal.create(busy, "other", "execution", facts=[Fact(first.model_copy(update={"run": busy}))])
        home.clock.time = BEGIN + 2 * DAY
        await look()
        assert (await rows(engine))[SECOND] == "not_started"
        assert "works in this workspace and has not finished" in home.notices[0].reason


async def test_a_tool_set_that_clients_do_not_have_is_named(home):
    (home.folder / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    async with home.host(problem=None, plan="plan.json", tools="shop") as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        assert (await rows(engine))[FIRST] == "not_started"
        assert "there is no tool set 'shop' here" in home.notices[0].reason


async def test_a_schedule_has_limits_of_its_own_within_those_of_clients(home):
    async with home.host(max_calls=7) as (look, engine):
        home.clock.time = BEGIN + DAY
        await look()
        assert (await engine.read(FIRST)).records[0].event.limits.calls == 7
    async with home.host(max_calls=7000) as (look, engine):
        home.clock.time = BEGIN + 3 * DAY
        await engine.cancel(FIRST)
        await engine.finish_cancelled(FIRST)
        await look()
        assert "the most that clients may ask for is 200" in home.notices[0].reason


def test_doctor_shows_the_next_times_and_names_a_file_that_is_gone(home):
    text = "schedules:\n  nightly: {cron: '0 2 * * *', problem: nightly.md}\n"
    (home.folder / "config.yaml").write_text(text, encoding="utf-8")
    assert describe_schedules(home.environment, BEGIN) == "nightly 2026-11-30T02:00:00Z"
    home.problem.unlink()
    with pytest.raises(UsageProblem, match=r"schedules\.nightly\.problem: there is no file nightly\.md"):
        describe_schedules(home.environment, BEGIN)


def test_the_settings_without_schedules_start_nothing():
    assert not ServerSettings().schedules
