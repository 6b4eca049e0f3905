"""Runs that belong together: a run with those of its steps, the one on top of them, and those made from its result."""

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from actors.run.ids import is_child
from replan.runs.run_ids import ALL
from replan.runs.status import status_of
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.port import RunFilter

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


async def family_of(reader: "RunReader", run: str, ids: Container[str], above: Container[str]) -> dict[str, str | None]:
    """Return a run and the runs of its steps, however far down, each with the run that it is a step of.

    `ids` are the ids of all runs, `above` those of them that may have steps which are runs; only these are read. The
    steps of a run that cannot be read are not found.
    """
    family, waiting = dict[str, str | None]({run: None}), [run]
    while waiting:
        parent = waiting.pop()
        for child in await _children(reader, parent) if parent in above else ():
            if child in ids and child not in family:
                family[child] = parent
                waiting.append(child)
    return family


def runs_above(ids: Iterable[str]) -> frozenset[str]:
    """Return the ids that runs of steps are named after."""
    return frozenset(name.rpartition(".")[0] for name in ids if is_child(name))


async def _children(reader: "RunReader", run: str) -> Sequence[str]:
    try:
        loaded = await reader.read(run)
    except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
        return ()
    return loaded.kind.children(loaded.state) if loaded.started else ()


async def top_of(engine: "RunReader", run: str) -> str:
    """Return the run that a run is a step of, however far up, or the run itself where a person has started it.

    The records of the runs above decide, and not the id, which a program may choose freely. Raises `JournalDamaged` for
    them.
    """
    top = run
    while is_child(top):
        above = top.rpartition(".")[0]
        with suppress(RunNotFound):
            loaded = await engine.read(above)
            if loaded.started and top in loaded.kind.children(loaded.state):
                top = above
                continue
        break
    return top


async def check_own(engine: "RunReader", run: str, way: str) -> None:
    """Check that a run is no step of another run. Only that other run goes on with its step.

    `way` is the command to use instead, with `RUN` in the place of the top run's id. Raises `UsageProblem`, and the
    errors of `top_of`.
    """
    top = await top_of(engine, run)
    if top != run:
        hint = f"`{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, and only that run goes on with it", place=run, hint=hint)


LINKED_MAX = 20
"""The most runs that are named."""


class LinkedRun(NamedTuple):
    """A run that was made from another one."""

    run: str
    """Its id."""
    kind: str
    """The name of its kind."""
    status: str
    """Its status for people."""
    outcome: str
    """How it ended; empty until it has finished."""


async def runs_made_from(reader: "RunReader", run: str) -> list[LinkedRun]:
    """Return the runs that were made from a run, the newest first, `LINKED_MAX` at most.

    Only rows whose title names the run are read; a run that cannot be read is left out.
    """
    linked: list[LinkedRun] = []
    for row in await reader.journal.runs(RunFilter(title_start=f"plan {run}: ", limit=ALL.limit)):
        if len(linked) >= LINKED_MAX:
            break
        try:
            loaded = await reader.read(row.run)
        except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
            continue
        if loaded.kind.made_from(loaded.state) == run:
            status = status_of(row, hosted=await reader.has_host(row.kind, row.format))
            outcome = row.detail if status == "finished" else ""
            linked.append(LinkedRun(row.run, row.kind, status, outcome))
    return linked
