"""Finds related runs: the child runs of a run, its parent runs, and the runs made from its result.

Also reads everything that pages and commands show of one run.
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
    """Return a mapping from each child run of a run, at any depth, to its parent run; and from the run itself to None.

    `ids` has the ids of all stored runs. `above` has the ids of the runs that may have child runs; only these runs are
    read. If one of them cannot be read, the mapping lacks its child runs.
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
    """Return the ids of the runs that have child runs. The id of a child run begins with its parent run's id."""
    return frozenset(name.rpartition(".")[0] for name in ids if is_child(name))


async def _children(reader: "RunReader", run: str) -> Sequence[str]:
    try:
        loaded = await reader.read(run)
    except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
        return ()
    return loaded.kind.children(loaded.state) if loaded.started else ()


async def _top_of(engine: "RunReader", run: str) -> str:
    """Return the top parent run of a child run at any depth; for any other run, return the run itself.

    A run is a child run only if the records of its parent run name it. Its id is no proof, because a program may choose
    any id. Raises `JournalDamaged` if the records of a parent run are damaged.
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
    """Raise `UsageProblem` if a run is a child run, because only its parent run can continue it.

    The hint of the error is the command `way`, in which the id of the top parent run replaces the word `RUN`. Raises
    the errors of `_top_of`.
    """
    top = await _top_of(engine, run)
    if top != run:
        hint = f"use `{program()} {way.replace('RUN', top)}`"
        raise UsageProblem(f"the run is a step of run {top}, and only that run can continue it", place=run, hint=hint)


LINKED_MAX = 20
"""The largest number of runs that `runs_made_from` returns."""


class LinkedRun(NamedTuple):
    """A run that was made from another run, such as the execution of its plan."""

    run: str
    kind: str
    status: str
    outcome: str


async def runs_made_from(reader: "RunReader", run: str) -> list[LinkedRun]:
    """Return the runs that were made from a run, the newest first, at most `LINKED_MAX`.

    Only runs whose title contains the run's id are read. The list lacks runs that cannot be read.
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
    """The state of the run after the unread messages in its inbox."""
    top: str
    """The id of the top parent run if this run is a child run, otherwise the id of this run."""
    hosted: bool
    """Whether a running host of the home drives runs of this kind."""
    linked: tuple[LinkedRun, ...] = ()
    """The runs that were made from the run's result, such as executions of its plan, the newest first."""

    @property
    def common(self) -> "RunState[Any] | None":
        """The common part of the state after the unread messages; None before the run has begun."""
        return self.loaded.kind.run_state(self.with_inbox)

    @property
    def result_json(self) -> dict[str, Any]:
        """The result as a JSON object, with the key `driven`."""
        return {**self.result.to_json(), "driven": self.driven}

    @property
    def moved_to(self) -> str | None:
        """The journal to which the run was moved; None if the run was not moved."""
        return place_moved_to(self.row.owner)

    @property
    def driven(self) -> bool:
        """Whether the run continues without a `resume`: a process drives it, or a host will drive it."""
        if self.moved_to is not None:
            return False
        return self.hosted or (self.row.owner is not None and not is_dead(self.row.owner))


async def read_shown(reader: "RunReader", run: str) -> ShownRun:
    """Return a `ShownRun` for one run. Raises the errors of `RunReader.read`."""
    loaded, row = await reader.read_with_row(run)
    with_inbox, top = await reader.with_inbox(run, loaded), await _top_of(reader, run)
    hosted = await reader.has_host(row.kind, row.format)
    status = status_of(row, hosted=hosted, with_inbox=loaded.kind.run_state(with_inbox))
    result = reader.view(run, loaded.kind, loaded.state, status, with_inbox)
    linked = tuple(await runs_made_from(reader, run))
    return ShownRun(row, loaded, status, result, with_inbox, top, hosted, linked)
