"""`home copy`: copies runs from one journal to another, deletes them from the first on request, and reports it."""

from functools import partial

from actors.values.format import format_count
from replan.cli.exits import Exit
from replan.cli.terminal.console import notice, print_json
from replan.cli.terminal.plain import print_text
from replan.cli.terminal.ticker import Ticker
from replan.runs.reader import LightRunReader
from replan.runs.retention import Chosen, RunChoice, choose
from replan.runs.verification import spent_by_day
from replan.setup.home_folder import USE_ANOTHER_HOME
from replan.setup.kinds import Kinds
from runtime.core.errors import UsageProblem
from runtime.journal.copying import Copied, copy_runs, copyable, remove_copied
from runtime.journal.operations import RawOperations
from runtime.journal.sqlite.reading import at_once
from runtime.open_offline import open_raw, shown_url
from runtime.process.identity import is_dead


def copy_between(source: str, target: str, choice: RunChoice, *, delete: bool, as_json: bool) -> int:
    """Copy the chosen runs from the journal with the URL `source` to that of `target`, and return the exit code.

    An empty choice stands for all runs. With `delete`, which needs a choice, the copied runs are deleted from the
    source. Raises `RunNotFound`, `UsageProblem`, and the errors of `open_raw`.
    """
    here, place, kinds = shown_url(source), shown_url(target), Kinds()
    if place == here:
        raise UsageProblem("the source and the target are the same journal", place=place)
    copied, deleted = list[Copied](), set[str]()
    with open_raw(source, use_another=USE_ANOTHER_HOME) as store:
        runs, chosen = copyable(store), Chosen()
        if choice != RunChoice():
            reader = LightRunReader(RawOperations(store, kinds.codecs), kinds)
            chosen = at_once(choose(reader, choice, place))
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
    summary = f"{format_count(len(new), 'run')} copied to {place}, {there} there already, {left} not copied"
    notice(f"{summary}, {len(deleted)} deleted here" if delete else summary)
    return Exit.NOT_FOUND if problems else Exit.OK
