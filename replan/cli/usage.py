"""What a wrong command line was meant as: a problem or another tool's word in a command's place, or an early option."""

import os
import shlex
from collections.abc import Sequence

from replan.setup.command_name import program

_TEXT_SUFFIXES = (".md", ".txt", ".rst", ".markdown")
"""Names that end so are problems, also where the file is missing."""
_OF_COMMANDS = frozenset({"--json", "--jsonl", "--no-input", "-m", "--model", "-w", "--workflow", "--last"})
"""Options of commands that are often written before the command."""
OTHER_WORDS = {
    "plan": "run",
    "solve": "run",
    "start": "run",
    "list": "runs",
    "ls": "runs",
    "ps": "runs",
    "status": "runs",
    "continue": "resume",
    "retry": "resume",
    "stop": "cancel",
    "kill": "cancel",
    "rm": "delete",
    "remove": "delete",
    "validate": "check",
    "verify": "journal verify",
    "web": "serve",
    "ui": "serve",
    "help": "--help",
}
"""Words that other tools have for commands, which no spelling leads to; by each word the command."""


def meant_as_problem(arguments: Sequence[str]) -> str:
    """Return the command line that plans a problem which stands in a command's place; empty for anything else."""
    first = arguments[0]
    if len(first.split()) > 1:
        return f"`echo {shlex.quote(first[:40])} | {program()} run -`"
    if first == "-" or first.lower().endswith(_TEXT_SUFFIXES) or os.path.isfile(first):  # noqa: PTH113 -- any text
        return f"`{program()} run {shlex.join(arguments)}`"
    return ""


def command_for(word: str) -> str:
    """Return the command that other tools call by this word; empty for any other word."""
    command = OTHER_WORDS.get(word.lower())
    return f"`{program()} {command}`" if command else ""


def misplaced_option(option: str, command: str) -> str:
    """Return what to do about an option that stands before the command; empty for one that no command has."""
    if option not in _OF_COMMANDS:
        return ""
    value = {"-m": " rules", "--model": " rules", "-w": " search", "--workflow": " search"}.get(option, "")
    return f"{option} belongs to a command and stands after it, as in `{command} COMMAND {option}{value}`"
