"""`archive` and `restore`: runs leave the journal in files that every view reads, and come back."""

import json
import time

import apsw
import pytest

from tests.cli.conftest import SCRIPT
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, distinct
from tests.cli.test_bad_input import assert_refused
from tests.cli.test_delete import BELOW, PARENT, counts, ids

VIEWS = [
    ["show"],
    ["show", "--full"],
    ["show", "--json"],
    ["show", "--tree"],
    ["show", "--tree", "--json"],
    ["show", "--plan"],
    ["show", "--plan", "--json"],
    ["show", "--mermaid"],
    ["show", "--events"],
    ["show", "--events", "--json"],
    ["show", "--prompt", "g_plan/v1.a1"],
    ["show", "--prompt", "g_plan/v1.a1", "--json"],
    ["log"],
    ["log", "--json"],
    ["log", "--follow"],
    ["export"],
    ["export", "--format", "json"],
]


@pytest.fixture
def into(tmp_path):
    return tmp_path / "archive"


@pytest.fixture
def aged(home):
    """Make a run older by some days."""

    def call(run, days):
        connection = apsw.Connection(str(home / "journal.sqlite3"))
        connection.execute("UPDATE runs SET updated = ? WHERE run = ?", (time.time() - days * 86_400, run))
        connection.close()

    return call


def test_every_view_of_an_archived_run_is_as_before(replan, planned, into):
    run = planned()
    before = [replan(view[0], run, *view[1:]) for view in VIEWS]
    assert replan("archive", "--keep", "0", "--to", into).stdout == f"{run}\n"
    assert_refused(replan("show", run), "no run", code=8)
    file = into / f"{run}.replan.gz"
    for view, old in zip(VIEWS, before, strict=True):
        new = replan(view[0], file, *view[1:])
        assert (new.stdout, new.exit_code) == (old.stdout, 0), view
    assert f"restore {file}` brings it back" in replan("show", file).stderr


def test_an_archived_run_is_shown_without_a_home(replan, planned, into, monkeypatch, tmp_path):
    run = planned()
    replan("archive", "--keep", "0", "--to", into)
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(into)
    assert "Plan p1" in replan("show", f"{run}.replan.gz").stdout
    assert not (tmp_path / "none").exists()
    assert_refused(replan("show", "gone.replan.gz"), "no run", code=8)
    assert_refused(replan("show", "./gone.replan.gz"), "no such file", "name a file that `replan archive` has written")


def test_what_is_restored_is_as_it_was(replan, home, planned, into):
    run, other = planned(), planned()
    shown, before = replan("show", run, "--json").stdout, counts(home)
    replan("archive", "--keep", "0", "--to", into)
    assert set(counts(home).values()) == {0}
    files = sorted(into.glob("*.gz"))
    rows = json.loads(replan("restore", *files, "--json").stdout)["runs"]
    assert [(row["run_id"], row["new"]) for row in rows] == [(each, True) for each in sorted((run, other))]
    assert counts(home) == before
    assert replan("show", run, "--json").stdout == shown
    assert "nothing differs" in replan("home", "verify").stdout
    again = replan("restore", files[0])
    assert (again.stdout, again.exit_code) == ("", 0)
    assert "1 there already" in again.stderr


def test_old_runs_that_never_go_on_are_archived(replan, planned, aged, into):
    succeeded = planned()
    waiting = planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    pruned = planned({"g_plan": distinct(LOST, 3)}, "-w", "single")
    for run in (succeeded, waiting, pruned):
        aged(run, 31)
    new = planned()
    listed = replan("archive", "--older-than", "30d", "--dry-run")
    assert (listed.stdout, listed.exit_code) == (f"{succeeded}\n", 0)
    assert "1 run would be archived" in listed.stderr
    assert not into.exists()
    shown = json.loads(replan("archive", "--older-than", "30d", "--ended", "--dry-run", "--json").stdout)
    assert [row["run_id"] for row in shown["runs"]] == [succeeded, pruned]
    assert replan("archive", "--older-than", "30d", "--to", into).stdout == f"{succeeded}\n"
    assert ids(replan) == [new, pruned, waiting]
    shown = json.loads(replan("archive", "--older-than", "30d", "--ended", "--to", into, "--json").stdout)
    [row] = shown["runs"]
    file = into / f"{pruned}.replan.gz"
    assert row == {"run_id": pruned, "runs": 1, "file": str(file), "bytes": file.stat().st_size}
    assert (shown["left"], shown["archived"]) == ([], True)
    assert ids(replan) == [new, waiting]


def test_the_oldest_runs_are_archived_until_as_many_or_as_much_is_left(replan, home, planned, aged, into):
    runs = [planned() for _ in range(4)]
    for days, run in enumerate(reversed(runs)):
        aged(run, days + 1)
    assert replan("archive", "--keep", "3", "--to", into).stdout == f"{runs[0]}\n"
    assert replan("archive", "--keep", "3", "--to", into).stdout == ""
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    sizes = "SELECT sum(length(body)) FROM events UNION ALL SELECT sum(length(text)) FROM texts"
    records, texts = (size for (size,) in connection.execute(sizes))
    connection.close()
    whole = records + 3 * texts  # The three runs name the same texts, and each counts them.
    assert replan("archive", "--keep-size", f"{(whole + 2_000) // 1000}KB", "--to", into).stdout == ""
    two = whole * 2 // 3 + 2_000
    assert replan("archive", "--keep-size", f"{two // 1000}KB", "--to", into).stdout == f"{runs[1]}\n"
    both = replan("archive", "--keep", "2", "--older-than", "36h", "--to", into)
    assert both.stdout == f"{runs[2]}\n"
    assert ids(replan) == [runs[3]]


def test_a_run_is_archived_with_the_runs_of_its_steps(replan, home, planned, into, tmp_path):
    (tmp_path / "below.yaml").write_text(BELOW)
    (tmp_path / "parent.yaml").write_text(PARENT)
    run = planned({"g_plan": [PLAN], "g_sketch": []}, "-w", tmp_path / "parent.yaml")
    child = json.loads(replan("show", "--last", "--tree", "--json").stdout)["nodes"][0]["child"]
    below = replan("show", child).stdout
    tree = replan("show", run, "--tree").stdout
    shown = json.loads(replan("archive", "--keep", "0", "--to", into, "--json").stdout)
    assert [(row["run_id"], row["runs"]) for row in shown["runs"]] == [(run, 2)]
    assert set(counts(home).values()) == {0}
    file = into / f"{run}.replan.gz"
    assert replan("show", file, "--tree").stdout == tree
    assert replan("show", f"{file}#{child}").stdout == below
    assert_refused(replan("show", f"{file}#none"), "no run 'none'", code=8)
    assert replan("restore", file).stdout == f"{child}\n{run}\n"
    assert replan("show", run, "--tree").stdout == tree


def test_a_run_whose_step_has_not_ended_stays(replan, home, planned, into, tmp_path):
    (tmp_path / "below.yaml").write_text(BELOW)
    (tmp_path / "parent.yaml").write_text(PARENT)
    run = planned({"g_plan": [PLAN], "g_sketch": []}, "-w", tmp_path / "parent.yaml")
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    connection.execute("UPDATE runs SET status = 'waiting' WHERE run <> ?", (run,))
    connection.close()
    result = replan("archive", "--keep", "0", "--to", into, "--json")
    assert result.exit_code == 8
    child = json.loads(replan("show", run, "--tree", "--json").stdout)["nodes"][0]["child"]
    left = [{"run_id": run, "cause": f"run {child}, a step of it, has not ended"}]
    assert json.loads(result.stdout) == {"runs": [], "left": left, "archived": True}
    assert f"run {run} stays in the journal" in result.stderr
    assert counts(home)["runs"] == 2


def test_a_damaged_file_is_refused_in_one_line(replan, planned, into):
    run = planned()
    replan("archive", "--keep", "0", "--to", into)
    file = into / f"{run}.replan.gz"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    for command in ("show", "log", "export", "restore"):
        assert_refused(replan(command, file), f"{file}: ", "cut off", code=9)
    file.write_bytes(b"text")
    assert_refused(replan("show", file), "this is no archive")
    assert json.loads(replan("show", file, "--json").stdout)["error"]["exit_code"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["nothing says which runs", "--older-than 30d"]),
        (["--keep", "3"], ["no folder is named", "--to FOLDER"]),
        (["--keep-size", "much", "--dry-run"], ["'much' is not a size such as 500MB or 2GiB"]),
        (["--keep", "-1", "--dry-run"], ["-1"]),
    ],
)
def test_wrong_options_are_refused(replan, arguments, words):
    assert_refused(replan("archive", *arguments), *words)


def test_a_home_without_a_journal_has_nothing_to_archive(replan, home, into):
    assert "0 runs archived" in replan("archive", "--keep", "0", "--to", into).stderr
    assert not home.exists()


def test_a_file_in_the_place_of_the_folder_is_refused(replan, planned, into):
    planned()
    into.write_text("")
    assert_refused(replan("archive", "--keep", "0", "--to", into), "name another folder after --to")
    assert len(ids(replan)) == 1
