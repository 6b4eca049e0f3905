"""`check`: reads plans from files one by one, and prints the verdict of the guards on each."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from actors.values.findings import Verdict
from replan.cli.exits import Exit
from replan.cli.inputs import as_text, file_named
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, show
from replan.cli.terminal.plain import JsonArray, print_json
from replan.service.checking import UNREADABLE, Case, Standard, judged
from replan.views.check_report import report_lines
from replan.views.errors import line_of_error
from runtime.core.errors import UsageProblem
from runtime.models.replies import BYTES_MAX

FILE_BYTES_MAX = 256 * 1024 * 1024
"""The largest `.jsonl` file that is read, line by line: memory holds one line of at most `BYTES_MAX` and its report. Of
any other file, only as much is read as a plan may have."""


def check_files(invocation: Invocation, files: tuple[str, ...], standard: Standard, form: str) -> int:
    """Check every plan of the files and print `text`, `json` or `jsonl`. Return the exit code."""
    del invocation  # Checking has no home, so it keeps no log.
    worst, single, array = Exit.OK, len(files) == 1 and not files[0].endswith(".jsonl"), JsonArray()
    for name in files:
        try:
            for case in _cases(name):
                verdict, report, guards = judged(case, standard)
                worst = _worse(worst, _exit_of(verdict))
                if form == "json" and single:
                    print_json(report)
                elif form == "json":
                    array.add(report)
                elif form == "jsonl":
                    print_json(report, indent=None)
                else:
                    show(report_lines(report, guards))
        except UsageProblem as problem:
            notice(line_of_error(problem))
            worst = Exit.USAGE
    if form == "json" and not single:
        array.end()
    return worst


def _cases(name: str) -> Iterator[Case]:
    """Yield the plans of a file; of a `.jsonl` file, never more than one line is in memory."""
    try:
        with _opened(name) as file:
            if not name.endswith(".jsonl"):
                yield Case(name, _text(file.read(BYTES_MAX + 2), name))
                return
            found = False
            for number, row in enumerate(_rows(file, name), 1):
                if row.strip():
                    found = True
                    yield Case(name, _text(row, f"{name}:{number}"), number)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "not a file's name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or -") from None
    if not found:
        raise UsageProblem("holds no plan", place=name, hint="a .jsonl file has one on each line")


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open the file, or give standard input, which stays open."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with file_named(name, "PLAN").open("rb") as file:
        yield file


def _rows(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a `.jsonl` file; of one that is too long for a plan, only the beginning."""
    total = 0
    while row := file.readline(BYTES_MAX + 2):
        total += len(row)
        rest = row
        while rest and not rest.endswith(b"\n") and total <= FILE_BYTES_MAX:
            rest = file.readline(BYTES_MAX)
            total += len(rest)
        if total > FILE_BYTES_MAX:
            raise UsageProblem(f"more than {FILE_BYTES_MAX:,} bytes", place=name, hint="split the file")
        yield row


def _text(data: bytes, place: str) -> str:
    """Return the text; one that is too large for a plan may be cut in a character, and its verdict says that."""
    return as_text(data, place) if len(data) <= BYTES_MAX + 1 else data.decode("utf-8", "replace")


def _exit_of(verdict: Verdict) -> Exit:
    if verdict.passed:
        return Exit.OK
    return Exit.USAGE if any(finding.code in UNREADABLE for finding in verdict.errors) else Exit.UNSOLVED


def _worse(first: Exit, second: Exit) -> Exit:
    """Return the worse of two codes: unreadable before rejected before valid."""
    order = (Exit.OK, Exit.UNSOLVED, Exit.USAGE)
    return max(first, second, key=order.index)
