"""Runs that belong together: a run, its steps, and the runs made from its result.

Also reads everything that is shown of a run.
"""

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from actors.run.ids import is_child
from replan.runs.loaded import Loaded
from replan.runs.reader import ALL, status_of
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.journal.head import place_moved_to
from runtime.journal.port import RunFilter, RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from actors.run.state import RunState
    from replan.runs.reader import RunReader


async def family_of(reader: "RunReader", run: str, ids: Container[str], above: Container[str]) -> dict[str, str | None]:
    """Return a run and the runs of its steps at any depth, each with its parent run; None for the run itself.

    `ids` are the ids of all runs. `above` are the ids of runs that may have child runs. Only these runs are read. Steps
    of a run that cannot be read are not found.
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
    """Return the ids of the runs that have child runs. The id of such a run is a prefix of its child runs' ids."""
    return frozenset(name.rpartition(".")[0] for name in ids if is_child(name))


async def _children(reader: "RunReader", run: str) -> Sequence[str]:
    try:
        loaded = await reader.read(run)
    except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
        return ()
    return loaded.kind.children(loaded.state) if loaded.started else ()


async def _top_of(engine: "RunReader", run: str) -> str:
    """Return the top run of a family: the run itself, or the highest of its parent runs.

    The records of the parent runs decide, not the id, since a program may choose any id. Raises `JournalDamaged` if the
    records of a parent are damaged.
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
    """Check that a run is not a step of another run, because only the other run can continue its step.

    `way` is the command to use instead, with `RUN` in the place of the top run's id. Raises `UsageProblem`, and the
    errors of `_top_of`.
    """
    top = await _top_of(engine, run)
    if top != run:
        hint = f"use `{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, and only that run can continue it", place=run, hint=hint)


LINKED_MAX = 20
"""The largest number of listed runs that were made from another run."""


class LinkedRun(NamedTuple):
    """A run that was made from another run."""

    run: str
    kind: str
    status: str
    outcome: str


async def runs_made_from(reader: "RunReader", run: str) -> list[LinkedRun]:
    """Return the runs that were made from a run, the newest first, `LINKED_MAX` at most.

    Only runs whose title names the run are read. A run that cannot be read is left out.
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


@dataclass(frozen=True, slots=True)
class ShownRun:
    """Everything that a page or a command shows of one run."""

    row: RunRow
    loaded: Loaded
    status: str
    result: "RunResult"
    with_inbox: Any
    """The state after the unread messages of the inbox."""
    top: str
    """The run that this run is a step of, at any depth; or the run itself."""
    hosted: bool
    """Whether a host that drives runs of this kind serves the home."""
    linked: tuple[LinkedRun, ...] = ()
    """The runs that were made from the run's result, such as executions of its plan, the newest first."""

    @property
    def common(self) -> "RunState[Any] | None":
        """The common part of the state after the inbox; None before the run has begun."""
        return self.loaded.kind.run_state(self.with_inbox)

    @property
    def result_json(self) -> dict[str, Any]:
        """The result as programs read it, and whether the run goes on by itself."""
        return {**self.result.to_json(), "driven": self.driven}

    @property
    def moved_to(self) -> str | None:
        """The journal that the run was moved to; None if it was not moved."""
        return place_moved_to(self.row.owner)

    @property
    def driven(self) -> bool:
        """Whether the run goes on by itself, because a process drives it or a host will."""
        if self.moved_to is not None:
            return False
        return self.hosted or (self.row.owner is not None and not is_dead(self.row.owner))


async def read_shown(reader: "RunReader", run: str) -> ShownRun:
    """Return one run with everything that is shown of it. Raises the errors of `RunReader.read`."""
    loaded, row = await reader.read_with_row(run)
    with_inbox, top = await reader.with_inbox(run, loaded), await _top_of(reader, run)
    hosted = await reader.has_host(row.kind, row.format)
    status = status_of(row, hosted=hosted, with_inbox=loaded.kind.run_state(with_inbox))
    result = reader.view(run, loaded.kind, loaded.state, status, with_inbox)
    linked = tuple(await runs_made_from(reader, run))
    return ShownRun(row, loaded, status, result, with_inbox, top, hosted, linked)
