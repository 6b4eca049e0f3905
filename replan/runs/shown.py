"""A run as every face shows it: its row, records, status and result, after the messages of its inbox."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from replan.runs.families import LinkedRun, runs_made_from, top_of
from replan.runs.loaded import Loaded
from replan.runs.status import status_of
from runtime.journal.head import place_moved_to
from runtime.journal.port import RunRow
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from actors.run.state import RunState
    from replan.runs.reader import RunReader


@dataclass(frozen=True, slots=True)
class ShownRun:
    """What a face needs to show one run; nothing is read again."""

    row: RunRow
    """The status row, after the last record."""
    loaded: Loaded
    """The run's kind, state and records."""
    status: str
    """The status for people: `running`, `waiting`, `parked`, `finished` or `moved`."""
    result: "RunResult"
    with_inbox: Any
    """The state after the unread messages of the inbox."""
    top: str
    """The run that it is a step of, however far up, or itself."""
    hosted: bool
    """Whether a host that drives runs of this kind serves the home."""
    linked: tuple[LinkedRun, ...] = ()
    """The runs that were made from its result, such as executions of its plan, the newest first."""

    @property
    def common(self) -> "RunState[Any] | None":
        """The common part of the state after the inbox; None before the run began."""
        return self.loaded.kind.run_state(self.with_inbox)

    @property
    def result_json(self) -> dict[str, Any]:
        """The result as programs read it, with whether the run goes on by itself."""
        return {**self.result.to_json(), "driven": self.driven}

    @property
    def moved_to(self) -> str | None:
        """The journal that the run was moved to; None where it is here."""
        return place_moved_to(self.row.owner)

    @property
    def driven(self) -> bool:
        """Whether the run goes on by itself: a process drives it, or a host takes it up."""
        if self.moved_to is not None:
            return False
        return self.hosted or (self.row.owner is not None and not is_dead(self.row.owner))


async def read_shown(reader: "RunReader", run: str) -> ShownRun:
    """Return one run to be shown. Raises the errors of `RunReader.read`."""
    loaded, row = await reader.read_with_row(run)
    with_inbox, top = await reader.with_inbox(run, loaded), await top_of(reader, run)
    hosted = await reader.has_host(row.kind, row.format)
    status = status_of(row, hosted=hosted, with_inbox=loaded.kind.run_state(with_inbox))
    result = reader.view(run, loaded.kind, loaded.state, status, with_inbox)
    linked = tuple(await runs_made_from(reader, run))
    return ShownRun(row, loaded, status, result, with_inbox, top, hosted, linked)
