"""`doctor --verify`: computes again what follows from the records of the home, and reports what differs."""

import os

from actors.values.format import counted
from actors.values.lines import Line, Span, line
from replan.cli.exits import Exit
from replan.cli.terminal.console import print_json, show
from replan.runs.home import journal_to_read
from replan.runs.verification import Finding, Verified, verify
from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home, prepare_home
from replan.setup.kinds import Kinds
from runtime.core.clock import SystemClock
from runtime.journal.sqlite.inspection import open_inspection


def verify_home(*, as_json: bool) -> int:
    """Verify the journal of the home and print what is wrong, a line for each. Return 0, or 9 where something is."""
    verified = _verified()
    if as_json:
        rows = [{"run_id": finding.run or None, "cause": finding.cause} for finding in verified.findings]
        print_json(
            {
                "ok": not rows,
                "runs": verified.runs,
                "records": verified.records,
                "messages": verified.messages,
                "findings": rows,
                "not_checked": verified.unchecked,
            }
        )
    else:
        show(_lines(verified))
    return Exit.JOURNAL if verified.findings else Exit.OK


def _verified() -> Verified:
    home = locate_home(os.environ)
    if not os.path.lexists(home.journal):
        return Verified()
    prepare_home(os.environ, write=False)
    kinds = Kinds()
    with (
        journal_to_read(home) as path,
        open_inspection(path, kinds.codecs, SystemClock().now(), USE_ANOTHER_HOME) as journal,
    ):
        return verify(journal, kinds)


def _lines(verified: Verified) -> list[Line]:
    lines = [_finding(finding) for finding in verified.findings]
    if not lines:
        records, messages = counted(verified.records, "record"), counted(verified.messages, "message")
        text = f"     {counted(verified.runs, 'run')}, {records}, {messages}: nothing differs from the records"
        lines.append(Line((Span("ok", "green"), Span(text))))
    lines += [line(f"not checked: {text}") for text in verified.unchecked]
    if verified.findings:
        lines.append(line("restore a copy of the home, or go on with the other runs; nothing was changed"))
    return lines


def _finding(finding: Finding) -> Line:
    place = f"run {finding.run}" if finding.run else "journal"
    return Line((Span("WRONG", "bold red"), Span(f"  {place}: "), *line(finding.cause).spans), hang=7)
