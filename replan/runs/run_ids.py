"""The names of runs: a new one, the one that the start of it means, and those of the runs that a run's steps are."""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from actors.planning.ids import child_run, is_child
from actors.planning.state import PlanningState
from actors.run.state import NotStarted
from replan.setup.command_name import program
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.journal.port import RunRow

START_MIN = 6
"""The characters of a run's id that name it, where no other id begins so."""

Load = Callable[[str], Awaitable[tuple[PlanningState, Sequence[Record[Any]]]]]
"""Returns a run's state and its records. Raises `RunNotFound`, `JournalDamaged`."""


def new_run_id() -> str:
    """Return a run id that nobody else has: eight letters and digits, easy to type."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(8))


def find_run(rows: list[RunRow], wanted: str) -> str:
    """Return the run that an id or an unambiguous start of one (`START_MIN` characters or more) names.

    Raises `RunNotFound`, and `UsageProblem` when several match.
    """
    if wanted in [row.run for row in rows]:
        return wanted
    names = [row.run for row in rows if "." in wanted or not is_child(row.run)]
    near = [name for name in names if name.startswith(wanted)]
    if near and len(wanted) < START_MIN:
        raise RunNotFound(wanted, cause=f"{wanted!r} is too short: a run is named by {START_MIN} characters at least")
    if not near:
        raise RunNotFound(wanted)
    if len(near) > 1:
        raise UsageProblem(f"{wanted!r} is the start of {len(near)} runs", place="RUN", hint=", ".join(near[:5]))
    return near[0]


def children_of(state: PlanningState) -> list[str]:
    """Return the runs that a run's attempts have been, the oldest first."""
    if isinstance(state, NotStarted):
        return []
    return [child_run(state.run.run_id, name) for name, node in state.nodes.items() if state.config.child_of(node.step)]


async def top_of(load: Load, run: str) -> str:
    """Return the run that a run is a step of, however far up, or the run itself where a person has started it.

    The records of the runs above tell, and not the id, which anybody may have given. Raises `JournalDamaged` for them.
    """
    top = run
    while above := top.rpartition(".")[0]:
        with suppress(RunNotFound):
            state, _ = await load(above)
            if top in children_of(state):
                top = above
                continue
        break
    return top


async def check_own(load: Load, run: str, way: str) -> None:
    """Refuse to act on a run that is a step of another: its books are that one's, which alone goes on with it.

    `way` is what to do instead, with `RUN` in the place of the top one's id. Raises `UsageProblem`, and as `top_of`.
    """
    top = await top_of(load, run)
    if top != run:
        hint = f"`{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, which alone goes on with it", place=run, hint=hint)
