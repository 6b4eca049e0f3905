"""Runs with the runs of their steps, which are deleted and archived together."""

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from actors.run.ids import is_child
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem

if TYPE_CHECKING:
    from replan.runs.reader import Reading


async def family_of(reader: "Reading", run: str, known: Container[str], above: Container[str]) -> dict[str, str | None]:
    """Return a run and the runs of its steps, however far down, each with the run that it is a step of.

    `known` are the ids of all runs, `above` those of them that may have steps which are runs; only these are read. The
    steps of a run that cannot be read are not found.
    """
    family, waiting = dict[str, str | None]({run: None}), [run]
    while waiting:
        parent = waiting.pop()
        for child in await _children(reader, parent) if parent in above else ():
            if child in known and child not in family:
                family[child] = parent
                waiting.append(child)
    return family


def runs_above(known: Iterable[str]) -> frozenset[str]:
    """Return the ids that runs of steps are named after."""
    return frozenset(name.rpartition(".")[0] for name in known if is_child(name))


async def _children(reader: "Reading", run: str) -> Sequence[str]:
    try:
        loaded = await reader.read(run)
    except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
        return ()
    return loaded.kind.children(loaded.state) if loaded.started else ()
