"""Finds the programs of commands: by a path, or in the folders of `PATH`, of which relative ones are left out."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from actors.tools.binding import environment_of
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec


class ProgramMissing(Exception):
    """A program is not there, or this user may not execute it; the text is the cause, in half a sentence."""

    def __init__(self, key: str, cause: str) -> None:
        self.key = key
        super().__init__(cause)


def find_programs(spec: CommandSpec, outside: Mapping[str, str]) -> dict[str, str]:
    """Return the paths of the programs of a command: of `wrap`, if there is one, and of `command`, by these keys.

    Raises `ProgramMissing`.
    """
    path = environment_of(spec.environment, outside).get("PATH", os.defpath)
    words = {"wrap": spec.wrap, "command": spec.argv}
    return {key: find_program(key, word[0], path, Path(spec.folder)) for key, word in words.items() if word}


def find_server(spec: McpSpec | AgentSpec, outside: Mapping[str, str]) -> str:
    """Return the path of the program that is an MCP server, or an agent. Raises `ProgramMissing`."""
    path = environment_of(spec.environment, outside).get("PATH", os.defpath)
    return find_program("command", spec.argv[0], path, Path(spec.folder))


def find_program(key: str, name: str, path: str, folder: Path) -> str:
    """Return the absolute path of a program; a name with a slash counts from `folder`. Raises `ProgramMissing`."""
    if "/" in name:
        program = folder / name
        if not program.is_file():
            raise ProgramMissing(key, f"there is no program {str(program)!r}")
        if not os.access(program, os.X_OK):
            raise ProgramMissing(key, f"you may not execute {str(program)!r}")
        return str(program)
    folders = [part for part in path.split(os.pathsep) if Path(part).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    if found is None:
        raise ProgramMissing(key, f"there is no program {name!r} in the folders of PATH")
    return found
