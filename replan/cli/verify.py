"""`home verify`: computes again what follows from the records, and reports what differs."""

import os

from actors.values.format import format_count
from actors.values.lines import Line, StyledSpan, line
from replan.cli.exits import Exit
from replan.cli.terminal.console import print_json, show
from replan.runs.home import journal_to_read
from replan.runs.verification import JournalFinding, Verified, verify
from replan.setup.database import database_url
from replan.setup.home_folder import USE_ANOTHER_HOME, locate_home, prepare_home
from replan.setup.kinds import Kinds
from runtime.core.errors import UsageProblem
from runtime.open_offline import open_inspection, shown_url


def verify_journal(url: str | None = None, *, as_json: bool) -> int:
    """Verify a journal, or the one in use, and print what is wrong, a line for each. Return 0, or 9 for something."""
    verified = _verify(url)
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


def _verify(url: str | None) -> Verified:
    kinds, named = Kinds(), url or database_url(os.environ)
    if named is not None:
        with open_inspection(named, USE_ANOTHER_HOME) as journal:
            if journal is None and url is not None:
                raise UsageProblem("there is no journal here", place=shown_url(named), hint="name the one of a home")
            return Verified() if journal is None else verify(journal, kinds)
    home = locate_home(os.environ)
    if not os.path.lexists(home.journal):
        return Verified()
    prepare_home(os.environ, write=False)
    with (
        journal_to_read(home) as path,
        open_inspection(f"sqlite:{path}", USE_ANOTHER_HOME) as journal,
    ):
        return Verified() if journal is None else verify(journal, kinds)


def _lines(verified: Verified) -> list[Line]:
    lines = [_finding(finding) for finding in verified.findings]
    if not lines:
        records, messages = format_count(verified.records, "record"), format_count(verified.messages, "message")
        text = f"     {format_count(verified.runs, 'run')}, {records}, {messages}: nothing differs from the records"
        lines.append(Line((StyledSpan("ok", "green"), StyledSpan(text))))
    lines += [line(f"not checked: {text}") for text in verified.unchecked]
    if verified.findings:
        lines.append(line("restore a copy of the home, or go on with the other runs; nothing was changed"))
    return lines


def _finding(finding: JournalFinding) -> Line:
    place = f"run {finding.run}" if finding.run else "journal"
    return Line((StyledSpan("WRONG", "bold red"), StyledSpan(f"  {place}: "), *line(finding.cause).spans), hang=7)
