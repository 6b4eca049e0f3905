"""`replan fork` of runs in every state: each is forked, or refused with one line that says what to do."""

import json
import subprocess

import apsw
import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN, RECON, STRATEGY, delayed_reply
from tests.cli.test_fork import forked, refused

SCRIPT = {"g_analysis": [ANALYSIS, ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}


def test_a_run_that_another_process_drives_is_forked_and_goes_on(replan, shell, problem, scripted, tmp_path):
    model, out, err = scripted({**SCRIPT, "g_plan": [delayed_reply(PLAN, seconds=4.0)]}), tmp_path / "o", tmp_path / "e"
    driver = shell("run", problem, "-m", model, "--json", stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    while "g_plan/v1.a1" not in replan("log", "--last").stdout:
        assert driver.poll() is None, err.read_text()
    run = run_id(replan)
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "running"
    done = forked(replan, run, "-m", "template:bug")
    assert (done["outcome"], done["forked_from"]["run_id"], done["calls"]) == ("success", run, 1)
    assert driver.wait() == 0
    theirs = json.loads(out.read_text())
    assert (theirs["run_id"], theirs["outcome"], theirs["calls"]) == (run, "success", 4)
    assert replan("home", "verify").exit_code == 0


def test_a_run_that_waits_for_an_answer_is_forked_with_the_question_asked_anew(replan, problem, scripted):
    model = scripted({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    assert replan("run", problem, "-m", model, "--no-input", "-q").exit_code == 6
    run = run_id(replan)
    asked = replan("fork", run, "-m", model, "--no-input", "--json", "-q")
    assert asked.exit_code == 6, asked.output
    fork = json.loads(asked.stdout)["run_id"]
    listed = {each["run_id"] for each in json.loads(replan("questions", "--json").stdout)["questions"]}
    assert listed == {run, fork}
    assert replan("answer", f"{fork}/q1", "3.12").exit_code == 0
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "waiting"
    assert replan("resume", fork, "-m", "template:bug", "--no-input", "-q").exit_code == 0


def test_a_run_that_is_parked_is_forked_and_stays_parked(replan, planned, scripted, problem):
    model = scripted({"g_analysis": [ANALYSIS]})
    replan("run", problem, "-m", model, "--no-input", "-q")  # The script has no more replies.
    run = run_id(replan)
    status = json.loads(replan("show", run, "--json").stdout)["status"]
    assert status == "parked"
    done = forked(replan, run, "-m", "template:bug")
    assert done["outcome"] == "success"
    assert json.loads(replan("show", run, "--json").stdout)["status"] == "parked"


def test_a_run_that_was_moved_is_refused_with_the_place_where_it_is(replan, home, planned, tmp_path):
    replan("run", "-", "-m", "template:bug", "--no-input", input="Make it better, please.")
    run, addresses = run_id(replan), [f"sqlite:{each / 'journal.sqlite3'}" for each in (home, tmp_path / "other")]
    assert replan("home", "copy", *addresses).exit_code == 0
    assert addresses[1] in refused(replan, run, code=8)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE events SET at = at + 1 WHERE seq = 5", "record 5: the record does not match its hash"),
        ("UPDATE runs SET kind = 'negotiation'", "negotiation"),
    ],
    ids=["damaged", "of an unknown kind"],
)
def test_a_run_that_cannot_be_read_is_refused(replan, home, planned, damage, words):
    run = planned()
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(damage)
    connection.close()
    done = replan("fork", run, "--at", 1)
    assert done.exit_code not in (0, 70), done.output
    [line] = done.stderr.splitlines()
    assert words in line
    assert "Traceback" not in line


def test_a_place_inside_a_transaction_decides_the_rest_of_it_anew(replan, planned):
    """The end follows from the verdict in one transaction: a fork between them decides it again, without a call."""
    run = planned()
    records = json.loads(replan("show", run, "--events", "--json").stdout)["events"]
    for seq in range(1, len(records)):
        done = forked(replan, run, "--at", seq, "-m", "template:bug")
        assert done["outcome"] == "success", f"at record {seq}"
        assert done["calls"] <= 4, f"at record {seq}"
    assert done["calls"] == 0, "only the end is decided"
