"""The folder of a fork goes with it while it is as the fork has left it; whatever else is in it keeps it."""

import os
import shutil
import subprocess

import pytest

from actors.tools.fork_workspace import clear_workspace, make_workspace
from actors.tools.listing import keep, take_listing
from actors.tools.repository import find_repository
from actors.tools.workspace import WorkspaceLock
from tests.long.cli.test_fork_execution import git

FORK = "forkfork"
CHANGED = "it has changes since the last snapshot of the run"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path):
    source = tmp_path / "work"
    (source / "below").mkdir(parents=True)
    (source / "given").write_text("one\n")
    (source / "below" / "more").write_text("two\n")
    return source


def listed(folder, home):
    handle = os.open(folder, os.O_RDONLY)
    try:
        return keep(take_listing(handle, {}), folder, home)
    finally:
        os.close(handle)


@pytest.fixture
def copied(source, home, tmp_path):
    """The folder of a fork that is a copy, and the snapshot that it was made from."""
    snapshot, folder = listed(source, home), tmp_path / "work-fork"
    make_workspace(source, snapshot, folder, home, FORK)
    return folder, snapshot


@pytest.fixture
def worktree(source, home, tmp_path):
    """The folder of a fork that is a git worktree, and the snapshot that it was made from."""
    (source / ".gitignore").write_text("*.pyc\n")
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "first")
    snapshot, _, _ = find_repository(source, home, (), run="original", first=True).commit("original", "begin", "")
    folder = tmp_path / "work-fork"
    make_workspace(source, snapshot, folder, home, FORK)
    return folder, snapshot


def worktrees(source):
    lines = git(source, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]


def commit(folder):
    (folder / "made").write_text("made\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "made")
    return git(folder, "rev-parse", "HEAD")


def nothing(_folder):
    """A person does nothing."""


def change(folder):
    (folder / "given").write_text("three\n")


def add(folder):
    (folder / "notes").write_text("mine\n")


def remove(folder):
    (folder / "below" / "more").unlink()


def link(folder):
    (folder / "given").unlink()
    (folder / "given").symlink_to("below/more")


def compile_python(folder):
    (folder / "made.pyc").write_bytes(b"\0")


def nest(folder):
    """A repository in the folder, which snapshots leave out."""
    (folder / "below" / "other").mkdir()
    git(folder / "below" / "other", "init", "-q")
    (folder / "below" / "other" / "kept").write_text("x")
    git(folder / "below" / "other", "add", "-A")
    git(folder / "below" / "other", "commit", "-qm", "x")
    (folder / "below" / "other" / "kept").unlink()


def begin_repository(folder):
    git(folder, "init", "-q")


def lock(folder):
    git(folder, "worktree", "lock", str(folder))


def lose_repository(folder):
    (folder.parent / "work" / ".git").rename(folder.parent / "gone")


def point_elsewhere(folder):
    """A tool has written another repository into the folder's `.git`."""
    other = folder.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    (folder / ".git").write_text(f"gitdir: {other / '.git'}\n")


COPIES = [
    (nothing, ""),
    (change, CHANGED),
    (add, CHANGED),
    (remove, CHANGED),
    (link, CHANGED),
    (compile_python, CHANGED),
    (nest, f"{CHANGED}, for instance below/other/.git"),
    (begin_repository, f"{CHANGED}, for instance ./.git"),
]
WORKTREES = [
    (nothing, ""),
    (compile_python, ""),
    (change, f"{CHANGED}, for instance given"),
    (add, f"{CHANGED}, for instance notes"),
    (remove, f"{CHANGED}, for instance below/more"),
    (link, f"{CHANGED}, for instance given"),
    (nest, f"{CHANGED}, for instance below/other/"),
    (lock, "or unlock first"),
    (lose_repository, "not a git repository"),
    (point_elsewhere, "not the same as at the start of the run"),
]


@pytest.mark.parametrize(("done", "kept"), COPIES, ids=[done.__name__ for done, _ in COPIES])
def test_a_copy_is_removed_unless_it_has_changed(copied, source, home, done, kept):
    folder, snapshot = copied
    done(folder)
    left = clear_workspace(folder, snapshot, home, FORK)
    assert (left.folder, kept in left.kept, bool(left.kept)) == (str(folder), True, bool(kept)), left
    assert folder.exists() is bool(kept)
    assert sorted(path.name for path in source.iterdir()) == ["below", "given"]
    kept_of = [path.name for path in (home / "workspaces").iterdir() if path.suffix == ".listings"]
    assert len(kept_of) == (2 if kept else 1), "the listings of a folder that is gone are gone"


@pytest.mark.parametrize(("done", "kept"), WORKTREES, ids=[done.__name__ for done, _ in WORKTREES])
def test_a_worktree_is_removed_unless_it_has_changed(worktree, source, home, done, kept):
    folder, snapshot = worktree
    done(folder)
    left = clear_workspace(folder, snapshot, home, FORK)
    assert (kept in left.kept, bool(left.kept)) == (True, bool(kept)), left
    assert folder.exists() is bool(kept)
    if done is lose_repository:
        (source.parent / "gone").rename(source / ".git")
    assert (str(folder) in worktrees(source)) is bool(kept)
    assert git(source, "status", "--porcelain") == ""
    stores = [path for path in (home / "workspaces").iterdir() if path.suffix == ".git"]
    assert len(stores) == (2 if kept else 1)


def test_a_commit_that_no_branch_has_gets_a_ref(worktree, source, home):
    folder, _ = worktree
    made = commit(folder)
    last, _, _ = find_repository(folder, home, (), run=FORK, first=False).commit(FORK, "after", made)
    git(source, "update-ref", "-d", f"refs/replan/{FORK}/after")
    left = clear_workspace(folder, last, home, FORK)
    assert (left.kept, left.ref) == ("", f"refs/replan/{FORK}/head")
    assert git(source, "rev-parse", left.ref) == made


def test_a_commit_on_a_branch_needs_no_ref(worktree, source, home):
    folder, _ = worktree
    git(folder, "switch", "-qc", "fix")
    made = commit(folder)
    last, _, _ = find_repository(folder, home, (), run=FORK, first=False).commit(FORK, "after", made)
    git(source, "update-ref", "-d", f"refs/replan/{FORK}/after")
    assert clear_workspace(folder, last, home, FORK).ref == ""
    assert git(source, "rev-parse", "fix") == made


@pytest.mark.parametrize("made", ["copied", "worktree"])
def test_what_this_home_has_not_made_is_kept(request, made, home, tmp_path):
    folder, snapshot = request.getfixturevalue(made)
    other = tmp_path / "other"
    other.mkdir()
    assert clear_workspace(folder, snapshot, other, FORK).kept
    lock = WorkspaceLock(folder, home)
    assert lock.take("another1") is None
    left = clear_workspace(folder, snapshot, home, FORK)
    assert (left.kept.startswith("run 'another1' works in this workspace"), folder.exists()) == (True, True)
    lock.release()
    target = tmp_path / "target"
    folder.rename(target)
    assert clear_workspace(folder, snapshot, home, FORK) is None
    folder.symlink_to(target)
    assert "symbolic link" in clear_workspace(folder, snapshot, home, FORK).kept
    assert target.exists()


def test_a_worktree_in_which_another_run_has_begun_is_kept(worktree, home):
    folder, _ = worktree
    snapshot, _, _ = find_repository(folder, home, (), run="another1", first=True).commit("another1", "begin", "")
    assert clear_workspace(folder, snapshot, home, FORK).kept == "another run has worked in the folder"
    assert folder.exists()


def test_without_git_a_worktree_is_kept(worktree, home, monkeypatch):
    folder, snapshot = worktree
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert clear_workspace(folder, snapshot, home, FORK).kept == "git is not installed"
    assert subprocess.run(["git", "-C", folder, "status"], check=False, capture_output=True).returncode == 0
