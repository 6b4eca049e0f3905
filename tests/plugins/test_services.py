"""Services of installed distributions: they run beside the runs that a process drives, and have a row in doctor."""

import importlib

import pytest
from click.testing import CliRunner

from replan.cli import diagnosis
from replan.cli.app import app
from replan.runs.services import Process, run_services
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from tests.host.fake_home import FakeHome
from tests.support.distributions import install

MODULE = """
from contextlib import asynccontextmanager
import replan
from replan.plugins import ServicePlugin

seen = []

def named(name):
    @asynccontextmanager
    async def run(process):
        seen.append(f"{name} begins")
        yield
        seen.append(f"{name} ends")
    return run

@asynccontextmanager
async def hear(process):
    report = process.report

    def heard(notice):
        seen.append(notice.event)
        report(notice)

    process.report = heard
    yield

def describe(environment):
    if "BELL" not in environment:
        raise replan.UsageProblem("there is no bell", place="BELL", hint="set it")
    return "one bell"

HOST = ServicePlugin(named("bell"), in_hosts=True, describe=describe)
EAR = ServicePlugin(hear, in_hosts=True)
DRIVE = ServicePlugin(named("clock"), in_hosts=False)
"""
POINTS = {"zz-bell": "bells:HOST", "zz-ear": "bells:EAR", "zz-clock": "bells:DRIVE", "zz-lost": "nowhere:LOST"}


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """What the services of an installed distribution have done."""
    install(monkeypatch, tmp_path / "site", "loud-bells", {"replan.services": POINTS}, bells=MODULE)
    return importlib.import_module("bells").seen


async def test_a_host_runs_its_services_which_get_its_notices_and_a_broken_one_is_named(seen, autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        stop = Stop(handover=True)
        stop.requested.set()
        await home.serve(engine, stop)
    assert (seen[0], seen[-1]) == ("bell begins", "bell ends")
    assert "ready" in seen
    problems = [detail for event, _, detail in home.notices if event == "trouble"]
    assert any("zz-lost (from loud-bells): cannot be loaded" in problem for problem in problems)


@pytest.mark.parametrize(
    ("environment", "done"), [({}, []), ({"OTEL_SDK_DISABLED": "true"}, ["clock begins", "clock ends"])]
)
async def test_a_command_that_drives_one_run_looks_for_services_where_a_variable_asks_for_one(seen, environment, done):
    async with FakeHome().engine() as engine:
        engine.environment.update(environment)
        async with run_services(Process(engine, lambda _: None), in_hosts=False):
            pass
    assert seen == done


def test_doctor_has_a_row_for_each_service_that_describes_itself(seen):
    rows = dict(diagnosis._checks_of_services({"BELL": "1"}))
    assert rows["zz-bell"]() == "one bell"
    assert not {"zz-ear", "zz-clock", "zz-lost"} & rows.keys()
    with pytest.raises(UsageProblem, match="there is no bell"):
        dict(diagnosis._checks_of_services({}))["zz-bell"]()


def test_health_checks_without_a_package_that_answers_them_name_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("runtime.core.entry_points._points", lambda *_: ())
    done = CliRunner().invoke(app, ["host", "--health-port", "8439"])
    assert done.exit_code == 2
    assert "--health-port: health checks need a package that is not installed (pip install " in done.stderr
