"""`replan host` as a process: the runs that it drives, its output, and its start and stop."""

import json
import re
import signal
import stat
import sys
from contextlib import contextmanager

import pytest

from tests.cli.conftest import read_until
from tests.cli.samples import ANALYSIS, ASKING, PLAN, delayed_reply, distinct
from tests.cli.test_bad_input import assert_refused

PATIENCE = 300.0


class HostCommand:
    """A host process, and its output lines."""

    def __init__(self, process):
        self.process = process

    def until(self, event):
        """Read lines up to one with this event; return its object."""
        while line := self.process.stdout.readline():
            notice = json.loads(line)
            if notice["event"] == event:
                return notice
        raise AssertionError(f"the host ended: {self.process.stderr.read().decode()}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture
def hosting(shell):

    @contextmanager
    def start():
        with shell("host", "--json") as process:
            try:
                host = HostCommand(process)
                host.until("ready")
                yield host
            finally:
                if process.poll() is None:
                    process.kill()

    return start


@pytest.fixture
def asking(scripted):
    return scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})


def test_a_host_drives_a_detached_run_with_a_question_to_its_end(replan, hosting, problem, asking, home):
    with hosting() as host:
        sockets = list((home / "hosts").iterdir())
        assert [stat.S_IMODE(path.lstat().st_mode) for path in (home / "hosts", *sockets)] == [0o700, 0o600]
        result = replan("run", problem, "-m", asking, "-w", "option_a", "--detach")
        run = result.stdout.strip()
        assert result.exit_code == 0
        assert [line.removeprefix("replan: ") for line in result.stderr.splitlines()[-2:]] == [
            f"a host drives the run: replan log {run} --follow",
            f"list its questions with: replan questions {run}; answer one with: replan answer {run}/ID TEXT",
        ]
        assert host.until("waiting")["question"] == f"{run}/q1"
        answered = replan("answer", f"{run}/q1", "3.12")
        assert "resume" not in answered.stderr
        assert host.until("finished") | {"at": ""} == {
            "at": "",
            "event": "finished",
            "run_id": run,
            "outcome": "success",
        }
        assert host.stop() == 0
    assert list((home / "hosts").iterdir()) == []
    assert json.loads(replan("show", run, "--json").stdout)["plan"] == PLAN


def test_a_run_with_a_host_is_followed_to_its_result(shell, hosting, problem, scripted):
    model = scripted({"g_plan": [PLAN]})
    with hosting() as host:
        with shell("run", problem, "-m", model, "-w", "single", "--json") as process:
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        shown = json.loads(out)
        assert (shown["status"], shown["plan"]) == ("finished", PLAN)
        assert host.until("finished")["run_id"] == shown["run_id"]


def test_a_hosted_run_without_input_waits_with_exit_6(replan, hosting, problem, asking):
    with hosting():
        result = replan("run", problem, "-m", asking, "-w", "option_a", "--no-input")
        assert result.exit_code == 6
        assert re.search(r"answer with: replan answer \w+/q1 TEXT", result.stderr)
        assert "the host then continues the run" in result.stderr


def test_ctrl_c_only_ends_the_following_of_a_hosted_run(shell, hosting, problem, scripted):
    model = scripted({"g_plan": [delayed_reply(plan, seconds=1) for plan in distinct(PLAN, 2)]})
    with hosting() as host:
        with shell("run", problem, "-m", model, "-w", "single") as process:
            read_until(process.stderr, " started")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert b"a host drives the run" in err
        assert b"parking" not in err
        assert host.until("finished")["outcome"] == "success"


def test_a_follower_of_a_run_that_the_host_cannot_drive_gets_reason_and_advice(replan, shell, hosting, monkeypatch):
    problem = "configs/problems/login_timeout.md"
    why = "the host cannot drive the run: OPENAI_BASE_URL: the model of run "
    with hosting():
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # The host's environment lacks it.
        with shell("run", problem, "-m", "gpt-x") as process:
            lines = read_until(process.stderr, "drive the run here")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        run = json.loads(replan("runs", "--json").stdout)["runs"][0]
        here = f"{sys.executable} -m replan resume {run['run_id']}"
        assert process.returncode == 130
        assert lines[1].startswith(f"replan: {why}")
        assert lines[2] == (
            f"replan: repair this and start the host again, or press Ctrl-C and drive the run here with: {here}\n"
        )
        assert out.decode().splitlines()[0] == "Held up"
        assert err.decode() == f"replan: go on with: {here}\n"
        assert (run["status"], run["why"][: len(why)]) == ("running", why)
        assert "  held up  " in replan("runs").stdout
        shown = replan("show", run["run_id"])
        assert why in shown.stdout
        assert "resume" in shown.stderr


def test_the_runs_of_a_killed_host_are_taken_up_at_once_by_the_next(replan, hosting, problem, scripted):
    model = scripted({"g_plan": [delayed_reply(plan, seconds=1) for plan in distinct(PLAN, 2)]})
    with hosting() as host:
        run = replan("run", problem, "-m", model, "-w", "single", "--detach").stdout.strip()
        host.until("taken_up")
        host.process.kill()
        host.process.wait()
    with hosting() as host:  # Without waiting for the lease of thirty seconds.
        assert host.until("taken_up")["run_id"] == run
        assert host.until("finished")["outcome"] == "success"
    assert_refused(replan("run", problem, "-m", model, "-w", "single", "--detach"), "no host is running", "replan host")


def test_a_broken_pipe_does_not_stop_a_host(replan, shell, home, problem, scripted):
    with shell("host") as process:
        assert b"serving" in process.stdout.readline()
        process.stdout.close()
        run = replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single", "--detach").stdout.strip()
        assert replan("log", run, "--follow").exit_code == 0
        assert json.loads(replan("show", run, "--json").stdout)["outcome"] == "success"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0


def test_the_doctor_shows_the_daily_budget_and_the_hosts(replan, hosting, home, problem, scripted):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("home_budget: {calls: 5, usd: 2.5}\ntenants: {research: {calls: 9}, sales: {}}\n")
    assert replan("run", problem, "-m", "template:bug", "-w", "single", "--tenant", "research", "--json").exit_code in (
        0,
        3,
    )
    with hosting():
        checks = {item["name"]: item["found"] for item in json.loads(replan("doctor", "--json").stdout)["checks"]}
    assert "of 5 calls" in checks["budget"]
    assert "of $2.50" in checks["budget"]
    used = checks["budget"].partition(" ")[0]
    assert used != "0"
    assert checks["tenants"] == (
        f"research: {used} of 9 calls and $0.00 committed today, UTC ({9 - int(used)} calls left);"
        " sales: 0 calls and $0.00 committed today, UTC (no limit)"
    )
    assert checks["hosts"].startswith("1 host")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("home_budget: {calls: 0}", ["home_budget.calls"]),
        ("home_budget: {euros: 3}", ["euros"]),
        ("host: {runs_max: none}", ["runs_max"]),
        ("host: {model_calls_max_by_provider: {here: 0}}", ["here", "at least 1"]),
        ("notify: [notify-send]", ["notify", "it is gone"]),
    ],
)
def test_an_invalid_setting_is_reported_in_one_line(replan, home, config, words):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(config)
    assert_refused(replan("host"), "config.yaml:1", *words)


def test_a_home_with_a_long_path_can_have_a_host(replan, hosting, home, problem, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(home.parent / ("long" * 40)))
    with hosting() as host:
        replan("run", problem, "-m", "template:bug", "-w", "single", "--no-input")
        assert host.stop() == 0
