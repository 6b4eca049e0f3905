"""The ids of runs: making a new one, and resolving a prefix."""

import secrets

from actors.run.ids import is_child
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.journal.port import RunRow

PREFIX_MIN = 6
"""The shortest prefix that names a run, where no other id begins with it."""


def new_run_id() -> str:
    """Return a new run id: eight letters and digits, easy to type."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(8))


def find_run(rows: list[RunRow], wanted: str) -> str:
    """Return the run that an id or an unambiguous prefix (`PREFIX_MIN` characters or more) names.

    Raises `RunNotFound`, and `UsageProblem` when several match.
    """
    if wanted in [row.run for row in rows]:
        return wanted
    names = [row.run for row in rows if is_child(wanted) or not is_child(row.run)]
    near = [name for name in names if name.startswith(wanted)]
    if near and len(wanted) < PREFIX_MIN:
        raise RunNotFound(wanted, cause=f"{wanted!r} is too short: a run is named by {PREFIX_MIN} characters at least")
    if not near:
        raise RunNotFound(wanted)
    if len(near) > 1:
        raise UsageProblem(f"{wanted!r} is the start of {len(near)} runs", place="RUN", hint=", ".join(near[:5]))
    return near[0]
