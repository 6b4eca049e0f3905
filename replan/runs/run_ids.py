"""Makes the ids of runs, and resolves a prefix of an id."""

import secrets
from dataclasses import replace
from typing import Any

from actors.run.ids import is_child
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.core.names import RUN_ID
from runtime.journal.port import Readable, RunFilter, RunRow

ALL = RunFilter(limit=1_000_000)
"""The filter for every run of the home, since an id may name the oldest one."""
PREFIX_MIN = 6
"""The shortest prefix, in characters, that can name a run."""


SHOWN = 8
"""The number of characters of an id that pages show."""


def new_run_id() -> str:
    """Return a new run id: eight letters and digits, easy to type."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(SHOWN))


def short_id(run: str) -> str:
    """Return the part of a run's id that pages show. For a step of another run it begins after the last dot."""
    return run.rpartition(".")[2][:SHOWN]


async def resolve_run(journal: Readable[Any], prefix: str) -> str:
    """Return the run that an id, or an unambiguous prefix of one, names. Raises the errors of `find_run`.

    Rows are read only for a prefix: those of the runs whose ids begin with it.
    """
    try:
        return (await journal.row(prefix)).run
    except RunNotFound:
        if prefix and RUN_ID.fullmatch(prefix) is None:  # No id begins so.
            raise
        return find_run(await journal.runs(replace(ALL, run_start=prefix)), prefix)


def find_run(rows: list[RunRow], prefix: str) -> str:
    """Return the run whose id is `prefix`, or the only one whose id begins with it.

    A prefix has at least `PREFIX_MIN` characters. Raises `RunNotFound`, and `UsageProblem` if several runs match.
    """
    if prefix in [row.run for row in rows]:
        return prefix
    names = [row.run for row in rows if is_child(prefix) or not is_child(row.run)]
    near = [name for name in names if name.startswith(prefix)]
    if near and len(prefix) < PREFIX_MIN:
        raise RunNotFound(prefix, cause=f"{prefix!r} is too short: a run is named by {PREFIX_MIN} characters at least")
    if not near:
        raise RunNotFound(prefix)
    if len(near) > 1:
        raise UsageProblem(f"{prefix!r} is the start of {len(near)} runs", place="RUN", hint=", ".join(near[:5]))
    return near[0]
