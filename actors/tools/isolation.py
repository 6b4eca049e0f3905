"""The sandbox that is shipped, `wrap: [isolated]`: a tool in a PID and a network namespace of its own (Linux).

A tool in it sees no other process and no network, and all that it has started ends with it, also what left its process
group. It sees the same files as without it. It is made by bubblewrap, else by util-linux; where the kernel does not let
this user make namespaces, there is none.
"""

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from actors.tools.programs import ProgramMissing, find_program

ISOLATED = ("isolated",)
"""The value of `wrap` that asks for this sandbox."""
SANDBOXES = {
    "bwrap": (
        *("--unshare-pid", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc", "--"),
    ),
    "unshare": (*("--user", "--map-current-user", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--"),),
}
"""The programs that make namespaces, the preferred one first, with their arguments. Only bwrap gives a loopback."""
PROBE_SECONDS = 10.0
"""The time limit of the command that tries a sandbox."""
_FOLDER = Path("/")
"""Relative programs would count from it; there are none."""


class NoIsolation(Exception):
    """This machine makes no namespaces for this user; the text is the cause, in half a sentence."""


def sandbox_words(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of the sandbox that works here: a program's absolute path and its arguments.

    Each is tried once, with a command that does nothing. Raises `NoIsolation`.
    """
    return _find_sandbox(environment.get("PATH", os.defpath))


@cache
def _find_sandbox(path: str) -> tuple[str, ...]:
    causes = []
    for name, arguments in SANDBOXES.items():
        try:
            words = (find_program("wrap", name, path, _FOLDER), *arguments)
            _try(words, find_program("wrap", "true", path, _FOLDER))
        except ProgramMissing:
            continue
        except (OSError, subprocess.SubprocessError) as error:
            causes.append(f"{name} fails: {_cause(error)}")
        else:
            return words
    raise NoIsolation("; ".join(causes) or f"there is no {' and no '.join(SANDBOXES)} in the folders of PATH")


def _try(words: tuple[str, ...], nothing: str) -> None:
    subprocess.run(  # noqa: S603 -- the words are those above
        [*words, nothing],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=PROBE_SECONDS,
        cwd="/",
        env={},
    )


def _cause(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.decode(errors="replace").strip().splitlines()
        return said[-1].strip()[:200] if said else f"exit code {error.returncode}"
    return f"it takes longer than {PROBE_SECONDS:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
