"""`delete` and `prune`: runs are gone for good, with what only they had."""

import json
import time

import apsw
import pytest

from tests.cli.conftest import SCRIPT, run_id
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, distinct
from tests.cli.test_bad_input import assert_refused

PARENT = """
name: parent
max_total_calls: 16
action_pairs:
  g_sketch: {generator: "workflow:./below.yaml", guard: plan_medium, child_calls: 4}
"""
BELOW = """
name: below
max_total_calls: 4
action_pairs:
  g_plan: {generator: model, guard: plan_medium, prompt: plan_direct}
"""


def counts(home):
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    tables = ("runs", "events", "inbox", "texts", "agenda", "unread")
    result = {table: next(connection.execute(f"SELECT count(*) FROM {table}"))[0] for table in tables}
    connection.close()
    return result


def ids(replan):
    return [row["run_id"] for row in json.loads(replan("runs", "--json").stdout)["runs"]]


def test_a_deleted_run_leaves_nothing(replan, home, planned):
    run = planned()
    texts = counts(home)["texts"]
    shown = json.loads(replan("home", "delete", run[:6], "--json").stdout)
    assert (shown["run_id"], shown["runs"], shown["texts"]) == (run, 1, texts)
    assert set(counts(home).values()) == {0}
    assert_refused(replan("show", run), "no run", code=8)


def test_a_run_that_waits_is_deleted_only_by_force(replan, planned):
    run = planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    assert_refused(replan("home", "delete", run), f"run {run} has not ended", f"replan cancel {run}", "--force")
    assert replan("home", "delete", run, "--force").exit_code == 0
    assert ids(replan) == []


def test_the_runs_of_its_steps_are_deleted_with_a_run(replan, home, planned, tmp_path):
    (tmp_path / "below.yaml").write_text(BELOW)
    (tmp_path / "parent.yaml").write_text(PARENT)
    planned({"g_plan": [PLAN], "g_sketch": []}, "-w", tmp_path / "parent.yaml")
    assert counts(home)["runs"] == 2
    child = json.loads(replan("show", "--last", "--tree", "--json").stdout)["nodes"][0]["child"]
    assert_refused(replan("home", "delete", child), "is a step of run")
    assert "with 1 child run" in replan("home", "delete", run_id(replan)).stderr
    assert set(counts(home).values()) == {0}


@pytest.fixture
def aged(home):
    """Make all runs older by some days."""

    def call(days):
        connection = apsw.Connection(str(home / "journal.sqlite3"))
        connection.execute("UPDATE runs SET updated = ?", (time.time() - days * 86_400,))
        connection.close()

    return call


def test_prune_deletes_old_runs_that_never_go_on(replan, planned, aged):
    succeeded = planned()
    waiting = planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    pruned = planned({"g_plan": distinct(LOST, 3)}, "-w", "single")
    aged(31)
    new = planned()
    listed = replan("home", "prune", "--older-than", "30d", "--dry-run")
    assert (listed.stdout, listed.exit_code) == (f"{succeeded}\n", 0)
    assert ids(replan) == [new, pruned, waiting, succeeded]
    assert replan("home", "prune", "--older-than", "30d").stdout == f"{succeeded}\n"
    assert ids(replan) == [new, pruned, waiting]
    shown = json.loads(replan("home", "prune", "--older-than", "30d", "--ended", "--json").stdout)
    assert shown == {"runs": [pruned], "deleted": True, "folders": []}
    assert ids(replan) == [new, waiting]


def test_prune_needs_an_age_and_may_find_nothing(replan, planned):
    assert replan("home", "prune").exit_code == 2
    run = planned()
    assert "0 runs deleted" in replan("home", "prune", "--older-than", "1d").stderr
    assert ids(replan) == [run]


def test_the_files_of_a_home_are_listed_with_their_sizes(replan, planned, home):
    assert "no files yet" in replan("home", "files").stderr
    planned()
    shown = json.loads(replan("home", "files", "--json").stdout)
    assert shown["home"] == str(home)
    assert {"file": "journal.sqlite3", "bytes": (home / "journal.sqlite3").stat().st_size} in shown["files"]
    assert " journal.sqlite3\n" in replan("home", "files").stdout
