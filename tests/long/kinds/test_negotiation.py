"""A kind that only the tests know goes through every command by registering it, and survives `kill -9`."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import replan
from replan.cli.app import app
from runtime.process.identity import end_of_group
from tests.cli.samples import ASKING, PROBLEM, write_script
from tests.support.server_process import wait_until

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300.0
OFFERS = {"buyer": ["50", "80", "85"]}


@pytest.fixture
def site(tmp_path):
    """A folder with the installed distribution that registers the kind."""
    folder = tmp_path / "site"
    info = folder / "negotiation-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: negotiation\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[replan.kinds]\nnegotiation = tests.kinds.negotiation:NEGOTIATION\n")
    return folder


@pytest.fixture
def home(tmp_path, site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(site))
    return tmp_path / "home"


@pytest.fixture
def call(home):
    """Call the command line in this process."""
    return lambda *arguments, **more: CliRunner().invoke(app, [str(each) for each in arguments], **more)


@pytest.fixture
def process(home, warm):
    """Start the command line in a process of its own; it is killed in the end."""
    started = []

    def start(*arguments, **environment):
        command = [warm / "replan", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, **pipes))
        return started[-1]

    yield start
    for each in started:
        with suppress(ProcessLookupError):
            each.kill()
        each.communicate()


@pytest.fixture
def run(home, tmp_path):
    """A new run, admitted and not driven yet."""
    return replan.admit("negotiation", "a lamp", model=write_script(tmp_path, OFFERS))


def books(home):
    path = home / "seller.txt"
    return path.read_text().split() if path.exists() else []


def shown(call, run):
    return json.loads(call("show", run, "--json").stdout)


def events(call, run):
    return json.loads(call("show", run, "--events", "--json").stdout)["events"]


def test_a_run_of_the_kind_goes_through_every_command(call, run, home):
    """It is driven, asks, hears a requirement and an answer, and is shown in every view that any kind has."""
    assert json.loads(call("runs", "--json").stdout)["runs"][0]["run_id"] == run
    done = call("resume", run, "--no-input")
    assert done.exit_code == 6, done.output
    assert books(home) == ["50", "80"]
    question = f"{run}/q1"
    assert "Buy a lamp for 80?" in call("questions").stdout
    assert json.loads(call("questions", "--json").stdout)["questions"][0]["id"] == question
    assert call("tell", run, "At least 85.", "--as", "requirement").exit_code == 0
    assert call("resume", run, "--no-input").exit_code == 6
    assert books(home) == ["50", "80", "85"]
    open_questions = shown(call, run)["open_questions"]
    assert call("answer", open_questions[-1], "perhaps").exit_code == 2
    for name in open_questions:
        assert call("answer", name, "yes").exit_code == 0
    done = call("resume", run, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == shown(call, run)
    assert shown(call, run) | {"messages": []} == {
        "run_id": run,
        "status": "finished",
        "outcome": "success",
        "why": "a lamp: 85",
        "calls": 3,
        "tokens": shown(call, run)["tokens"],
        "cost_usd": 0.0,
        "messages": [],
    }
    for view in ([], ["--tree"], ["--events"], ["--tree", "--json"], ["--events", "--json"]):
        done = call("show", run, *view)
        assert done.exit_code == 0, done.output
        assert "85" in done.stdout
    log = call("log", run)
    assert log.exit_code == 0
    assert 'tool:seller/v1 calls seller: {"offer": 50}' in log.stdout
    assert "tool:seller/v3 succeeded: 85" in log.stdout
    assert f"{run}" in call("runs").stdout
    assert "negotiation: a lamp" in call("runs").stdout


def test_a_view_that_the_kind_does_not_have_is_refused_in_one_line(call, run):
    call("resume", run, "--no-input")
    done = call("show", run, "--plan")
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_a_run_of_the_kind_can_be_cancelled(call, run):
    call("resume", run, "--no-input")
    assert call("cancel", run).exit_code == 0
    assert shown(call, run)["outcome"] == "cancelled"


def test_an_end_that_is_not_a_success_has_exit_code_3(call, run):
    """`no_deal` is an outcome of this kind alone."""
    call("resume", run, "--no-input")
    assert call("answer", f"{run}/q1", "no").exit_code == 0
    done = call("resume", run, "--json")
    assert (done.exit_code, shown(call, run)["outcome"]) == (3, "no_deal"), done.output


def test_a_host_drives_runs_of_the_kind_and_their_log_is_followed(call, run, process, home):
    """Host and followers are real processes that find the kind by its entry point alone; a log ends at a question."""
    host = process("host", "--json")
    assert '"ready"' in host.stdout.readline()
    output, _ = process("log", run, "--follow").communicate(timeout=PATIENCE)
    assert "question q1 (approval): Buy a lamp for 80?" in output.splitlines()[-1]
    assert call("answer", f"{run}/q1", "yes").exit_code == 0
    wait_until(lambda: shown(call, run)["status"] == "finished", "the run does not end")
    output, _ = process("log", run, "--follow").communicate(timeout=PATIENCE)
    assert "success" in output
    host.send_signal(signal.SIGTERM)
    assert host.wait(PATIENCE) == 0
    assert shown(call, run)["outcome"] == "success"


def test_a_kill_while_the_tool_works_is_a_question_and_the_tool_is_never_called_twice(
    call, run, process, home, commands
):
    """The program of the killed driver is ended first; then a person says what became of it."""
    driver = process("resume", run, "--no-input", SELLER_SECONDS="60")
    wait_until(lambda: books(home) == ["50"], "the books are not written")
    commands.kill(driver.pid)
    driver.wait()
    done = call("resume", run, "--no-input")
    assert done.exit_code == 6, done.output
    assert books(home) == ["50"]
    [question] = json.loads(call("questions", run, "--json").stdout)["questions"]
    assert "'seller'" in question["text"]
    assert call("answer", question["id"], "it did not run").exit_code == 0
    assert call("resume", run, "--no-input").exit_code == 6
    assert books(home) == ["50", "50", "80"]


def test_a_cancel_after_a_kill_ends_the_program_that_still_works(call, run, process, home, commands):
    """And nobody is asked what became of it: the run is over."""
    driver = process("resume", run, "--no-input", SELLER_SECONDS="60")
    wait_until(lambda: books(home) == ["50"], "the books are not written")
    commands.kill(driver.pid)
    driver.wait()
    [name] = [event["process"] for event in events(call, run) if event["kind"] == "tool_started"]
    assert end_of_group(name) is False
    assert call("cancel", run).exit_code == 0
    assert end_of_group(name) is True
    assert shown(call, run)["outcome"] == "cancelled"
    assert [event["kind"] for event in events(call, run)][-5:] == [
        "run_finished",
        "run_resumed",
        "tool_check_requested",
        "tool_process_ended",
        "tool_finished",
    ]


def test_a_cancel_while_a_tool_works_waits_for_its_end(call, run, process, home):
    """Its result is recorded after the run's end: it has changed the world."""
    driver = process("resume", run, "--no-input", "--json", SELLER_SECONDS="1.5")
    wait_until(lambda: books(home) == ["50"], "the books are not written")
    assert call("cancel", run).exit_code == 0
    output, _ = driver.communicate(timeout=PATIENCE)
    assert (driver.returncode, json.loads(output)["outcome"]) == (7, "cancelled")
    assert [event["kind"] for event in events(call, run)][-2:] == ["run_finished", "tool_finished"]
    assert events(call, run)[-1]["output"] == "90"


@pytest.mark.parametrize("moment", ["claim.after", "append.after", "send.before", "reply.after", "tool.prepared"])
def test_a_kill_anywhere_else_loses_nothing(call, run, process, home, moment):
    """At these points nothing that the world has seen is open, so the run goes on by itself."""
    code = (
        "import os, signal, sys\n"
        "from runtime.core.hooks import set_crash_hook\n"
        f"set_crash_hook(lambda label: label == {moment!r} and os.kill(os.getpid(), signal.SIGKILL))\n"
        f"from replan.cli import main\nsys.argv = ['replan', 'resume', {run!r}, '--no-input']\nmain()\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = call("resume", run, "--no-input")
    assert done.exit_code == 6, done.output
    assert books(home) == ["50", "80"]


def test_a_run_whose_kind_is_not_installed_is_listed_and_harms_no_other_command(call, run, process, tmp_path):
    """Each command runs in a process that does not find the kind."""
    model = write_script(tmp_path, {"g_analysis": [ASKING]}, "asking.yaml")
    other = call("run", "-", "-m", model, "-w", "option_a", "--no-input", "--json", input=PROBLEM)
    assert other.exit_code == 6, other.output

    def without(*arguments):
        done = process(*arguments, PYTHONPATH="")
        output, errors = done.communicate(timeout=PATIENCE)
        assert "Traceback" not in errors
        return done.returncode, output, errors

    _, output, _ = without("runs", "--json")
    assert {row["kind"] for row in json.loads(output)["runs"]} == {"negotiation", "planning"}
    assert [row["kind"] for row in json.loads(call("runs", "--json").stdout)["runs"]] == ["planning", "negotiation"]
    code, output, _ = without("questions")
    assert code == 0
    assert json.loads(other.stdout)["run_id"] in output
    for command in (["show", run], ["resume", run], ["cancel", run], ["tell", run, "x"], ["log", run]):
        code, _, errors = without(*command)
        assert code == 2, command
        assert "of kind 'negotiation'" in errors
        assert len(errors.splitlines()) == 1


def test_no_package_of_the_product_names_the_kind():
    named = subprocess.run(
        ["git", "grep", "-il", "negotiation", "--", "replan", "runtime", "actors"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert named.stdout == ""


def test_the_kind_has_at_most_200_lines():
    lines = (ROOT / "tests/kinds/negotiation.py").read_text().splitlines()
    assert len(lines) <= 200
