"""Checks of the words of commands in a tools file: a word that only a shell could read is refused. Pure."""

import itertools
import re
import shlex
from collections.abc import Sequence
from typing import Any

from actors.files.validation_errors import config_error
from actors.tools.specs import PLACEHOLDER, parameters_in

_SHELLS = frozenset({"sh", "ash", "bash", "csh", "dash", "fish", "ksh", "tcsh", "zsh", "cmd", "powershell", "pwsh"})
_OPERATOR = re.compile(r"(\|\|?|&&?|\|&|;;?|[0-9]*(<|>)[<>&|]?.*|&>.*)")
_EXPANSION = re.compile(r"\$(\w+|[({@*#?$!-])|`")
_IN_A_PROGRAM = re.compile(r"[\s|&;<>()$`\"'*?\[\]]")
_CODE_OPTION = re.compile(r"-[a-z]*c[a-z]*|/[cC]|-Command", re.IGNORECASE)

USE_A_SCRIPT = "put it into a script beside this file, and name the script"
"""The hint for a command that needs a shell."""


def as_list(line: str) -> str:
    """Return a command that was written as one line as a YAML list; empty if its words are not certain."""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    return f"[{', '.join(words)}]" if words and not any(word_problem(word) for word in words) else ""


def word_problem(word: str) -> str:
    """Return why a program cannot get an argument as it is written, as a clause; empty if it can."""
    if not word.isprintable() and any(character in word for character in "\0\n\r"):
        return "holds a line end or a NUL character"
    if _OPERATOR.fullmatch(word):
        return f"{word[:60]!r} means something only to a shell, and no shell reads a command"
    if found := _EXPANSION.search(word):
        return f"{found.group()!r} is filled in only by a shell, and no shell reads a command"
    if word.startswith("~"):
        return "'~' is filled in only by a shell, and no shell reads a command"
    if set("{}") & set(PLACEHOLDER.sub("", word)):
        return "has a brace that belongs to no parameter; a brace itself is written {{ or }}"
    return ""


def program_problem(program: str) -> str:
    """Return why a text cannot name a program, as a clause; empty if it can."""
    if not program:
        return "names no program"
    if found := _IN_A_PROGRAM.search(program):
        return f"a program's name has no {found.group()!r}: its arguments follow as further entries of the list"
    return "a program's name is fixed: no parameter may stand in it" if PLACEHOLDER.search(program) else ""


def shell_code(words: Sequence[str]) -> int | None:
    """Return the position of an option by which a shell runs the next word as code, as in `sh -c CODE`; else None."""
    for position, (word, option) in enumerate(itertools.pairwise(words)):
        name = word.rpartition("/")[2].removesuffix(".exe")
        if name in _SHELLS and _CODE_OPTION.fullmatch(option):
            return position + 1
    return None


def check_fixed_words(words: Sequence[str], key: str) -> None:
    """Raise if the words under a key are not a program and its arguments without parameters."""
    for position, word in enumerate(words):
        cause = program_problem(word) if not position else ""
        if cause := cause or word_problem(word) or ("takes no parameters" if parameters_in(word) else ""):
            raise config_error(cause, (key, position))


def not_a_line(value: Any) -> Any:
    """Return a command unchanged. Raises if it is one line, which only a shell could read."""
    if isinstance(value, str):
        words = as_list(value)
        hint = f"write {words}" if words else USE_A_SCRIPT
        raise config_error("should be a list of a program and its arguments, which no shell reads", hint=hint)
    return value
