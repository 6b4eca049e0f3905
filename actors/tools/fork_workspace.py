"""The workspace of a fork: a new folder with the files of a snapshot of the run that was forked.

If the snapshot is a commit, a git worktree is made, without hooks and filters. If the workspace of the forked run is
not a git repository, its snapshots have only hashes. In this case, the folder is copied, if it has not changed since
the snapshot. The workspace of the forked run is never changed. When the fork is deleted, its folder is removed too,
unless the folder has changed since the fork's last snapshot.
"""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from actors.tools.listing import (
    PREFIX,
    TooManyFiles,
    copy_listings,
    find_listing,
    forget_listings,
    id_of,
    keep,
    take_listing,
)
from actors.tools.repository import GitFailed, TimeLimit, find_noted_repository, find_repository
from actors.tools.workspace import WorkspaceLock, check_workspace, ensure_free, in_use_problem
from runtime.core.errors import UsageProblem

SECONDS = 120.0
"""The time limit, in seconds, for all git commands together that make or remove the worktree of a fork."""
ANOTHER = "name another folder with --workspace"


def make_workspace(source: Path, snapshot: str, target: Path, home: Path, run: str) -> None:
    """Make the workspace of a fork in a folder that `free_folder` has returned.

    `snapshot` is the id of a snapshot of `source`, the workspace of the run that was forked. `run` is the id of the
    fork.

    Raises `UsageProblem` if the files of the snapshot cannot be restored. If `source` is not a git repository, it must
    not have changed since the snapshot, and no run may work in it. After an error, everything that this function has
    made is removed.
    """
    try:
        if snapshot.startswith(PREFIX):
            _copy_folder(source, snapshot, target, home)
        else:
            _add_worktree(source, snapshot, target, home, run)
        check_workspace(target, home)
    except BaseException:
        remove_workspace(source, snapshot, target, home)
        raise


def remove_workspace(source: Path, snapshot: str, target: Path, home: Path) -> None:
    """Remove everything that a call of `make_workspace` has made. The call may have failed."""
    if not snapshot.startswith(PREFIX):
        with suppress(GitFailed, OSError):
            repository = find_noted_repository(source, home, TimeLimit(SECONDS))
            repository.theirs.run("worktree", "remove", "--force", str(target))
    shutil.rmtree(target, ignore_errors=True)


def free_folder(target: Path, home: Path) -> Path:
    """Return the absolute path of a folder that can be made.

    Raises `UsageProblem` if the folder exists or cannot be made.
    """
    try:
        above = target.expanduser().absolute().parent.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise UsageProblem("the folder above this path does not exist", place=str(target), hint=ANOTHER) from None
    folder = above / target.name
    if os.path.lexists(folder):
        hint = "with --workspace, name a folder that does not exist yet"
        raise UsageProblem("this path already exists", place=str(folder), hint=hint)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise UsageProblem("you have no permission to make a folder here", place=str(folder), hint=ANOTHER)
    if folder.is_relative_to(home.resolve()):
        raise UsageProblem("this folder is in Replan's home", place=str(folder), hint=ANOTHER)
    return folder


def _add_worktree(source: Path, commit: str, target: Path, home: Path, run: str) -> None:
    """Make a worktree of a commit, on no branch. The files have exactly the bytes of the snapshot."""
    try:
        repository = find_noted_repository(source, home, TimeLimit(SECONDS))
        repository.theirs.run("rev-parse", "-q", "--verify", f"{commit}^{{commit}}")
        repository.theirs.run("worktree", "add", "-q", "--no-checkout", "--detach", str(target), commit)
        own = find_repository(target, home, (), run=run, first=True, limit=repository.theirs.limit)
        assert own is not None, "git has made a worktree here"
        own.index.unlink(missing_ok=True)
        own.ours.run("read-tree", commit)
        own.ours.run("checkout-index", "-q", "-a", "-u")
        own.theirs.run("read-tree", commit)
    except (GitFailed, OSError) as error:
        hint = f"`git worktree list` in {source} lists the worktrees"
        raise UsageProblem(f"git cannot make a worktree: {error}", place=str(target), hint=hint) from None


def _copy_folder(source: Path, snapshot: str, target: Path, home: Path) -> None:
    """Copy a folder that has not changed since the snapshot. Files and folders with the name `.git` are left out."""
    ensure_free(source, home)
    if _list_folder(source) != snapshot:
        cause = "the workspace is not a git repository, and has changed since the record at which you fork"
        raise UsageProblem(cause, place=str(source), hint="fork at a record after the last change")
    try:
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except (OSError, shutil.Error) as error:
        cause = getattr(error, "strerror", None) or "some files cannot be read"
        raise UsageProblem(f"the workspace cannot be copied: {cause.lower()}", place=str(target)) from None
    if _list_folder(target, home) != snapshot:
        raise UsageProblem(
            "the workspace has changed while it was copied", place=str(source), hint="fork the run again"
        )
    copy_listings(source, target, home)


def _list_folder(folder: Path, home: Path | None = None) -> str:
    """Return the id of a listing of a folder's files. With `home`, the listing is stored in this home."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise UsageProblem(f"the workspace cannot be read: {cause}", place=str(folder)) from None
    try:
        listing = take_listing(handle, {})
    except (OSError, TooManyFiles) as error:
        raise UsageProblem(f"the workspace cannot be listed: {error}", place=str(folder)) from None
    finally:
        os.close(handle)
    return id_of(listing) if home is None else keep(listing, folder, home)


@dataclass(frozen=True, slots=True)
class LeftFolder:
    """Whether the folder of a deleted fork was removed or kept."""

    folder: str
    kept: str = ""
    """Why the folder was kept, as a clause; empty if it was removed."""
    ref: str = ""
    """The new ref that keeps the commit of the folder's HEAD; empty without a commit, or if another ref keeps it."""


def clear_workspace(folder: Path, snapshot: str, home: Path, run: str) -> LeftFolder | None:
    """Remove the folder that `make_workspace` has made for a fork, unless it has changed since the last snapshot.

    `snapshot` is the id of the last snapshot in the fork's records. `run` is the id of the fork. The folder is also
    kept if this home did not make it, or if it cannot be removed. Return None if the folder does not exist.
    """
    if not os.path.lexists(folder):
        return None
    lock = WorkspaceLock(folder, home)
    try:
        check_workspace(folder, home)
        if holder := lock.take(run):
            raise in_use_problem(folder, holder)
        if snapshot.startswith(PREFIX):
            cause, ref = _remove_copy(folder, snapshot, home), ""
        else:
            cause, ref = _remove_worktree(folder, snapshot, home, run)
    except UsageProblem as problem:
        return LeftFolder(str(folder), problem.cause)
    except (GitFailed, OSError) as error:
        return LeftFolder(str(folder), (getattr(error, "strerror", None) or str(error)).lower())
    finally:
        lock.release()
    return LeftFolder(str(folder), cause, ref)


def _remove_worktree(folder: Path, commit: str, home: Path, run: str) -> tuple[str, str]:
    """Remove a worktree.

    Return why the worktree is kept (empty if it was removed), and the new ref for its HEAD (may be empty).
    """
    repository = find_noted_repository(folder, home, TimeLimit(SECONDS))
    if repository.note.read_text(encoding="utf-8", errors="surrogateescape").partition("\n")[0] != run:
        return "another run has worked in the folder", ""
    changed = repository.find_changes(commit)
    if changed:
        return _describe_changes(min(changed)), ""
    ref = repository.keep_head(run)
    repository.remove_worktree()
    return "", ref


def _remove_copy(folder: Path, snapshot: str, home: Path) -> str:
    """Remove a copied folder. Return why the folder is kept; empty if it was removed."""
    if find_listing(snapshot, folder, home) is None:
        return "this home has no record that it made the folder"
    if _list_folder(folder) != snapshot:
        return _describe_changes()
    for above, folders, files in os.walk(folder):
        if ".git" in (*folders, *files):  # Listings and forks leave `.git` out.
            return _describe_changes(os.path.join(os.path.relpath(above, folder), ".git"))  # noqa: PTH118 - as `os.walk`
    shutil.rmtree(folder)
    forget_listings(folder, home)
    return ""


def _describe_changes(path: str = "") -> str:
    at = f", for instance {path}" if path else ""
    return f"it has changes since the last snapshot of the run{at}"
