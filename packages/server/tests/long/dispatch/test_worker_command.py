"""`replan worker`: it needs a database, drives what the queue or, if that is out of order, the agenda gives it."""

import json
import os
import signal
import subprocess
import time

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from tests.cli.samples import PROBLEM


@pytest.fixture
def home(tmp_path, monkeypatch, url):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REPLAN_JOURNAL", url)
    return tmp_path / "home"


@pytest.fixture
def worker(home, warm):
    """A worker in a process of its own, which prints JSON; it is stopped at the end of the test."""
    command = [warm / "replan", "worker", "--concurrency", "2", "--json"]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True)
    assert json.loads(process.stdout.readline())["event"] == "ready"
    yield process
    process.kill()
    process.stdout.close()
    process.wait()


def call(*words, code=0):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == code, done.stdout + done.stderr
    return done


def until(worker, event):
    events = []
    while not events or events[-1]["event"] != event:
        events.append(json.loads(worker.stdout.readline()))
    return events


def started(tmp_path, text=PROBLEM):
    problem = tmp_path / "problem.md"
    problem.write_text(text, encoding="utf-8")
    return call("run", problem, "-m", "template:bug", "--detach").stdout.strip()


def test_a_run_is_driven_asks_and_goes_on_and_the_worker_leaves_in_order(worker, tmp_path):
    run = started(tmp_path, "Make it better, please.")
    until(worker, "waiting")
    call("answer", f"{run}/q1", "The login page times out after 30 seconds.")
    assert [event["event"] for event in until(worker, "taken_up")] == ["taken_up"]
    worker.send_signal(signal.SIGTERM)
    until(worker, "stopped")
    assert worker.wait(30) == 0


def test_a_run_is_driven_although_the_queue_is_out_of_order(worker, server, tmp_path):
    server.execute("workers", "ALTER TABLE replan_jobs.procrastinate_jobs RENAME TO elsewhere")
    try:
        run = started(tmp_path)
        events = until(worker, "finished")
        assert [event["event"] for event in events] == ["trouble", "taken_up", "finished"]
        assert "procrastinate_jobs" in events[0]["text"]
    finally:
        server.execute("workers", "ALTER TABLE replan_jobs.elsewhere RENAME TO procrastinate_jobs")
    time.sleep(1.5)  # So that it has seen that the queue is there again.
    assert started(tmp_path) != run
    assert [event["event"] for event in until(worker, "finished")] == ["taken_up", "finished"]


def test_a_journal_in_a_file_has_no_workers(home, monkeypatch):
    monkeypatch.delenv("REPLAN_JOURNAL")
    done = call("worker", code=2)
    assert "replan host" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_the_command_says_what_to_install(home, monkeypatch):
    monkeypatch.setattr("replan_server.journals.find_spec", lambda _: None)
    assert "[worker]'" in call("worker", code=2).stderr


def test_a_role_that_may_not_make_the_tables_is_told_who_has_to(server, home, monkeypatch, url):
    server.execute("postgres", "DROP DATABASE IF EXISTS owned", "CREATE DATABASE owned")
    owned = server.url("owned")
    with_owner = ["home", "upgrade", owned]
    server.execute("owned", "CREATE ROLE worker_app LOGIN PASSWORD 'x'")
    with monkeypatch.context() as patched:
        patched.setattr("replan_server.journals.find_spec", lambda _: None)
        call(*with_owner, "--app", "worker_app")
    monkeypatch.setenv("REPLAN_JOURNAL", f"postgresql://worker_app:x@127.0.0.1:{server.port}/owned")
    assert "replan home upgrade" in call("worker", code=9).stderr
