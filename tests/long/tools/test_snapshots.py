"""Snapshots: what changed between two of them, and a repository in which nothing else is touched and nothing runs."""

import json
import os
import shutil
import subprocess

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import listing, repository
from actors.tools.snapshot_texts import WorkspaceSnapshot, cut_paths, read_snapshot, ref_of, snapshot_use, touched_paths
from actors.tools.uses import NO_TOOLS


def git(folder, *words, **more):
    names = [f"GIT_{role}_{key}" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")]
    environment = {**os.environ, **dict.fromkeys(names, "ann"), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True, **more
    )
    return done.stdout.strip()


async def take(bench, name="s1", since=""):
    done = await bench.call(NO_TOOLS, snapshot_use(name, since), seconds=60.0)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    return read_snapshot(done.output)


@pytest.fixture
def repo(bench):
    """A repository with a commit, a staged change, an unstaged one, and files that git does not know or ignores."""
    folder = bench.workspace
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("ignored\ntracked_too\n")
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_bytes(b"one\r\n")
    (folder / "tracked_too").write_text("x")
    git(folder, "add", "-A")
    git(folder, "add", "-f", "tracked_too")
    git(folder, "commit", "-qm", "first")
    (folder / "staged").write_text("staged")
    git(folder, "add", "staged")
    (folder / "src" / "a.py").write_bytes(b"two\r\n")
    (folder / "new").write_text("new")
    (folder / "ignored").write_text("ignored")
    return folder


def state_of(folder):
    """Return all that a snapshot must not touch."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}
    return (
        git(folder, "rev-parse", "HEAD"),
        git(folder, "symbolic-ref", "HEAD"),
        (folder / ".git" / "index").read_bytes(),
        git(folder, "for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
        files,
    )


async def test_a_commit_holds_all_files_that_are_not_ignored_byte_for_byte_and_touches_nothing_else(bench, repo):
    before = state_of(repo)
    taken = await take(bench, "s1/r0.v1.a1.act")
    assert state_of(repo) == before
    assert taken.changed is None
    assert taken.notice == ""
    assert git(repo, "rev-parse", taken.ref) == taken.id
    assert taken.ref.startswith("refs/replan/r/s1-r0-v1-a1-act-")
    assert git(repo, "rev-parse", f"{taken.id}^") == git(repo, "rev-parse", "HEAD")
    files = git(repo, "ls-tree", "-r", "--name-only", taken.id).splitlines()
    assert files == [".gitignore", "new", "src/a.py", "staged", "tracked_too"]
    blob = git(repo, "rev-parse", f"{taken.id}:src/a.py")
    assert blob == git(repo, "hash-object", "--stdin", "--no-filters", input="two\r\n")
    assert git(repo, "log", "-1", "--format=%an|%s", taken.id) == "Replan|s1/r0.v1.a1.act"
    assert git(repo, "fsck", "--strict") == ""


async def test_the_paths_that_changed_between_two_snapshots_are_listed(bench, repo):
    first = await take(bench)
    (repo / "src" / "a.py").write_text("three")
    (repo / "new").unlink()
    (repo / "folder" / "deep").mkdir(parents=True)
    (repo / "folder" / "deep" / "é").write_text("x")
    (repo / "tracked_too").write_text("y")
    (repo / "ignored").write_text("y")
    second = await take(bench, "s2", first.id)
    assert second.changed == ("folder/deep/é", "new", "src/a.py", "tracked_too")
    assert git(repo, "rev-parse", f"{second.id}^") == first.id
    third = await take(bench, "s3", second.id)
    assert third.changed == ()


async def test_a_file_that_became_a_folder_or_a_link_is_a_change(bench, repo):
    first = await take(bench)
    (repo / "new").unlink()
    (repo / "new").mkdir()
    (repo / "new" / "inner").write_text("x")
    (repo / "src" / "a.py").unlink()
    (repo / "src").rmdir()
    (repo / "src").symlink_to("/etc")
    second = await take(bench, "s2", first.id)
    assert second.changed == ("new", "new/inner", "src", "src/a.py")
    assert git(repo, "cat-file", "-p", f"{second.id}:src") == "/etc"


COMMANDS = (
    *("filter.evil.smudge", "merge.evil.driver", "uploadpack.packObjectsHook", "core.gitProxy", "core.askPass"),
    *("credential.helper", "trailer.x.command", "trailer.x.cmd", "alias.ls-files", "alias.rev-parse"),
    *("alias.update-index", "gpg.ssh.program", "interactive.diffFilter", "sequence.editor", "init.templateDir"),
)
"""Other settings of a repository that name a program, or a folder of programs."""


def partial_clone(marker):
    return {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {marker}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }


async def test_nothing_of_the_repository_is_run(bench, repo):
    """Hooks, filters, monitors and commands in the configuration, as a tool in a sandbox could have written them."""
    marker = bench.folder / "it_ran"
    command = f"touch {marker}; cat"
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in (
        *("reference-transaction", "post-index-change", "pre-commit", "post-commit", "pre-auto-gc", "post-checkout"),
        "fsmonitor-watchman",
    ):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / hook).chmod(0o755)
    (repo / ".gitattributes").write_text("* filter=evil diff=evil ident working-tree-encoding=UTF-16\n")
    for key, value in {
        "filter.evil.clean": command,
        "filter.evil.process": command,
        "filter.evil.required": "true",
        "diff.evil.textconv": command,
        "diff.evil.command": command,
        "diff.external": command,
        "core.fsmonitor": command,
        "core.hooksPath": str(hooks),
        "core.editor": command,
        "core.pager": command,
        "core.sshCommand": command,
        "core.alternateRefsCommand": command,
        "commit.gpgSign": "true",
        "gpg.program": command,
        "core.autocrlf": "true",
        "hook.evil.command": command,
        "hook.evil.event": "reference-transaction",
        **dict.fromkeys(COMMANDS, command),
        **partial_clone(marker),
        "remote.origin.uploadpack": command,
        "trace2.eventTarget": str(marker),
    }.items():
        git(repo, "config", key, value)
    nested = repo / "nested"
    nested.mkdir()
    marker.unlink(missing_ok=True)
    git(bench.folder, "init", "-q", str(nested))
    with (nested / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "{command}"\n')
    first = await take(bench)
    (repo / "src" / "a.py").write_bytes(b"three\r\n")
    second = await take(bench, "s2", first.id)
    assert (second.notice, second.changed, second.left_out) == ("", ("src/a.py",), ("nested/",))
    assert not marker.exists()
    assert git(repo, "cat-file", "-s", f"{second.id}:src/a.py") == str(len(b"three\r\n"))


async def test_a_ref_is_never_written_through_a_link(bench, repo):
    outside = bench.folder / "outside"
    outside.mkdir()
    (repo / ".git" / "refs" / "replan").symlink_to(outside)
    taken = await take(bench)
    assert taken.notice.startswith("no commit was made: the ref cannot be written: ")
    assert taken.id.startswith("listing:")
    assert list(outside.iterdir()) == []


async def test_objects_that_are_missing_are_not_fetched(bench, repo):
    """A tool makes the repository a partial clone whose other side is a command, and removes objects."""
    marker = bench.folder / "it_ran"
    await take(bench)
    for key, value in partial_clone(marker).items():
        git(repo, "config", key, value)
    for folder in (repo / ".git" / "objects").glob("??"):
        shutil.rmtree(folder)
    (repo / "new").write_text("another")
    taken = await take(bench, "s2")
    assert taken.id
    assert not marker.exists()


def other_repository(bench, repo, place):
    """Let a tool put another repository, or its objects, in place of the workspace's, and return the other one."""
    other = bench.folder / "other"
    other.mkdir()
    git(other, "init", "-q")
    objects = repo / ".git" / "objects"
    if place == "the folder":
        (repo / ".git").rename(bench.folder / "kept")
        (repo / ".git").write_text(f"gitdir: {other / '.git'}\n")
    elif place == "the common folder":
        (repo / ".git" / "commondir").write_text(f"{other / '.git'}\n")
    elif place == "the objects":
        shutil.copytree(objects, other / ".git" / "objects", dirs_exist_ok=True)
        objects.rename(bench.folder / "kept")
        objects.symlink_to(other / ".git" / "objects")
    else:
        for name in {f"{number:02x}" for number in range(256)} - {each.name for each in objects.iterdir()}:
            (other / ".git" / "objects" / name).mkdir()
            (objects / name).symlink_to(other / ".git" / "objects" / name)
    return other


@pytest.mark.parametrize("place", ["the folder", "the common folder", "the objects", "a folder of objects"])
async def test_no_object_is_written_into_another_repository_that_a_tool_has_put_in_place(bench, repo, place):
    first = await take(bench)
    other = other_repository(bench, repo, place)
    before = sorted(other.rglob("*"))
    (repo / "secret").write_text("secret")
    taken = await take(bench, "s2", first.id)
    assert (
        taken.notice
        == "no commit was made: the git repository of the workspace is not the same as at the start of the run"
    )
    assert sorted(other.rglob("*")) == before


@pytest.mark.parametrize("name", [".gitignore", ".git/config", ".git/info/exclude"])
async def test_a_pipe_in_the_place_of_a_file_that_git_reads_is_refused_at_once(bench, repo, name):
    (repo / name).unlink(missing_ok=True)
    os.mkfifo(repo / name)
    taken = await take(bench)
    assert taken.notice == f"no commit was made: {name} is not a regular file"


WAITS = {
    "a list of ignored files": ("src/.gitignore", "", "ls-files"),
    "an included configuration": ("pipe", "[include]\n\tpath = ../pipe\n", "rev-parse"),
}


@pytest.mark.parametrize("name", WAITS)
async def test_a_repository_that_makes_git_wait_costs_one_time_limit_for_all_commands(bench, repo, monkeypatch, name):
    pipe, settings, command = WAITS[name]
    monkeypatch.setattr(repository, "SECONDS", 0.5)
    os.mkfifo(repo / pipe)
    with (repo / ".git" / "config").open("a") as config:
        config.write(settings)
    taken = await take(bench)
    assert taken.notice == f"no commit was made: git took longer than 0.5 s, the last command was {command}"
    assert taken.id.startswith("listing:")


async def test_large_and_special_files_are_left_out_and_named(bench, repo, monkeypatch):
    monkeypatch.setattr(repository, "FILE_BYTES_MAX", 100)
    (repo / "large").write_text("x" * 101)
    os.mkfifo(repo / "pipe")
    taken = await take(bench)
    assert "large" in taken.left_out
    assert "large" not in git(repo, "ls-tree", "-r", "--name-only", taken.id)


async def test_a_user_may_keep_the_objects_elsewhere(bench, repo):
    elsewhere = bench.folder / "elsewhere"
    (repo / ".git" / "objects").rename(elsewhere)
    (repo / ".git" / "objects").symlink_to(elsewhere)
    first = await take(bench)
    (repo / "new").write_text("another")
    second = await take(bench, "s2", first.id)
    assert (second.notice, second.changed) == ("", ("new",))


async def test_objects_that_were_removed_as_unused_are_written_again(bench, repo):
    first = await take(bench)
    git(repo, "update-ref", "-d", first.ref)
    git(repo, "gc", "-q", "--prune=now")
    second = await take(bench, "s2")
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    assert git(repo, "cat-file", "-p", f"{second.id}:new") == "new"


async def test_what_a_killed_git_has_left_does_not_hold_up_the_next_snapshot(bench, repo):
    first = await take(bench)
    [index] = (bench.home / "workspaces").glob("*.git/snapshot.index")
    index.with_name("snapshot.index.lock").write_text("")
    (repo / "new").write_text("newer")
    second = await take(bench, "s2", first.id)
    assert (second.notice, second.changed) == ("", ("new",))
    index.write_bytes(b"damaged")
    third = await take(bench, "s3", second.id)
    assert (third.notice, third.changed) == ("", ())


async def test_a_repository_whose_path_has_a_line_end_has_a_listing(bench):
    bench.workspace = bench.folder / "a\nb"
    bench.workspace.mkdir()
    git(bench.workspace, "init", "-q")
    taken = await take(bench)
    assert taken.notice == "no commit was made: the repository's path contains a line break"


async def test_a_repository_without_a_commit_and_a_linked_work_tree_have_snapshots_too(bench):
    git(bench.workspace, "init", "-q")
    (bench.workspace / "a").write_text("x")
    assert (await take(bench)).ref
    other = bench.folder / "main"
    other.mkdir()
    git(other, "init", "-q")
    (other / "a").write_text("x")
    git(other, "add", "a")
    git(other, "commit", "-qm", "first")
    git(other, "worktree", "add", "-q", str(bench.folder / "tree"))
    bench.workspace = bench.folder / "tree"
    taken = await take(bench)
    assert git(other, "rev-parse", taken.ref) == taken.id


async def test_without_git_or_in_a_folder_below_a_repository_a_listing_takes_its_place(bench, monkeypatch):
    git(bench.folder, "init", "-q")
    taken = await take(bench)
    assert (taken.id[:8], taken.ref, taken.notice) == ("listing:", "", "")
    git(bench.workspace, "init", "-q")
    monkeypatch.setattr(repository.shutil, "which", lambda program: None)
    taken = await take(bench)
    assert taken.notice == "no commit was made: git is not installed"


async def test_a_listing_tells_what_changed(bench):
    folder = bench.workspace
    (folder / "sub").mkdir()
    for name in ("same", "content", "mode", "gone", "sub/moved"):
        (folder / name).write_text("x")
    (folder / "link").symlink_to("same")
    os.mkfifo(folder / "pipe")
    first = await take(bench)
    stamp = (folder / "content").stat()
    (folder / "content").write_text("y")
    os.utime(folder / "content", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (folder / "same").touch()
    (folder / "mode").chmod(0o755)
    (folder / "gone").unlink()
    (folder / "sub").rename(folder / "other")
    (folder / "link").unlink()
    (folder / "link").symlink_to("content")
    second = await take(bench, "s2", first.id)
    assert second.changed == ("content", "gone", "link", "mode", "other/moved", "sub/moved")
    assert (await take(bench, "s3", second.id)).changed == ()


async def test_too_many_files_are_a_notice_and_not_a_hang(bench, monkeypatch):
    monkeypatch.setattr(listing, "FILES_MAX", 3)
    for number in range(5):
        (bench.workspace / str(number)).touch()
    taken = await take(bench)
    assert taken == WorkspaceSnapshot(id="", notice="the changes are not known: the folder has more than 3 files")
    monkeypatch.setattr(listing, "FILES_MAX", 100)
    (bench.workspace / ("a/" * 70)).mkdir(parents=True)
    assert (await take(bench)).notice == "the changes are not known: the folders are nested more than 64 deep"


async def test_a_listing_that_is_not_kept_any_more_is_a_notice(bench, monkeypatch):
    monkeypatch.setattr(listing, "KEPT", 1)
    first = await take(bench)
    (bench.workspace / "a").touch()
    await take(bench, "s2", first.id)
    third = await take(bench, "s3", first.id)
    assert (third.changed, third.notice) == (None, "the snapshot to compare with no longer exists")
    for bad in ("listing:../../x", "--output=x", "HEAD"):
        assert (await take(bench, "s4", bad)).changed is None


def test_a_ref_is_made_of_fit_parts_that_differ_where_the_names_do():
    assert ref_of("20261123-abc", "s1") == "refs/replan/20261123-abc/s1"
    names = ["s1/r0", "s1 r0", "..", "a.lock", "@{x", "é", "-x", "x" * 200, "x" * 201, ""]
    refs = [ref_of("r", name) for name in names]
    assert len(set(refs)) == len(names)
    for ref in refs:
        assert subprocess.run(["git", "check-ref-format", ref], check=False).returncode == 0, ref


def test_paths_that_were_touched_are_found_by_folder_and_by_name():
    changed = ["src/a.py", "src2/b", "docs"]
    assert touched_paths(changed, ["src/", "./docs"]) == ("docs", "src/a.py")
    assert touched_paths(changed, ["src/a"]) == ()


def test_a_list_of_paths_is_cut_at_its_limit_with_the_number_of_the_others():
    paths, more = cut_paths([f"{number:05}{'x' * 100}" for number in range(10_000)])
    assert len(paths) + more == 10_000
    assert len(json.dumps(paths)) <= 210_000
