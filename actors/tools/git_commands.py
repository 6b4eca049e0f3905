"""Runs git so that nothing in a repository can make it run code: its hooks, filters and monitors are never called.

What a tool may write in a workspace includes the repository's own configuration. So all that reads files of the
workspace runs with a repository of Replan's own, in the home, whose objects are the workspace's.
"""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10.0
"""The time limit of all commands of a snapshot together. A repository can make git wait, for instance for a pipe."""
OUTPUT_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes that a command may say."""
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
    """A command of git failed; the text is the cause, in one line."""


class GitTimedOut(GitFailed):
    """The commands of a snapshot took too long together; another try would take as long."""


class TimeLimit:
    """The time that the commands of one snapshot may take together; it begins when this is made."""

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS

    @property
    def seconds_left(self) -> float:
        """The seconds that are left, at least zero."""
        return max(0.0, self._end - time.monotonic())


@dataclass(frozen=True, slots=True)
class Git:
    """The git of a user, with an environment of its own."""

    program: str
    """The path of the program."""
    workspace: Path
    """The folder in which it runs."""
    own: Mapping[str, str]
    """The variables that name the repository, its objects, the index and the files."""
    limit: TimeLimit
    """What is left of the time for all commands."""
    inherited: tuple[int, ...] = ()
    """The open files that it inherits: the workspace's lock, so that it counts as work in the workspace."""

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run a command with an input and return its output. Raises `GitFailed`, `GitTimedOut`."""
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
            raise GitTimedOut(f"git took longer than {SECONDS:g} s, at last for {arguments[0]}") from None
        except OSError as error:
            raise GitFailed(f"git cannot be run: {(error.strerror or str(error)).lower()}") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
            raise GitFailed(f"git {arguments[0]}: {lines[-1][:200]}")
        if len(done.stdout) > OUTPUT_BYTES_MAX:
            raise GitFailed(f"git {arguments[0]} says more than {OUTPUT_BYTES_MAX:,} bytes")
        return done.stdout

    def text(self, *arguments: str) -> str:
        """Run a command and return its output as text, without white space at its ends. Raises `GitFailed`."""
        return self.run(*arguments).decode(errors="replace").strip()

    def paths(self, *arguments: str) -> set[bytes]:
        """Run a command whose output is paths, each with a NUL after it. Raises `GitFailed`."""
        return set(self.run(*arguments).split(b"\0")) - {b""}


def null_terminated(paths: Sequence[bytes]) -> bytes:
    """Return paths as git reads them, each with a NUL after it."""
    return b"".join(path + b"\0" for path in paths)


def _environment(workspace: Path, own: Mapping[str, str]) -> dict[str, str]:
    """Return what git sees: no configuration of the user or the system, no network, no questions."""
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
