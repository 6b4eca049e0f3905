"""`journal copy` and `journal upgrade`: work on whole journals, named by their URLs."""

import os
from collections.abc import Mapping

from actors.values.format import counted
from replan.cli.exits import Exit
from replan.cli.terminal.console import notice, print_json
from replan.cli.terminal.plain import print_text
from replan.cli.terminal.ticker import Ticker
from replan.runs.booked_days import spent_by_day
from replan.setup.database import journal_url
from replan.setup.home_folder import USE_ANOTHER_HOME
from replan.setup.kinds import Kinds
from runtime.core.errors import UsageProblem
from runtime.journal.copying import Copied, copy_runs, copyable
from runtime.open_offline import open_raw, place_of, upgrade
from runtime.process.identity import is_dead


def copy_journal(source: str, target: str, *, as_json: bool) -> int:
    """Copy the runs of a journal to another one, and print what became of each. Return the exit code."""
    place = place_of(target)
    if place == place_of(source):
        raise UsageProblem("the source and the target are the same journal", place=place)
    copied, kinds = list[Copied](), Kinds()
    with (
        open_raw(source, use_another=USE_ANOTHER_HOME) as runs,
        open_raw(target, make=True, use_another=USE_ANOTHER_HOME) as kept,
        Ticker("runs") as ticker,
    ):
        total = len(copyable(runs))
        for each in copy_runs(runs, kept, (place_of(source), place), is_dead, lambda copy: spent_by_day(copy, kinds)):
            copied.append(each)
            ticker.tick(len(copied), total)
            if each.problem:
                notice(each.problem)
    failed = [each for each in copied if each.problem]
    if as_json:
        rows = [{"run_id": each.run, "new": each.new, "problem": each.problem or None} for each in copied]
        print_json({"target": place, "runs": rows})
    else:
        print_text("".join(f"{each.run}\n" for each in copied if each.new))
    new = sum(each.new for each in copied)
    there = len(copied) - new - len(failed)
    notice(f"{counted(new, 'run')} copied to {place}, {there} there already, {len(failed)} not copied")
    return Exit.NOT_FOUND if failed else Exit.OK


def upgrade_journal(url: str | None, roles: Mapping[str, str | None], *, as_json: bool) -> int:
    """Upgrade a journal, or the one in use, and print its version. Return the exit code."""
    wanted = journal_url(os.environ) if url is None else url
    named = {kind: role for kind, role in roles.items() if role}
    version = upgrade(wanted, named, USE_ANOTHER_HOME)
    if as_json:
        print_json({"journal": place_of(wanted), "version": version})
    else:
        notice(f"{place_of(wanted)}: version {version}")
    return Exit.OK
