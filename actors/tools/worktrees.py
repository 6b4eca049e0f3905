"""Worktrees for single calls. A worktree has the files of a commit in a folder of the home, with its own repository.

This repository reads the objects of the workspace's repository (git alternates). The two repositories share nothing
else. If a program changes branches, hooks or the configuration there, these changes are lost when the folder is
deleted. Replan reads only the files of a worktree.
"""

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trio

from actors.handlers.tools import Prepare, PreparedCall, Tool
from actors.run.tools import ToolOutcome
from actors.tools.agent_work import (
    GIT_SECONDS,
    LINK,
    AgentWork,
    TreeChange,
    changes_in,
    list_paths,
    refusal,
)
from actors.tools.command_calls import CallRefused, RefusedCall, system_refusal
from actors.tools.repository import (
    Git,
    GitFailed,
    GitTimedOut,
    Repository,
    TimeLimit,
    decode_path,
    find_noted_repository,
)
from actors.tools.snapshot_texts import ref_of
from actors.tools.workspace import Workspace
from runtime.core.errors import UsageProblem
from runtime.logs.redact import Redactor

GIT_VERSION = (2, 38)
"""The first release of git that can merge trees without a working tree."""
CONTENT_BYTES_MAX = 32 * 1024 * 1024
"""The largest number of bytes in all changed files of a worktree together. The old and the new content of each file
count."""
RAW = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
"""The git command, with its options, that lists the paths that differ between two trees."""


def check_git(workspace: Path, agent: str) -> None:
    """Raise `UsageProblem` if git cannot make a worktree of a workspace, or cannot merge an agent's work."""
    place = str(workspace)
    if not os.path.lexists(workspace / ".git"):
        hint = "run `git init` there, or name another folder with --workspace"
        raise UsageProblem(f"the agent {agent!r} needs the top folder of a git repository", place=place, hint=hint)
    program = shutil.which("git")
    git = Git(program or "git", workspace.absolute(), {}, TimeLimit())
    version = "" if program is None else git.text("version")
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or tuple(map(int, found.groups())) < GIT_VERSION:
        least = ".".join(map(str, GIT_VERSION))
        cause = f"the agent {agent!r} needs git {least} or newer"
        found_version = f"this machine has {version}" if version else "git is not installed"
        raise UsageProblem(f"{cause}, but {found_version}", place=place, hint=f"install git {least} or newer")
    try:
        git.run("rev-parse", "--git-dir")
    except GitFailed as error:
        cause = f"the agent {agent!r} needs a git repository, but git cannot use this repository: {error}"
        raise UsageProblem(cause, place=place, hint="run `git status` there, or name another folder") from None


def worktree_folder(home: Path, run: str, name: str) -> Path:
    """Return the folder of the worktree `name` of the run `run`."""
    return home / "worktrees" / Path(*ref_of(run, name).split("/")[2:])


def temporary_folder(folder: Path) -> Path:
    """Return the folder for temporary files of the program in a worktree. The folder is removed with the worktree."""
    return folder.with_name(f"{folder.name}.tmp")


def remove_worktree(folder: Path) -> None:
    """Remove a worktree, if it exists. Raises `OSError`. The worktree is renamed first.

    So if the driver is killed before the end, the rest of the worktree is never recorded as work.
    """
    index, renamed = _index_of(folder), folder.with_name(f"{folder.name}.gone")
    for file in (index, index.with_name(f"{index.name}.lock")):
        file.unlink(missing_ok=True)
    _remove_folder(renamed)
    if os.path.lexists(folder):
        folder.rename(renamed)
    for item in (renamed, temporary_folder(folder)):
        _remove_folder(item)


def _remove_folder(folder: Path) -> None:
    if os.path.lexists(folder):
        _make_writable(folder)
        shutil.rmtree(folder)


def _make_writable(folder: Path) -> None:
    """Make a folder and all folders below it writable, because a program may have removed the permission to write."""
    folder.chmod(0o700)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _make_writable(Path(entry.path))


def left_worktrees(home: Path, run: str, *, but: Collection[str] = ()) -> set[Path]:
    """Return the folders of a run's worktrees, except the worktrees whose names are in `but`. Raises `OSError`."""
    above = worktree_folder(home, run, "all").parent
    # A worktree's index and temporary files are beside it. No name of a worktree has a dot.
    found = {above / item.name.partition(".")[0] for item in above.iterdir()} if above.is_dir() else set()
    return found - {worktree_folder(home, run, name) for name in but}


def remove_worktrees(home: Path, run: str, *, kept: Collection[str] = ()) -> None:
    """Remove the worktrees that a run's killed drivers have left, except those whose names are in `kept`.

    Raises `OSError`.
    """
    for folder in left_worktrees(home, run, but=kept):
        remove_worktree(folder)
    with suppress(OSError):  # It may have a kept worktree, or be missing.
        worktree_folder(home, run, "all").parent.rmdir()


def make_worktree(workspace: Workspace, commit: str, folder: Path) -> None:
    """Make a worktree in a folder, with the files of a commit of the workspace's repository.

    Files that an earlier worktree has left in the folder are removed first. Raises `GitFailed` and `OSError`. After an
    error, the folder is removed.
    """
    repository = find_noted_repository(workspace.folder, workspace.home, TimeLimit(GIT_SECONDS))
    remove_worktree(folder)
    folder.mkdir(parents=True, mode=0o700)
    temporary_folder(folder).mkdir(mode=0o700)
    try:
        _fill(repository, commit, folder)
    except BaseException:
        remove_worktree(folder)
        raise


def _fill(repository: Repository, commit: str, folder: Path) -> None:
    form = repository.theirs.text("rev-parse", "--show-object-format")
    inside = Git(repository.ours.program, folder, {}, repository.ours.limit)
    inside.run("init", "-q", "--template=", "--initial-branch=work", f"--object-format={form}")
    borrowed = folder / ".git" / "objects" / "info" / "alternates"
    borrowed.parent.mkdir(exist_ok=True)
    borrowed.write_bytes(os.fsencode(repository.common / "objects") + b"\n")
    if (shallow := repository.common / "shallow").is_file():
        shutil.copyfile(shallow, folder / ".git" / "shallow")
    inside.run("update-ref", "HEAD", commit)
    inside.run("read-tree", commit)
    own = _repository_in(repository, folder)
    own.ours.run("read-tree", commit)
    own.ours.run("checkout-index", "-q", "-a", "-u")


def _index_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.index")


def _repository_in(repository: Repository, folder: Path) -> Repository:
    """Return the workspace's repository, with the files of a worktree. The worktree's own `.git` is not read."""
    index = _index_of(folder)
    own = {**repository.ours.own, "GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(index)}
    git = replace(repository.ours, workspace=folder, own=own)
    return replace(repository, workspace=folder, theirs=git, ours=git, index=index)


def commit_worktree(repository: Repository, folder: Path, base: str, run: str, name: str) -> list[str]:
    """Record the files of a worktree as a commit with the parent `base`, and write a ref.

    Return the paths that the commit does not contain. Raises `GitFailed`, `OSError`.
    """
    own = _repository_in(repository, folder)
    own.index.unlink(missing_ok=True)
    own.ours.run("read-tree", base)  # So even ignored files of the base are compared.
    return own.commit(run, name, base)[2]


@dataclass(frozen=True, slots=True)
class DiffRecorder:
    """The function that does the work of `worktree:diff`."""

    redactor: Redactor

    def __call__(self, workspace: Workspace, arguments: Mapping[str, Any]) -> str:
        """Record the work of an agent, and remove its worktree. Return an `AgentWork` as JSON. Raises `CallRefused`."""
        name, base = str(arguments["name"]), str(arguments["base"])
        folder = worktree_folder(workspace.home, workspace.run, name)
        with refuse_git_errors("the agent's work cannot be recorded"):
            limit = TimeLimit(GIT_SECONDS)
            repository = find_noted_repository(workspace.folder, workspace.home, limit)
            if folder.is_dir():
                left_out = commit_worktree(repository, folder, base, workspace.run, f"{name}.work")
                with suppress(OSError):  # A process that the agent started may still write; the next driver removes it.
                    remove_worktree(folder)
                if left_out:
                    what = "a nested repository, or a file that is too large or not regular"
                    why = f"the agent's work is refused: {what}: {list_paths(sorted(left_out))}"
                    raise CallRefused(ToolOutcome.FAILED, why)
            commit = repository.commit_at(workspace.run, f"{name}.work")
            if not commit or repository.parents(commit) != [base]:
                raise CallRefused(
                    ToolOutcome.FAILED,
                    "the worktree with the agent's work is missing in this run; a fork does not copy it",
                )
            return self._work(repository, base, commit, int(arguments["files_max"]), int(arguments["diff_bytes_max"]))

    def _work(self, repository: Repository, base: str, commit: str, files_max: int, bytes_max: int) -> str:
        changes = changes_in(repository.ours.run(*RAW, base, commit))
        links = [change for change in changes if change.new_mode == LINK]
        read = contents(repository, [link.new for link in links])
        targets = dict(zip((link.path for link in links), read, strict=True))
        problem = refusal(changes, targets, files_max)
        diff = ""
        if _sizes(repository, changes) > CONTENT_BYTES_MAX:
            problem = problem or f"the changed files have more than {CONTENT_BYTES_MAX:,} bytes"
        else:
            data = repository.ours.run("diff-tree", "-p", "--binary", *RAW[5:], "--no-textconv", base, commit)
            if len(data) > bytes_max:
                problem = (
                    problem or f"its diff has {len(data):,} bytes, over the limit of {bytes_max:,} (max_diff_bytes)"
                )
            # Secrets are removed before the diff is cut, so no part of a secret is left.
            shown_diff = self.redactor.text(data.decode(errors="replace"))
            diff = shown_diff.encode()[:bytes_max].decode(errors="ignore")
        if problem:
            raise CallRefused(ToolOutcome.FAILED, f"the agent's work is refused: {problem}", diff)
        files = tuple(sorted(decode_path(change.path) for change in changes))
        return AgentWork(base=base, commit=commit, files=files, diff=diff).model_dump_json()


def contents(repository: Repository, ids: list[str]) -> list[bytes]:
    """Return the contents of the git objects with the given ids. Raises `GitFailed`."""
    output = repository.ours.run("cat-file", "--batch", given="".join(f"{item}\n" for item in ids).encode())
    found, place = [], 0
    for name in ids:
        end = output.index(b"\n", place)
        words = output[place:end].split()
        if words[1:2] != [b"blob"]:
            raise GitFailed(f"the repository has no object {name}")
        found.append(output[end + 1 : end + 1 + int(words[2])])
        place = end + 2 + int(words[2])
    return found


def _sizes(repository: Repository, changes: tuple[TreeChange, ...]) -> int:
    names = {name for change in changes for name in (change.old, change.new) if name.strip("0")}
    given = "".join(f"{name}\n" for name in sorted(names)).encode()
    output = repository.ours.run("cat-file", "--batch-check=%(objectsize)", given=given)
    return sum(int(line) for line in output.split(b"\n") if line.isdigit())


@contextmanager
def refuse_git_errors(doing: str) -> Iterator[None]:
    """Turn errors of git and of the system into refusals of a call.

    The reason of the refusal begins with the clause `doing`.

    Raises `CallRefused`. The refusal is transient if a time limit was exceeded or the system error may be temporary.
    Otherwise, the refusal is permanent.
    """
    try:
        yield
    except GitTimedOut as error:
        raise CallRefused(ToolOutcome.TRANSIENT, f"{doing}: {error}") from None
    except GitFailed as error:
        raise CallRefused(ToolOutcome.PERMANENT, f"{doing}: {error}") from None
    except OSError as error:
        raise system_refusal(error, doing) from None


def prepare_at_commit(workspace: Workspace, opened: Callable[[Workspace], Tool]) -> Callable[[str], Prepare]:
    """Return a function from a commit to the function `prepare` of a tool whose calls work on the commit's files.

    Each call has its own worktree, which is removed afterwards. `opened` returns the tool for a workspace.
    """

    def prepare_at(commit: str) -> Prepare:
        folder = worktree_folder(workspace.home, workspace.run, f"check-{commit[:16]}")

        @asynccontextmanager
        async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
            try:
                with refuse_git_errors("the files of the agent's work cannot be written to a worktree"):
                    await trio.to_thread.run_sync(make_worktree, workspace, commit, folder)
                    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except CallRefused as refused:
                yield RefusedCall(refused.result)
                return
            try:
                checkout = replace(workspace, folder=folder, handle=handle, writing=trio.Lock())
                async with opened(checkout).prepare(arguments) as call:
                    yield call
            finally:
                os.close(handle)
                with trio.CancelScope(shield=True), suppress(OSError):  # A process of the call may still write.
                    await trio.to_thread.run_sync(remove_worktree, folder)

        return prepare

    return prepare_at
