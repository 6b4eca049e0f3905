"""Homes, variables and files that others have prepared: one line each, and nothing of them is run."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replan.cli import app as application
from replan.cli import logfile
from replan.cli.logfile import LogFile
from replan.cli.terminal.console import print_json
from replan.runs import home as homes
from runtime.core.errors import UsageProblem
from runtime.host.wakeup import WakeSockets
from runtime.journal import folder as folders
from runtime.models.open_models import open_openai
from runtime.models.providers import check_base_url
from tests.cli.conftest import ROOT

STRANGER = 65534


def give_away(path, monkeypatch):
    """Make a file another user's; only root can, so for others it is this process that becomes another user's."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


@pytest.mark.parametrize("character", "\x7f\x85\x9b\u061c\u200e\u2028\u2029\u202e\u2066")
def test_json_holds_no_character_that_a_terminal_obeys(capsys, character):
    print_json({"text": character})
    shown = capsys.readouterr().out
    assert character not in shown
    assert json.loads(shown) == {"text": character}


@pytest.mark.parametrize("part", ["", "config.yaml", "log.jsonl", "journal.sqlite3"])
def test_what_belongs_to_another_user_is_refused(replan, home, problem, part, monkeypatch):
    assert replan("run", problem, "-m", "template:bug", "--no-input").exit_code in (0, 3, 6)
    (home / part).touch()
    give_away(home / part, monkeypatch)
    result = replan("run", problem, "-m", "template:bug", "--no-input")
    assert result.exit_code in (2, 9)
    assert "belongs to another user" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_sockets_of_another_user_are_left_alone(tmp_path, monkeypatch):
    folder = tmp_path / "hosts"
    folder.mkdir()
    (folder / "1-a.sock").touch()
    give_away(folder, monkeypatch)
    assert WakeSockets(folder)._sockets() == []


def test_parents_of_a_home_are_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        folders.prepare_folder(tmp_path / "a" / "b" / "home")
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "home"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "value", ["~nobody-of-this-name/x", "/tmp/" + "x" * 300, "/tmp/" + "x/" * 2500, os.fsdecode(b"/tmp/\xff\xfe")]
)
@pytest.mark.parametrize("command", [("runs",), ("run", "-", "-m", "template:bug")])
def test_a_home_that_cannot_be_a_folder_is_an_error_of_one_line(replan, monkeypatch, value, command):
    monkeypatch.setenv("REPLAN_HOME", value)
    result = replan(*command, input="Fix it.")
    assert result.exit_code == 2, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "REPLAN_HOME" in result.stderr


def test_bytes_that_are_not_utf_8_are_an_error_of_one_line(replan, problem):
    result = replan("run", problem, "-m", os.fsdecode(b"gpt-\xff"), env={"OPENAI_BASE_URL": "http://localhost:1"})
    assert result.exit_code == 2, result.stderr
    assert "internal error" not in result.stderr


@pytest.mark.parametrize("url", ["https://" + "x" * 64 + ".example/v1", "https://h:sk-secret-1/v1", "https://a..b/v1"])
def test_a_base_url_that_cannot_be_looked_up_is_refused_unquoted(url):
    with pytest.raises(UsageProblem) as raised:
        check_base_url(url)
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize("proxy", ["http://user:sk-secret/1@host:1", "http://" + "x" * 64 + ":1", "http://h:sk-secret"])
async def test_a_proxy_that_cannot_be_used_is_refused_unquoted(monkeypatch, proxy):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(UsageProblem) as raised:
        async with open_openai("m", api_key="k", base_url="https://replan.invalid/v1"):
            pytest.fail("opened")
    assert "sk-secret" not in str(raised.value)


def test_the_crash_handler_never_crashes(replan, monkeypatch):

    def fail(*_):
        raise RuntimeError("again")

    monkeypatch.setattr(logfile, "locate_home", fail)
    assert application._report_crash(ValueError("first"), application.Invocation()) == 1
    assert logfile.write_traceback(ValueError("first")) == ""


def test_a_long_input_is_cut_where_it_is_quoted(replan):
    long = "x" * 120_000
    for arguments in (("runs", long), ("show", long), ("runs", f"--{long}"), (long,)):
        result = replan(*arguments)
        assert result.exit_code != 0
        assert len(result.stderr) < 1200


def test_a_home_that_cannot_be_written_can_be_inspected(replan, home, problem, monkeypatch):
    assert replan("run", problem, "-m", "template:bug", "--no-input").exit_code in (0, 3, 6)
    monkeypatch.setattr(homes, "is_writable", lambda _: False)
    monkeypatch.setattr("replan.cli.home.is_writable", lambda _: False)
    access = os.access

    def read_only(path, mode):
        return not (Path(path) == home and mode & os.W_OK) and access(path, mode)

    monkeypatch.setattr(os, "access", read_only)
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.iterdir()}
    for command in (("runs",), ("show", "--last"), ("log", "--last"), ("questions",)):
        result = replan(*command)
        assert result.exit_code == 0, (command, result.stderr)
    assert json.loads(replan("runs", "--json").stdout)["runs"]
    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.iterdir()} == before
    refused = replan("run", problem, "-m", "template:bug")
    assert refused.exit_code == 2
    assert "you may not write in this folder" in refused.stderr


def test_a_log_that_others_set_aside_is_followed(tmp_path):
    path = tmp_path / "log.jsonl"
    with LogFile(path) as stream:
        stream.write("one\n")
        path.rename(tmp_path / "log.jsonl.1")
        stream.write("two\n")
        (tmp_path / "log.jsonl.1").unlink()
        path.rename(tmp_path / "log.jsonl.1")
        stream.write("three\n")
    assert path.read_text() == "three\n"


def test_a_log_that_grows_is_set_aside_by_its_writer(tmp_path, monkeypatch):
    monkeypatch.setattr(logfile, "LOG_BYTES_MAX", 100)
    path = tmp_path / "log.jsonl"
    with LogFile(path) as stream:
        for _ in range(20):
            stream.write("x" * 30 + "\n")
    assert path.stat().st_size <= 150
    assert (tmp_path / "log.jsonl.1").stat().st_size <= 150


@pytest.mark.parametrize("delay", [0.06, 0.14, 0.22])
def test_ctrl_c_while_the_program_is_imported_is_no_traceback(home, delay):
    code = "import sys; from replan.cli import main; print('go', flush=True); main(['runs'])"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    time.sleep(delay - 0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors
    # While Python shuts down, the signal itself ends the process: a shell reports that as 130 too.
    assert process.returncode in (0, 130, -signal.SIGINT)


def test_ctrl_c_inside_a_callback_ends_the_program():
    code = """
import weakref
from replan.cli import leave_on_lost_interrupts
class Value: ...
def interrupt(_): raise KeyboardInterrupt
leave_on_lost_interrupts()
value = Value()
reference = weakref.ref(value, interrupt)
del value
print("went on")
"""
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "replan: interrupted\n")
