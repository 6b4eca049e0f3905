"""Finds the programs of commands, and the built-in sandbox, `wrap: [isolated]` (Linux).

A program is named by a path, or is found in an absolute folder of `PATH`. In the sandbox, a tool has its own PID
namespace and network namespace: it sees no other process and no network. Everything that the tool has started ends with
the tool, even processes that have left its process group. The tool sees the same files as without the sandbox. The
program `bwrap` (bubblewrap) or else `unshare` (util-linux) makes the sandbox. If the kernel does not let this user make
namespaces, there is no sandbox.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from actors.tools.binding import environment_of
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec


class ProgramMissing(Exception):
    """A program does not exist, or this user has no permission to execute it.

    The message of the exception is the cause, as a clause.
    """

    def __init__(self, key: str, cause: str) -> None:
        self.key = key
        super().__init__(cause)


def find_programs(spec: CommandSpec, outside: Mapping[str, str]) -> dict[str, str]:
    """Return the paths of a command's programs, by the keys `command` and, if it is set, `wrap`.

    Raises `ProgramMissing`.
    """
    path = environment_of(spec.environment, outside).get("PATH", os.defpath)
    words = {"wrap": spec.wrap, "command": spec.argv}
    return {key: _find_program(key, word[0], path, Path(spec.folder)) for key, word in words.items() if word}


def find_server(spec: McpSpec | AgentSpec, outside: Mapping[str, str]) -> str:
    """Return the path of the program of an MCP server or an agent. Raises `ProgramMissing`."""
    path = environment_of(spec.environment, outside).get("PATH", os.defpath)
    return _find_program("command", spec.argv[0], path, Path(spec.folder))


def _find_program(key: str, name: str, path: str, folder: Path) -> str:
    """Return the absolute path of a program. A name with a slash is relative to `folder`. Raises `ProgramMissing`."""
    if "/" in name:
        program = folder / name
        if not program.is_file():
            raise ProgramMissing(key, f"there is no program {str(program)!r}")
        if not os.access(program, os.X_OK):
            raise ProgramMissing(key, f"you have no permission to execute {str(program)!r}")
        return str(program)
    folders = [part for part in path.split(os.pathsep) if Path(part).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise ProgramMissing(key, f"there is no program {name!r} in the folders of PATH")
    return found


ISOLATED = ("isolated",)
"""The value of a tool's key `wrap` that chooses the built-in sandbox."""
SANDBOXES = {
    "bwrap": (
        *("--unshare-pid", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc", "--"),
    ),
    "unshare": (*("--user", "--map-current-user", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--"),),
}
"""The programs that can make the namespaces of the sandbox, with their arguments. The first program, bwrap, is
preferred, because only bwrap gives the sandbox a loopback network interface.
"""
PROBE_SECONDS = 10.0
"""The time limit of the command that tries a sandbox, in seconds."""
_FOLDER = Path("/")


class NoIsolation(Exception):
    """This user cannot make namespaces on this machine. The message of the exception is the cause, as a clause."""


def sandbox_words(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words to put before a command, so that it runs in the sandbox that works on this machine.

    Each sandbox is tried once, with a command that does nothing. Raises `NoIsolation`.
    """
    return _find_sandbox(environment.get("PATH", os.defpath))


@cache
def _find_sandbox(path: str) -> tuple[str, ...]:
    causes = []
    for name, arguments in SANDBOXES.items():
        try:
            words = (_find_program("wrap", name, path, _FOLDER), *arguments)
            _try(words, _find_program("wrap", "true", path, _FOLDER))
        except ProgramMissing:
            continue
        except (OSError, subprocess.SubprocessError) as error:
            causes.append(f"{name} fails: {_cause(error)}")
        else:
            return words
    raise NoIsolation("; ".join(causes) or f"the folders of PATH have no {' and no '.join(SANDBOXES)}")


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
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:200] if lines else f"exit code {error.returncode}"
    return f"it takes longer than {PROBE_SECONDS:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
