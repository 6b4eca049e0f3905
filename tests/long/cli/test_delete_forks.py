"""`delete` and `prune` of forks of executions: the folder that was made for a fork goes with it."""

import json

import pytest

import replan as api
from tests.cli.test_delete import aged  # noqa: F401 -- a fixture
from tests.long.cli.test_fork_execution import execute, executed, files, forked, git, places  # noqa: F401 -- a fixture


@pytest.fixture
def fork(replan, executed, tmp_path):  # noqa: F811
    """A fork after the last step of an execution: its id, its folder, and the workspace of the other run."""
    run, work, _ = executed
    last = max(seq for seq, event in places(replan, run) if event["kind"] == "step_settled")
    done = forked(replan, run, "--at", last)
    assert done["outcome"] == "success"
    folder = tmp_path / f"work-{done['run_id']}"
    assert files(folder) == files(work)
    return done["run_id"], folder, work


def test_a_fork_is_deleted_with_its_folder_and_the_other_run_without_its_own(replan, fork, executed):  # noqa: F811
    run, folder, work = fork
    records = places(replan, run)
    [recorded] = [event["workspace"] for _, event in records if event["kind"] == "forked"]
    assert recorded == str(folder), "the journal says which folder was made"
    before = files(work)
    deleted = replan("home", "delete", run, "--json")
    assert json.loads(deleted.stdout)["folders"] == [{"folder": str(folder), "kept": None, "ref": None}]
    assert f"the folder {folder} is removed" in deleted.stderr
    assert not folder.exists()
    if executed[2] == "git":
        assert folder.name not in git(work, "worktree", "list")
    again = replan("home", "delete", executed[0], "--json")
    assert json.loads(again.stdout)["folders"] == []
    assert files(work) == before, "nobody made this folder for the run"


def test_a_folder_that_has_changed_is_kept_and_so_is_one_that_the_user_keeps(replan, fork, tmp_path):
    run, folder, _ = fork
    second = forked(replan, run, "--at", max(seq for seq, e in places(replan, run) if e["kind"] == "step_settled"))
    (folder / "notes").write_text("mine")
    deleted = replan("home", "delete", run)
    assert deleted.exit_code == 0
    assert f"the folder {folder} is kept: it has changes since the last snapshot of the run" in deleted.stderr
    assert (folder / "notes").read_text() == "mine"
    kept = replan("home", "delete", second["run_id"], "--keep-workspace")
    assert "the folder" not in kept.stderr
    assert (tmp_path / f"{folder.name}-{second['run_id']}").is_dir()


def test_a_fork_that_has_not_ended_keeps_its_folder_until_it_is_deleted_by_force(replan, executed, tmp_path):  # noqa: F811
    run, work, sort = executed
    if sort == "plain":
        (work / "log").unlink()
    fork = forked(replan, run, "--at", "make/r1.v1.a1", code=6)["run_id"]
    folder = tmp_path / f"work-{fork}"
    assert replan("home", "delete", fork).exit_code == 2
    assert folder.is_dir()
    assert "is removed" in replan("home", "delete", fork, "--force").stderr
    assert not folder.exists()


def test_a_folder_in_which_another_run_waits_is_kept(replan, fork, tmp_path):
    run, folder, _ = fork
    (tmp_path / "broken").touch()
    done = replan(
        "execute",
        tmp_path / "plan.json",
        "--tools",
        tmp_path / "tools.yaml",
        "--workspace",
        folder,
        "-m",
        "template:bug",
    )
    assert done.exit_code == 6, done.stderr
    assert "works in it and has not finished" in replan("home", "delete", run).stderr
    assert folder.is_dir()


def test_prune_removes_folders_a_move_leaves_them_and_a_fork_that_came_back_still_has_its_own(
    replan,
    home,
    fork,
    aged,  # noqa: F811
    tmp_path,
):
    run, folder, work = fork
    aged(2)
    assert replan("home", "prune", "--older-than", "1d", "--dry-run").exit_code == 0
    assert folder.is_dir()
    journals = [f"sqlite:{place / 'journal.sqlite3'}" for place in (home, tmp_path / "old")]
    assert run in replan("home", "copy", *journals, "--older-than", "1d", "--delete").stdout
    assert folder.is_dir(), "the run may come back"
    assert run in replan("home", "copy", *reversed(journals), "--ended", "--delete").stdout
    shown = json.loads(replan("home", "prune", "--older-than", "1d", "--json").stdout)
    assert [each["folder"] for each in shown["folders"]] == [str(folder)]
    assert (folder.exists(), work.exists()) == (False, True)


def test_a_fork_is_deleted_from_python_too(fork, home):
    run, folder, _ = fork
    api.delete(run, home=home)
    assert not folder.exists()
