"""Unusable homes and journals, and those of other releases: one line, the exit code, and an unchanged file."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from runtime.journal.port import VERSION
from runtime.journal.sqlite.schema import EARLIER_IDS
from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.cli.test_bad_input import assert_refused


@pytest.fixture
def journal(replan, home, problem, scripted):
    assert replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single").exit_code == 0
    return home / "journal.sqlite3"


def damage(path, statement):
    """Execute a statement on a journal directly, and return the file's bytes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
        connection.execute("pragma wal_checkpoint(truncate)")
    return path.read_bytes()


def test_a_journal_of_a_newer_release_is_exit_9_and_untouched(replan, journal):
    before = damage(journal, "pragma user_version = 99")
    for command in (["runs"], ["resume", "--last"], ["show", "zzzzzzzz"]):
        assert_refused(replan(*command), "newer release", "upgrade", code=9)
    assert journal.read_bytes() == before
    result = replan("runs", "--json")
    assert json.loads(result.stdout)["error"] | {"message": ""} == {
        "exit_code": 9,
        "kind": "JournalNewer",
        "message": "",
    }


def test_a_damaged_file_is_exit_9_and_untouched(replan, journal):
    for name in ("journal.sqlite3-wal", "journal.sqlite3-shm"):
        (journal.parent / name).unlink(missing_ok=True)
    journal.write_bytes(b"this is no journal at all" * 500)
    before = journal.read_bytes()
    assert_refused(replan("runs"), "journal.sqlite3", code=9)
    assert journal.read_bytes() == before


@pytest.mark.parametrize("name", ["journal.sqlite3", "journal.sqlite3-wal"])
@pytest.mark.parametrize("command", [["runs"], ["resume", "--last"], ["run", "-", "-m", "template:bug"]], ids=" ".join)
def test_a_journal_that_cannot_be_opened_is_exit_9_with_its_path_and_advice(replan, home, name, command):
    """A folder stands in place of the journal or its log, which no user can open."""
    assert replan("run", "-", "-m", "template:bug", input="Crash in app.py: KeyError 'name'").exit_code == 0
    (home / name).unlink(missing_ok=True)
    (home / name).mkdir()
    result = replan(*command, input="Crash in app.py: KeyError 'name'")
    assert_refused(result, "journal.sqlite3: ", "(m", code=9)
    shown = json.loads(replan("runs", "--json").stdout)["error"]
    assert (shown["exit_code"], shown["kind"]) == (9, "JournalUnreadable")


def test_a_record_that_does_not_verify_is_exit_9(replan, journal):
    run = json.loads(replan("runs", "--json").stdout)["runs"][0]["run_id"]
    damage(journal, "update events set at = at + 1 where seq = 2")
    for command in (["show", run], ["log", run], ["resume", run]):
        assert_refused(replan(*command), run, code=9)


def test_the_doctor_reports_a_damaged_journal(replan, journal):
    damage(journal, "pragma user_version = 99")
    result = replan("doctor", "--json")
    assert result.exit_code == 1
    assert [item["name"] for item in json.loads(result.stdout)["checks"] if not item["ok"]] == ["journal"]


@pytest.mark.parametrize("where", ["/dev/null/home", "/proc/home"])
def test_a_home_that_cannot_be_created_is_exit_2(replan, problem, monkeypatch, where):
    monkeypatch.setenv("REPLAN_HOME", where)
    result = replan("run", problem, "-m", "template:bug")
    assert_refused(result, where, "REPLAN_HOME")


def test_a_log_that_is_a_link_is_refused(replan, home, problem, tmp_path):
    home.mkdir(mode=0o700)
    (home / "log.jsonl").symlink_to(tmp_path / "elsewhere")
    assert_refused(replan("run", problem, "-m", "template:bug"), "log.jsonl")
    assert not (tmp_path / "elsewhere").exists()


def test_the_home_is_private_whatever_the_umask(replan, home, problem):
    before = os.umask(0)
    try:
        assert replan("run", problem, "-m", "template:bug").exit_code == 0
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in home.iterdir()} == dict.fromkeys(
        [path.name for path in home.iterdir()], "0o600"
    )


@pytest.mark.parametrize("column", ["created", "updated", "waiting_since", "next_wake"])
@pytest.mark.parametrize("seconds", ["-1e308", "1e308", "4611686018427387904"])
def test_a_time_that_no_calendar_has_hides_no_run(replan, journal, column, seconds):
    """V2: one such row ended the list of all runs as JSON with an internal error."""
    damage(journal, f"update runs set {column} = {seconds}")
    for command in (["runs"], ["runs", "--json"], ["runs", "--waiting", "--json"], ["show", "--last", "--json"]):
        assert replan(*command).exit_code == 0


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "missing"])
def test_a_journal_that_is_empty_or_missing_beside_its_anchors_is_no_new_one(
    replan, journal, problem, scripted, emptied
):
    """No command says that there are no runs, and none begins a new journal."""
    for path in journal.parent.glob("journal.sqlite3*"):
        if not path.name.endswith("-anchors"):
            path.unlink()
    if emptied:
        journal.touch(0o600)
    run = ["run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single"]
    for command in (["runs"], ["show", "--last"], run, ["cancel", "zzzzzzzz"]):
        assert_refused(replan(*command), "missing or empty, but a run was written", "begin with an empty one", code=9)
    assert not emptied or journal.read_bytes() == b""
    (journal.parent / "journal.sqlite3-anchors").unlink()
    journal.unlink(missing_ok=True)
    assert replan("runs").exit_code == 0


UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""What makes a command of root obey the modes of files."""


@pytest.mark.parametrize(
    ("mode", "command"), [(0o000, ["runs"]), (0o100, ["questions"]), (0o400, ["show", "--last"]), (0o100, ["runs"])]
)
def test_a_home_that_may_not_be_entered_is_named_with_the_next_step(journal, mode, command):
    home = journal.parent
    home.chmod(mode)
    try:
        words = [*UNPRIVILEGED, sys.executable, "-m", "replan", *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    finally:
        home.chmod(0o700)
    line = done.stderr.strip()
    assert "\n" not in line
    assert line.startswith(f"replan: {home}")
    assert "permission denied (give your user" in line or f"chmod u+rx {home}" in line
    assert "internal error" not in line
    assert done.returncode == 2


@pytest.fixture
def waiting(replan, home, problem, scripted):
    asks = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    return json.loads(replan("run", problem, "-m", asks, "-w", "option_a", "--json").stdout)["run_id"]


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (f"PRAGMA user_version = {VERSION + 1}", "upgrade replan"),
        *(
            (f"PRAGMA application_id = {earlier}", "(use another home or database, or keep using that version)")
            for earlier in EARLIER_IDS
        ),
    ],
)
def test_a_journal_of_another_release_is_refused_in_one_line(replan, home, waiting, of, says):
    with closing(sqlite3.connect(home / "journal.sqlite3")) as file, file:
        file.execute(of)
    before = (home / "journal.sqlite3").read_bytes()
    for command in (
        ["show", waiting],
        ["runs"],
        ["log", waiting],
        ["questions"],
        ["resume", waiting],
        ["answer", f"{waiting}/q1", "Version 3.12"],
        ["cancel", waiting],
        ["home", "verify"],
        ["home", "upgrade"],
        ["host"],
    ):
        done = replan(*command)
        assert (done.exit_code, done.exception.__class__) == (9, SystemExit), command
        assert done.stderr.splitlines()[-1].endswith(says), command
        assert "Traceback" not in done.stderr
    done = replan("doctor")
    assert done.exit_code == 1
    assert next(line for line in done.stdout.splitlines() if line.startswith("WRONG")).startswith("WRONG  journal")
    assert (home / "journal.sqlite3").read_bytes() == before


def test_upgrade_and_doctor_say_which_version_a_journal_has(replan, home, waiting):
    done = replan("home", "upgrade", "--json")
    assert json.loads(done.stdout) == {"journal": f"sqlite:{home / 'journal.sqlite3'}", "version": VERSION}
    assert f"version {VERSION}, 1 run, 1 waiting" in replan("doctor").stdout
