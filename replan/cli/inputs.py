"""Reads text from files and standard input, up to a limit of bytes."""

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from actors.planning.prepare import PROBLEM_BYTES_MAX
from replan.cli.terminal.console import notice
from replan.setup.installation import data_root, program
from runtime.core.errors import UsageProblem

ANSWER_BYTES_MAX = 400_000
"""The largest number of bytes in an answer to a run's question: `actors.values.answers.ANSWER_MAX` characters of four
bytes."""
MESSAGE_BYTES_MAX = 40_000
"""The largest number of bytes in a note or a requirement for a run: `actors.run.inbox.MESSAGE_MAX` characters of four
bytes."""


def read_problem(argument: str) -> str:
    """Return the problem's text. Raises `UsageProblem` for a problem that is missing, too large or not text."""
    if argument == "-":
        if sys.stdin.isatty():
            notice("reading the problem from the terminal; Ctrl-D ends the text")
        return as_text(_read_capped(sys.stdin.buffer, PROBLEM_BYTES_MAX, source_of(argument)), source_of(argument))
    path = file_named(argument, "PROBLEM")
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            raise UsageProblem("this is a folder, not a file", place=argument, hint="name the file with the problem")
        with path.open("rb") as file:
            text = as_text(_read_capped(file, PROBLEM_BYTES_MAX, argument), argument)
    except (OSError, ValueError) as error:
        raise _unreadable(argument, error) from None
    if text == (data_root() / "configs" / "starter" / "problem.md").read_text(encoding="utf-8"):
        cause = f"this is still the file that `{program()} init` wrote"
        raise UsageProblem(cause, place=argument, hint="replace its text with your problem")
    return text


def file_named(argument: str, place: str) -> Path:
    """Return the argument as a path. Raises `UsageProblem` if it is empty."""
    if not argument:
        raise UsageProblem("no file is named", place=place, hint="name a file, or - for standard input")
    return Path(argument)


def source_of(argument: str) -> str:
    """Return the name of a problem's source for messages: the argument, or `standard input` for `-`."""
    return "standard input" if argument == "-" else argument


def read_stdin(limit: int, smaller: str = "leave out logs and listings") -> str:
    """Read the text on standard input.

    If it has more than `limit` bytes, raise `UsageProblem` with the hint `smaller`.
    """
    return as_text(_read_capped(sys.stdin.buffer, limit, "standard input", smaller), "standard input")


def read_file(path: Path, limit: int, place: str, *, hint: str, smaller: str) -> str:
    """Read the text of a file of at most `limit` bytes. Messages name the file `place`.

    Raises: UsageProblem: the file cannot be read (with the hint `hint`), is too large (with the hint `smaller`), or is
    not text.
    """
    try:
        with path.open("rb") as file:
            return as_text(_read_capped(file, limit, place, smaller), place)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "no file can have this name").lower()
        raise UsageProblem(cause, place=place, hint=hint) from None


def as_text(data: bytes, place: str) -> str:
    """Decode bytes as UTF-8. Raises `UsageProblem` for bytes that are not UTF-8, and for binary data."""
    if b"\0" in data:
        raise UsageProblem("this is binary data, not text", place=place, hint="give plain text in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageProblem(
            f"the text is not UTF-8 (byte {error.start})", place=place, hint="save it as UTF-8"
        ) from None


def _read_capped(file: BinaryIO, limit: int, place: str, smaller: str = "leave out logs and listings") -> bytes:
    data = file.read(limit + 1)
    if len(data) > limit:
        raise UsageProblem(f"the text has more than {limit:,} bytes", place=place, hint=smaller)
    return data


def _unreadable(argument: str, error: OSError | ValueError) -> UsageProblem:
    """Return the error for a problem that cannot be read.

    If the argument is a text, the hint says how to pass texts.
    """
    number = error.errno if isinstance(error, OSError) else errno.ENOENT
    place = argument if len(argument) <= 60 else f"{argument[:59]}…"
    if number in (errno.ENOENT, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EINVAL):
        if len(argument.split()) > 1:
            hint = "put the problem into a file, or pipe it: echo '...' | replan run -"
            return UsageProblem("there is no such file", place=repr(place), hint=hint)
        if "://" in argument:
            return UsageProblem(
                "Replan does not download web pages", place=place, hint="save the page to a file, and name the file"
            )
        return UsageProblem("there is no such file", place=place, hint="name a file, or - for standard input")
    return UsageProblem(os.strerror(number or 0).lower(), place=place, hint="name a file that you may read")
