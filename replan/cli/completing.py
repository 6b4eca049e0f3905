"""The argument that names a run, and shell completions for runs, questions, workflows, searches and policies.

A completion reads the home, and changes nothing in it.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from replan.setup.installation import program
from runtime.core.errors import UsageProblem

F = TypeVar("F", bound=Callable[..., Any])

RUNS_MAX = 100
"""The largest number of runs that one completion in the shell offers. Older runs are not offered."""
READ_MAX = 20
"""The largest number of waiting runs from which a completion reads all questions, if the user has not typed a run's
whole id yet."""
SEARCHES = (
    "depth_first",
    "beam:3",
    "breadth_first",
    "best_first",
    "iterative_deepening",
    "blind",
    "restart",
    "best_of:3",
    "linear",
)
"""The searches that a completion in the shell offers. If a search needs a number, such as the width of a beam, this
list has a common number."""


def complete_run(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of runs that begin with `incomplete`, the newest first, with their titles."""
    return [CompletionItem(run, help=title) for run, title in _runs() if run.startswith(incomplete)]


def run_argument(metavar: str = "RUN|--last", *, last: str = "The newest run.") -> Callable[[F], F]:
    """Return a decorator that adds an argument for a run, and `--last` with the help text `last`."""

    def add(function: F) -> F:
        run = click.argument("run_id", metavar=metavar, shell_complete=complete_run, required=False)
        return run(click.option("--last", is_flag=True, help=last)(function))

    return add


def require_one_run(command: str, run: str | None, *, last: bool) -> None:
    """Check that the user gave either a run or `--last`. Raises `UsageProblem` for both or none."""
    if last == (run is not None):
        cause = "both a run and --last are given" if last else "no run is named"
        raise UsageProblem(cause, place="RUN", hint=f"`{program()} {command} RUN` or `{program()} {command} --last`")


def complete_question(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the open questions whose ids begin with `incomplete`, with their texts.

    If the user has typed no run yet, return all questions of the `READ_MAX` newest waiting runs, and the first question
    of each older run. Reading a run takes a few milliseconds.
    """
    run, slash, _name = incomplete.partition("/")
    first = [] if slash else [question for question in _first_questions() if question[0].startswith(run)]
    read = [run] if slash else [name.partition("/")[0] for name, _text in first[:READ_MAX]]
    offered = [*_questions_of(read), *first[READ_MAX:]] if read else []
    return [CompletionItem(name, help=text) for name, text in offered if name.startswith(incomplete)]


def complete_workflow(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shipped workflows whose names begin with `incomplete`.

    If there are none, let the shell complete files.
    """
    return _complete_shipped("workflows", incomplete)


def complete_policy(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shipped policies whose names begin with `incomplete`. If none does, let the shell complete files."""
    return _complete_shipped("policies", incomplete)


def complete_search(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the searches that begin with `incomplete`."""
    return _beginning(SEARCHES, incomplete)


def _complete_shipped(folder: str, incomplete: str) -> list[CompletionItem]:
    from replan.setup.installation import data_root

    names = sorted(path.stem for path in (data_root() / "configs" / folder).glob("*.yaml"))
    return _beginning(names, incomplete) or [CompletionItem(incomplete, type="file")]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _runs() -> Iterator[tuple[str, str]]:
    return _rows("SELECT run, title FROM runs WHERE run NOT LIKE '%.%' ORDER BY id DESC LIMIT ?")


def _first_questions() -> Iterator[tuple[str, str]]:
    return _rows(
        "SELECT run || '/' || detail, title FROM runs WHERE status = 'waiting' AND run NOT LIKE '%.%' "
        "ORDER BY id DESC LIMIT ?"
    )


def _rows(statement: str) -> Iterator[tuple[str, str]]:
    """Yield the first two columns of at most `RUNS_MAX` rows that an SQL statement selects.

    A completion reports no errors, because nobody would read them.
    """
    import apsw

    from replan.setup.home_folder import locate_home
    from runtime.logs.terminal_text import clean

    with contextlib.suppress(Exception):
        journal = locate_home().journal
        if os.environ.get("REPLAN_JOURNAL") or not journal.exists():  # A database may take long to answer.
            return
        with contextlib.closing(apsw.Connection(str(journal), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            for name, text in connection.execute(statement, (RUNS_MAX,)):
                yield str(name), clean(str(text), one_line=True)


def _questions_of(runs: Sequence[str]) -> list[tuple[str, str]]:
    """Return the ids and texts of all open questions of some runs. A run that cannot be read is left out."""
    from actors.run.open_question import decode_questions
    from replan.cli.reading import read_at_once, resolve_named
    from replan.runs.reader import RunReader
    from replan.setup.home_folder import locate_home
    from runtime.logs.terminal_text import clean

    async def questions(reader: RunReader) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for run in runs:
            with contextlib.suppress(Exception):
                name = await resolve_named(reader, run)
                loaded = await reader.read(name)
                items = decode_questions(loaded.kind.machine.summary(await reader.with_inbox(name, loaded)).asks)
                found += [(str(item["id"]), clean(str(item["text"]), one_line=True)) for item in items]
        return found

    with contextlib.suppress(Exception):
        home = locate_home()
        here = home.journal.exists() and not os.environ.get("REPLAN_JOURNAL")
        done = read_at_once(home, questions, warn=False) if here else None
        return [] if done is None else done[0]
    return []
