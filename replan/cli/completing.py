"""What the shell completes: run ids, workflows, searches and policies. Reads the home, and writes nothing."""

import contextlib
from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

RUNS_MAX = 100
"""Runs that are offered, the newest."""
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
"""The searches by name, those with a number with a usual one."""


def complete_run(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of runs that begin so, the newest first, each with its title."""
    return [CompletionItem(run, help=title) for run, title in _runs() if run.startswith(incomplete)]


def complete_workflow(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shipped workflows that begin so, or files."""
    return _shipped("workflows", incomplete)


def complete_policy(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shipped policies that begin so, or files."""
    return _shipped("policies", incomplete)


def complete_search(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the searches that begin so."""
    return _beginning(SEARCHES, incomplete)


def _shipped(folder: str, incomplete: str) -> list[CompletionItem]:
    from replan.setup.data_files import data_root

    names = sorted(path.stem for path in (data_root() / "configs" / folder).glob("*.yaml"))
    return _beginning(names, incomplete) or [CompletionItem(incomplete, type="file")]


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _runs() -> Iterator[tuple[str, str]]:
    """Yield id and title of the newest runs. A completion reports no errors: there is nobody who would read them."""
    import apsw

    from replan.setup.home_folder import locate_home
    from runtime.logs.terminal_text import clean

    with contextlib.suppress(Exception):
        journal = locate_home().journal
        if not journal.exists():
            return
        with contextlib.closing(apsw.Connection(str(journal), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            statement = "SELECT run, title FROM runs WHERE run NOT LIKE '%.%' ORDER BY id DESC LIMIT ?"
            for run, title in connection.execute(statement, (RUNS_MAX,)):
                yield str(run), clean(str(title), one_line=True)
