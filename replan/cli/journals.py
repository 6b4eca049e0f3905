"""The work of `home verify` and `home copy`: verifies a journal, and copies runs from one journal to another."""

import os
from functools import partial

from actors.values.format import format_count
from actors.values.lines import Line, StyledSpan, line
from replan.cli.exits import Exit
from replan.cli.terminal.console import Ticker, notice, print_json, show
from replan.cli.terminal.plain import print_text
from replan.runs.home import journal_to_read
from replan.runs.reader import LightRunReader
from replan.runs.retention import Chosen, RunChoice, choose
from replan.runs.verification import JournalFinding, Verified, spent_by_day, verify
from replan.setup.home_folder import USE_ANOTHER_HOME, database_url, locate_home, prepare_home
from replan.setup.kinds import Kinds
from runtime.core.errors import UsageProblem
from runtime.journal.copying import Copied, copy_runs, copyable, remove_copied
from runtime.journal.operations import RawOperations
from runtime.journal.sqlite.reading import run_without_loop
from runtime.open_offline import open_inspection, open_raw, shown_url
from runtime.process.identity import is_dead


def verify_journal(url: str | None = None, *, as_json: bool) -> int:
    """Verify a journal, by default the journal in use, and print the findings.

    Return 9 if there are findings, else 0.
    """
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
                raise UsageProblem(
                    "there is no journal here", place=shown_url(named), hint="name the journal of a home"
                )
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
        text = f"     {format_count(verified.runs, 'run')}, {records}, {messages}: everything agrees with the records"
        lines.append(Line((StyledSpan("ok", "green"), StyledSpan(text))))
    lines += [line(f"not checked: {text}") for text in verified.unchecked]
    if verified.findings:
        lines.append(line("restore a copy of the home, or continue with the other runs; nothing was changed"))
    return lines


def _finding(finding: JournalFinding) -> Line:
    place = f"run {finding.run}" if finding.run else "journal"
    return Line((StyledSpan("WRONG", "bold red"), StyledSpan(f"  {place}: "), *line(finding.cause).spans), hang=7)


def copy_between(source: str, target: str, choice: RunChoice, *, delete: bool, as_json: bool) -> int:
    """Copy the chosen runs from the journal at the URL `source` to the journal at `target`. Return the exit code.

    An empty choice means all runs. With `delete`, which needs a choice, the copied runs are deleted from the source.
    Raises `RunNotFound`, `UsageProblem`, and the errors of `open_raw`.
    """
    here, place, kinds = shown_url(source), shown_url(target), Kinds()
    if place == here:
        raise UsageProblem("the source and the target are the same journal", place=place)
    copied, deleted = list[Copied](), set[str]()
    with open_raw(source, use_another=USE_ANOTHER_HOME) as store:
        runs, chosen = copyable(store), Chosen()
        if choice != RunChoice():
            reader = LightRunReader(RawOperations(store, kinds.codecs), kinds)
            chosen = run_without_loop(choose(reader, choice, place))
            wanted = {run for family in chosen.families for run in family}
            runs = [run for run in runs if run in wanted]
        stay = dict(chosen.left)
        with open_raw(target, make=True, use_another=USE_ANOTHER_HOME) as kept, Ticker("runs") as ticker:
            spent = partial(spent_by_day, kinds=kinds)
            for done in copy_runs(store, kept, (here, place), is_dead, spent, runs=runs):
                copied.append(done)
                ticker.tick(len(copied), len(runs))
            failed = {done.run: done.problem for done in copied if done.problem}
            whole = [family for family in chosen.families if not failed.keys() & {*family}]
            for removed in remove_copied(store, kept, place, whole) if delete else ():
                if removed.problem:
                    stay[removed.runs[0]] = removed.problem
                else:
                    deleted.update(removed.runs)
    for problem in (*(f"run {run} stays in {here}: {why}" for run, why in stay.items()), *failed.values()):
        notice(problem)
    problems = stay | failed
    new = {done.run for done in copied if done.new}
    if as_json:
        rows = [
            {"run_id": run, "new": run in new, "deleted": run in deleted, "problem": problems.get(run)}
            for run in [*chosen.left, *(done.run for done in copied)]
        ]
        print_json({"target": place, "runs": rows})
    else:
        print_text("".join(f"{done.run}\n" for done in copied if done.run in new | deleted))
    there = sum(not done.new and not done.problem for done in copied)
    left = len(chosen.left) + len(failed)
    summary = f"{format_count(len(new), 'run')} copied to {place}, {there} already there, {left} not copied"
    notice(f"{summary}, {len(deleted)} deleted here" if delete else summary)
    return Exit.NOT_FOUND if problems else Exit.OK
