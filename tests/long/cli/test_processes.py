"""Real processes: pipes, signals, two drivers of one run, and a terminal.

A run that is signalled or killed has its own process; the test's process checks the result.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, run_id
from tests.cli.samples import ANALYSIS, ASKING, BACKTRACKS, LOST, PLAN, PROBLEM, delayed_reply, distinct
from tests.support.server_process import wait_until

PATIENCE = 300.0


def started(process):
    """Wait for the start, which is recorded with the first request, and return the run's id."""
    line = process.stderr.readline().decode()
    assert " started" in line, line + process.stderr.read().decode()
    return re.search(r"run (\w+) started", line)[1]


@pytest.fixture
def slow(scripted):
    return scripted({"g_plan": [delayed_reply(plan, seconds=30) for plan in distinct(PLAN, 3)]})


def test_run_and_check_can_be_piped(home, tmp_path, warm):
    """`cat problem.md | replan run - --json | jq .plan | replan check -`, with Python in the place of jq."""
    (tmp_path / "problem.md").write_text(PROBLEM)
    replan = warm / "replan"
    plan = f"{shlex.quote(sys.executable)} -c \"import json,sys; print(json.dumps(json.load(sys.stdin)['plan']))\""
    file = shlex.quote(str(tmp_path / "problem.md"))
    command = f"set -o pipefail; cat {file} | {replan} run - -m template:bug --json | {plan} | {replan} check - --json"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["valid"] is True
    assert result.stderr == b""


@pytest.mark.parametrize("signalled", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_a_signal_parks_the_run_and_prints_a_hint(shell, replan, problem, scripted, signalled):
    number, code = signalled
    model = scripted({"g_plan": [delayed_reply(LOST, seconds=0.7), PLAN]})
    with shell("run", problem, "-m", model, "-w", "single") as process:
        started(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    (run,) = re.findall(r"replan resume (\w+)", err.decode())
    assert "Parked" in out.decode()
    parked = json.loads(replan("show", run, "--json").stdout)
    assert (parked["status"], parked["calls"]) == ("parked", 1)
    resumed = replan("resume", run, "--json")
    assert (resumed.exit_code, json.loads(resumed.stdout)["calls"]) == (0, 2)


def test_a_second_interrupt_leaves_at_once_and_the_run_can_be_resumed(shell, replan, problem, slow):
    with shell("run", problem, "-m", slow, "-w", "single", "--json") as process:
        wait_until(lambda: driven_run(replan), "the run is driven")
        process.send_signal(signal.SIGINT)
        assert b"parking" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "parked"
    assert json.loads(out)["calls"] == 1, "the call in flight may have been charged"


def test_a_run_is_driven_by_one_process(shell, replan, problem, slow):
    with shell("run", problem, "-m", slow, "-w", "single") as process:
        run = started(process)
        assert driven_run(replan) == run
        refused = replan("resume", run)
        assert refused.exit_code == 8
        assert f"is driven by process {process.pid} on {socket.gethostname()} until" in refused.stderr
        result = replan("cancel", run)
        assert result.exit_code == 0
        assert "is cancelled" in result.stderr
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 7
    assert b"No plan: cancelled" in out


def test_a_run_of_a_killed_process_can_be_resumed_at_once(shell, replan, problem, scripted):
    """The lease of a process that is certainly dead is ignored."""
    model = scripted({"g_plan": [delayed_reply(PLAN, seconds=30), PLAN], "g_plan/v1.a1.t2": PLAN})
    with shell("run", problem, "-m", model, "-w", "single") as process:
        run = started(process)
        process.kill()
        process.communicate()
    assert "interrupted (charged as unknown: 1 call" in replan("show", run, "--tree").stdout
    assert "1 model call" in replan("show", run).stdout
    assert "; charged as unknown: 1 call" in replan("show", run).stdout
    result = replan("resume", run, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["calls"] == 2
    (node,) = json.loads(replan("show", run, "--tree", "--json").stdout)["nodes"]
    assert (node["calls"], node["unknown"]["calls"]) == (1, 1)


def test_log_follows_a_run_of_another_process(shell, replan, problem, scripted):
    model = scripted({"g_plan": [delayed_reply(LOST, seconds=0.7), PLAN]})
    with shell("run", problem, "-m", model, "-w", "single") as process:
        result = replan("log", started(process), "--follow")
        process.communicate(timeout=PATIENCE)
    assert result.exit_code == 0
    assert "finished: success" in result.stdout.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("-v",), ("--json",)])
def test_a_closed_stderr_pipe_does_not_end_the_run(shell, replan, problem, options):
    """The progress is lost, the run goes on, and the plan is printed."""
    reader, writer = os.pipe()
    os.close(reader)
    with shell("run", problem, "-m", "template:bug", *options, stderr=writer) as process:
        os.close(writer)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"plan_id" in out or b"Consistent, but" in out


def test_closed_standard_streams_are_no_error(home, problem):
    """`<&- 2>&-`: no file gets their descriptors, and the plan is printed."""
    command = f"{shlex.quote(sys.executable)} -m replan run {shlex.quote(problem)} -m template:bug <&- 2>&-"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False, timeout=PATIENCE)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"Consistent, but" in result.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_stdout_is_one_error_line_and_the_run_is_kept(shell, replan, problem, options):
    with (
        Path("/dev/full").open("w") as full,
        shell("run", problem, "-m", "template:bug", *options, stdout=full) as process,
    ):
        _, err = process.communicate(timeout=PATIENCE)
    last_line = err.decode().splitlines()[-1]
    assert process.returncode == 1
    command = f"{sys.executable} -m replan show {run_id(replan)}"
    assert last_line == f"replan: stdout: no space left (`{command}` prints the result again)"
    assert b"Traceback" not in err


@pytest.fixture
def unread_pipe():
    """The write end of a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_run_with_an_unread_result_has_its_exit_code_and_a_hint(shell, replan, scripted, unread_pipe, options):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    problem = "configs/problems/login_timeout.md"
    with shell("run", problem, "-m", model, "-w", "option_a", *options, stdout=unread_pipe) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 6, err
    assert f"answer with: {sys.executable} -m replan answer {run_id(replan)}/q1 TEXT" in err.decode()
    assert b"Traceback" not in err


@pytest.mark.parametrize("command", [["log", "--last"], ["runs", "--json"], ["workflow", "schema"], ["--help"]])
def test_a_command_with_unread_output_ends_quietly(replan, shell, problem, unread_pipe, command):
    replan("run", problem, "-m", "template:bug")
    with shell(*command, stdout=unread_pipe) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("command", [["show", "nosuchrun"], ["show", "--odd"]])
def test_an_error_with_unread_stdout_is_one_line_on_stderr(shell, unread_pipe, command):
    with shell(*command, "--json", stdout=unread_pipe) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == {"nosuchrun": 8, "--odd": 2}[command[1]]
    assert re.fullmatch(rb"replan: [Nn]o .*\n", err)


def test_an_encoding_that_lacks_characters_is_no_error(shell, replan, problem, scripted, monkeypatch):
    model = scripted({"g_plan": [{**PLAN, "goal": "größer → 大"}]})
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    with shell("run", problem, "-m", model, "-w", "single") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "größer" in out.decode("latin-1")
    shown = replan("resume", run_id(replan), "--json")
    assert (shown.exit_code, json.loads(shown.stdout)["plan"]["goal"]) == (0, "größer → 大")


def driven_run(replan):
    """Return the run that a process drives now, if any."""
    rows = json.loads(replan("runs", "--json").stdout)["runs"]
    return next((row["run_id"] for row in rows if row["driven_by"]), None)


PRINTED = "from replan.cli.terminal.console import notice; print('a result'); notice('a remark')"


def printed(**streams):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run([sys.executable, "-c", PRINTED], cwd=ROOT, env=environment, **streams, check=False)


def test_a_result_and_a_later_notice_are_in_their_order_in_one_file():
    assert printed(stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout == b"a result\nreplan: a remark\n"


def test_a_notice_is_printed_where_a_result_cannot_be_and_that_failure_is_not_hidden():
    with Path("/dev/full").open("wb") as full:
        done = printed(stdout=full, stderr=subprocess.PIPE)
    assert done.stderr.startswith(b"replan: a remark\n")
    assert b"No space left on device" in done.stderr
    assert done.returncode != 0


def test_a_terminal_shows_a_live_tree_in_colour(problem, scripted, in_terminal):
    terminal = in_terminal("run", problem, "-m", scripted(BACKTRACKS))
    assert terminal.end() == 0
    assert "\x1b[" in terminal.text
    assert "└── " in terminal.text
    assert "back to analysis, recon" in terminal.text
    assert "9 of 30 calls" in terminal.text
    assert "Proved at level medium" in terminal.text


def test_no_color_and_dumb_terminals_are_honoured(problem, scripted, in_terminal):
    model = scripted({"g_plan": [PLAN]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "single", NO_COLOR="1")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.text)
    terminal = in_terminal("run", problem, "-m", model, "-w", "single", TERM="dumb")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.text
    assert "plan accepted" in terminal.text


def test_a_question_on_the_terminal_is_answered_and_the_run_goes_on(problem, scripted, in_terminal):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "option_a")
    terminal.read_until("an empty line asks again(?s:.*)> $")
    terminal.type("3.12\n")
    assert terminal.end() == 0
    assert "Proved at level medium" in terminal.text


@pytest.mark.parametrize("left", [("\x04", 6), ("\x03", 130)])
def test_a_question_may_be_left_open(problem, scripted, in_terminal, left):
    """Ctrl-D leaves the run waiting; Ctrl-C parks it. Both say how to go on."""
    key, code = left
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "option_a")
    terminal.read_until("> $")
    terminal.type(key)
    assert terminal.end() == code
    assert re.search(r"> (\^C)?\r\n(\x1b\[[0-9;]*m)*Waiting for you", terminal.text), "begins a line of its own"
    assert "replan answer" in terminal.text
    assert "replan resume" in terminal.text


def test_no_input_asks_no_question_on_a_terminal(problem, scripted, in_terminal):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "option_a", "--no-input")
    assert terminal.end() == 6
    assert "Ctrl-D" not in terminal.text
