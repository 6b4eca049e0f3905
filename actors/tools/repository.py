"""Snapshots of a workspace that is a git repository. A snapshot is a commit under `refs/replan/`.

A snapshot changes neither HEAD nor the index, the branches or the files. Contents are stored byte for byte, without
filters and without conversion of line ends. Ignored files, nested repositories, devices and very large files are left
out.

Tools may write everything in a workspace, even the repository's configuration. So git runs with Replan's own repository
in the home. This repository uses the objects of the workspace's repository. git never calls hooks, filters or monitors.
"""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from actors.tools.confined import OutOfBounds, write_inside
from actors.tools.snapshot_texts import ref_of
from actors.tools.workspace import key_of

SECONDS = 10.0
"""The time limit, in seconds, for all git commands of a snapshot together. Without this limit, a repository can make
git wait, for example for a pipe.
"""
OUTPUT_BYTES_MAX = 64 * 1024 * 1024
"""The largest number of bytes that a git command may print."""
_HARMLESS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.logAllRefUpdates": "false",
    "safe.bareRepository": "explicit",
    "protocol.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_SETTINGS = [word for key, value in _HARMLESS.items() for word in ("-c", f"{key}={value}")]


class GitFailed(Exception):
    """A command of git has failed. The message of the exception is the cause, in one line."""


class GitTimedOut(GitFailed):
    """The commands of a snapshot together took too long. Another try would probably take as long."""


class TimeLimit:
    """The time limit for all commands of one snapshot together. The time begins when this object is made."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = SECONDS if seconds is None else seconds
        self._end = time.monotonic() + self.seconds

    @property
    def seconds_left(self) -> float:
        """The remaining seconds, at least zero."""
        return max(0.0, self._end - time.monotonic())


@dataclass(frozen=True, slots=True)
class Git:
    """The git program, run in a workspace with an environment that Replan sets."""

    program: str
    workspace: Path
    own: Mapping[str, str]
    """The variables that name the repository, its objects, the index, and the folder of files."""
    limit: TimeLimit
    inherited: tuple[int, ...] = ()
    """The open file of the workspace's lock. git inherits it, so that git counts as work in the workspace."""

    def run(self, *arguments: str, given: bytes = b"", accepted: tuple[int, ...] = (0,)) -> bytes:
        """Run a command with `given` as its input, and return its output. Raises `GitFailed`, `GitTimedOut`.

        `accepted` has the exit codes that are not failures.
        """
        try:
            done = subprocess.run(  # noqa: S603 - a list of words, of which none comes from a plan
                [self.program, *_SETTINGS, *arguments],
                input=given,
                capture_output=True,
                check=False,
                cwd=self.workspace,
                env=_environment(self.workspace, self.own),
                timeout=self.limit.seconds_left,
                start_new_session=True,
                pass_fds=self.inherited,
            )
        except subprocess.TimeoutExpired:
            raise GitTimedOut(
                f"git took longer than {self.limit.seconds:g} s, the last command was {arguments[0]}"
            ) from None
        except OSError as error:
            raise GitFailed(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
        if done.returncode not in accepted:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
            raise GitFailed(f"git {arguments[0]}: {lines[-1][:200]}")
        if len(done.stdout) > OUTPUT_BYTES_MAX:
            raise GitFailed(f"git {arguments[0]} prints more than {OUTPUT_BYTES_MAX:,} bytes")
        return done.stdout

    def text(self, *arguments: str) -> str:
        """Run a command and return its output as text, without white space at its ends. Raises `GitFailed`."""
        return self.run(*arguments).decode(errors="replace").strip()

    def paths(self, *arguments: str) -> set[bytes]:
        """Run a command that prints paths with a NUL after each path. Return the paths. Raises `GitFailed`."""
        return set(self.run(*arguments).split(b"\0")) - {b""}


def _join_with_nul(paths: Sequence[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _environment(workspace: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Return git's environment: no configuration of the user or the system, no network, no questions."""
    author = {"NAME": "Replan", "EMAIL": "replan@localhost"}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_CEILING_DIRECTORIES": str(workspace.parent),
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in author.items()},
        **own,
    }


FILES_MAX = 50_000
"""The largest number of files in a snapshot."""
FILE_BYTES_MAX = 16 * 1024 * 1024
"""The largest number of bytes in one file of a snapshot. Larger files are left out."""
TOTAL_BYTES_MAX = 1024 * 1024 * 1024
"""The largest number of bytes in all files of a snapshot together."""
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"


@dataclass(frozen=True, slots=True)
class Repository:
    """The git repository of a workspace."""

    workspace: Path
    common: Path
    """The folder of the repository's objects and refs."""
    theirs: Git
    """git with the workspace's own repository. Use it only for commands that read no files of the workspace."""
    ours: Git
    """git with Replan's repository in the home. This repository has the same objects, but its own index and
    configuration.
    """
    index: Path
    """The index in the home, which has the files of the last snapshot."""
    store: Path

    @property
    def note(self) -> Path:
        """The file in the home that names the latest run with a first snapshot, and the repository's folders."""
        return self.store.with_suffix(".repository")

    def commit(self, run: str, name: str, parent: str) -> tuple[str, str, list[str]]:
        """Record the files as a commit with a parent.

        Return the commit, its ref, and the paths that the commit does not contain.

        If `parent` is empty, HEAD is the parent. Raises `GitFailed`, `OSError`.
        """
        if parent and not re.fullmatch(r"[0-9a-f]{40,64}", parent):
            raise GitFailed("the snapshot to compare with is not a commit")
        try:
            tree, left_out = self._tree()
        except GitTimedOut:
            raise
        except GitFailed:  # The index in the home is damaged, or names objects that were removed as unused.
            self.index.unlink(missing_ok=True)
            tree, left_out = self._tree()
        if not parent:
            with suppress(GitFailed):  # A repository without a commit has no parent.
                parent = self.theirs.text("rev-parse", "-q", "--verify", "HEAD^{commit}")
        after = ("-p", parent) if parent else ()
        commit = self.ours.text("commit-tree", tree, *after, "-m", f"{name}\n\nReplan run {run}")
        return commit, self.write_ref(run, name, commit), left_out

    def write_ref(self, run: str, name: str, commit: str) -> str:
        """Write a run's ref that keeps a commit, and return the ref. Raises `GitFailed`, `OSError`."""
        ref = ref_of(run, name)
        handle = os.open(self.common, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            write_inside(handle, ref, f"{commit}\n".encode())
        except OutOfBounds as error:
            raise GitFailed(f"the ref cannot be written: {error}") from None
        finally:
            os.close(handle)
        return ref

    def find_changes(self, commit: str) -> set[str]:
        """Return the paths that differ from a commit, and the paths that a snapshot of the workspace would leave out.

        Raises `GitFailed`, `OSError`.
        """
        tree, left_out = self._tree()
        return self.changed(commit, tree) | {*left_out}

    def keep_head(self, run: str) -> str:
        """Make a ref that keeps the commit of HEAD, and return the ref; empty if another ref already keeps the commit.

        Raises `GitFailed`, `OSError`.
        """
        commit = self.theirs.text("rev-parse", "-q", "--verify", "HEAD^{commit}")
        if self.theirs.text("for-each-ref", "--count=1", f"--contains={commit}"):
            return ""
        return self.write_ref(run, "head", commit)

    def remove_worktree(self) -> None:
        """Remove the workspace, a git worktree, and the home's data about it. Raises `GitFailed`, `OSError`."""
        place = {"GIT_DIR": str(self.common)}
        git = Git(self.theirs.program, self.common, place, self.theirs.limit)
        git.run("worktree", "remove", "--force", str(self.workspace))
        self.note.unlink(missing_ok=True)
        shutil.rmtree(self.store, ignore_errors=True)

    def commit_at(self, run: str, name: str) -> str:
        """Return the commit that a ref of a run keeps; empty if there is no such ref. Raises `GitTimedOut`."""
        try:
            return self.theirs.text("rev-parse", "-q", "--verify", f"{ref_of(run, name)}^{{commit}}")
        except GitTimedOut:
            raise
        except GitFailed:  # The exit code is 1 if the ref is missing.
            return ""

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit. Raises `GitFailed`."""
        return self.ours.text("rev-list", "--parents", "--no-walk", commit).split()[1:]

    def changed(self, before: str, after: str) -> set[str]:
        """Return the paths that differ between two commits. Raises `GitFailed`."""
        paths = self.ours.paths("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", before, after)
        return {decode_path(path) for path in paths}

    def _tree(self) -> tuple[str, list[str]]:
        """Return the tree of the files, and the paths that the tree does not contain. Raises `GitFailed`, `OSError`."""
        left_out = self._fill_index()
        return self.ours.text("write-tree"), left_out

    def _fill_index(self) -> list[str]:
        """Update the index in the home from the files, and return the paths that are not added to the index."""
        # The workspace is locked, so any running git is ours. A file left here is from a killed git.
        self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)
        excludes = self.common / "info" / "exclude"
        excluded = [f"--exclude-from={excludes}"] if excludes.is_file() else []
        known = self.ours.paths("ls-files", "-z")
        other = self.ours.paths("ls-files", "-z", "-o", "--exclude-per-directory=.gitignore", *excluded)
        found = known | other | self.theirs.paths("ls-files", "-z")
        if len(found) > FILES_MAX:
            raise GitFailed(f"the workspace has more than {FILES_MAX:,} files")
        held, left_out, total = [], [], 0
        folders: dict[bytes, bool] = {}
        for path in sorted(found):
            size = _size(os.fsencode(self.workspace), path, folders)
            if size is None and path in known and _is_real(os.fsencode(self.workspace), path, folders):
                continue  # A folder has replaced the file.
            if size is None:
                left_out.append(decode_path(path))
            elif size >= 0:
                held.append(path)
                total += size
        if total > TOTAL_BYTES_MAX:
            raise GitFailed(f"the files of the workspace have more than {TOTAL_BYTES_MAX:,} bytes")
        removed = sorted(known - set(held))
        if removed:
            self.ours.run("update-index", "-z", "--force-remove", "--stdin", given=_join_with_nul(removed))
        self.ours.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=_join_with_nul(held))
        return left_out


def find_repository(
    workspace: Path,
    home: Path,
    inherited: tuple[int, ...],
    *,
    run: str,
    first: bool,
    limit: TimeLimit | None = None,
) -> Repository | None:
    """Return the repository whose top folder is the workspace; None for any other folder, even within a repository.

    `inherited` is the open file of the workspace's lock. At the `first` snapshot of a run, the home notes the
    workspace's repository. At later snapshots, any other repository is refused. So a tool that changes `.git` cannot
    make Replan write elsewhere. Raises `GitFailed`, `OSError`.
    """
    found = open_repository(workspace, home, inherited, limit)
    if found is not None:
        _check_same(found.note, f"{run}\n{_written_folders(found)}", first=first)
    return found


def open_repository(
    workspace: Path, home: Path, inherited: tuple[int, ...] = (), limit: TimeLimit | None = None
) -> Repository | None:
    """Return the repository whose top folder is the workspace; None if there is no such repository.

    The repository is not compared with the repository that is noted in the home.
    """
    if not os.path.lexists(workspace / ".git"):
        return None
    program = shutil.which("git")
    if program is None:
        raise GitFailed("git is not installed")
    for name in (".gitignore", ".git/config", ".git/info/exclude"):
        if os.path.lexists(workspace / name) and not (workspace / name).is_file():
            raise GitFailed(f"{name} is not a regular file")
    limit = limit or TimeLimit()
    found = Git(program, workspace, {}, limit, inherited)
    questions = ("--show-toplevel", "--git-common-dir", "--git-dir", "--show-object-format")
    answers = found.text("rev-parse", "--path-format=absolute", *questions).split("\n")
    if len(answers) != len(questions):
        raise GitFailed("the repository's path contains a line break")
    top, common, folder, form = answers
    if Path(top).resolve() != workspace:
        return None
    if not (Path(common) / "refs").is_dir() or _has_reftable(found, Path(common)):
        raise GitFailed("the repository stores refs in a format that Replan cannot write")
    objects = Path(common) / "objects"
    store = home / "workspaces" / f"{key_of(workspace)}.git"
    if not (store / "info" / "attributes").exists():
        store.parent.mkdir(exist_ok=True)
        found.run("init", "-q", "--bare", "--template=", f"--object-format={form}", str(store))
        (store / "info").mkdir(exist_ok=True)
        (store / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    index = store / "snapshot.index"
    own = {
        "GIT_DIR": str(store),
        "GIT_WORK_TREE": str(workspace),
        "GIT_INDEX_FILE": str(index),
        "GIT_OBJECT_DIRECTORY": str(objects),
    }
    theirs = Git(program, workspace, {"GIT_DIR": folder, "GIT_WORK_TREE": str(workspace)}, limit, inherited)
    return Repository(workspace, Path(common), theirs, Git(program, workspace, own, limit, inherited), index, store)


def find_noted_repository(workspace: Path, home: Path, limit: TimeLimit) -> Repository:
    """Return the repository of a workspace, which must be the one that the home noted at the start of the run.

    Raises `OSError`, and `GitFailed` if the workspace has another repository.
    """
    found = open_repository(workspace, home, limit=limit)
    if found is None:
        raise GitFailed("the workspace is no longer a git repository")
    noted = found.note.read_text(encoding="utf-8", errors="surrogateescape") if found.note.is_file() else ""
    if noted.partition("\n")[2] != _written_folders(found):
        raise GitFailed("the git repository of the workspace is not the same as at the start of the run")
    return found


def _written_folders(repository: Repository) -> str:
    """Return the folders to which a repository writes, one per line."""
    return "".join(f"{folder}\n" for folder in (repository.common, *_object_folders(repository.common / "objects")))


def _object_folders(objects: Path) -> list[Path]:
    """Return the folders to which objects are written: the given folder, and the target of each symbolic link in it."""
    folders = [objects]
    with os.scandir(objects) as entries:
        folders += sorted(Path(entry.path) for entry in entries if entry.is_symlink())
    return [folder.resolve() for folder in folders]


def _check_same(noted: Path, repository: str, *, first: bool) -> None:
    """At the first snapshot, note a run's repository.

    At a later snapshot, raise `GitFailed` for any other repository.
    """
    if first:
        noted.parent.mkdir(exist_ok=True)
        noted.write_text(repository, encoding="utf-8", errors="surrogateescape")
    elif not noted.is_file() or noted.read_text(encoding="utf-8", errors="surrogateescape") != repository:
        raise GitFailed("the git repository of the workspace is not the same as at the start of the run")


def decode_path(path: bytes) -> str:
    """Return a path as text. Bytes that are not UTF-8 are escaped."""
    return path.decode("utf-8", "backslashreplace")


def _has_reftable(git: Git, common: Path) -> bool:
    with suppress(GitFailed):  # The exit code is 1 if the key is missing.
        return git.text("config", "-f", str(common / "config"), "--get", "extensions.refStorage") not in ("", "files")
    return False


def _size(workspace: bytes, path: bytes, folders: dict[bytes, bool]) -> int | None:
    """Return the size of a file, or 0 for a symbolic link; -1 if it does not exist, None if a snapshot leaves it out.

    A path that leads through a symbolic link counts as missing. `folders` caches which folders are real folders.
    """
    above = path.rpartition(b"/")[0]
    if above and not _is_real(workspace, above, folders):
        return -1
    full = os.path.join(workspace, path)  # noqa: PTH118 - bytes
    try:
        status = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return -1
    if stat.S_ISLNK(status.st_mode):
        return 0
    readable = stat.S_ISREG(status.st_mode) and status.st_size <= FILE_BYTES_MAX and os.access(full, os.R_OK)
    return status.st_size if readable else None


def _is_real(workspace: bytes, folder: bytes, folders: dict[bytes, bool]) -> bool:
    if folder not in folders:
        above = folder.rpartition(b"/")[0]
        try:
            mode = os.lstat(os.path.join(workspace, folder)).st_mode  # noqa: PTH118 - bytes
        except OSError:
            mode = 0
        folders[folder] = stat.S_ISDIR(mode) and (not above or _is_real(workspace, above, folders))
    return folders[folder]
