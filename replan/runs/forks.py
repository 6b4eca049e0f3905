"""Forks a run: a new run begins with copies of the run's first records, and continues independently.

The original run does not change. It may be driven, wait, be parked or have ended. `actors.run.fork_rules` decides which
parts of the state a fork keeps.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from actors.execution.state import State
from actors.files.suggestions import nearest
from actors.run.fork_event import Forked, ForkWorkspace
from actors.run.fork_rules import calls_before_fork
from actors.run.ids import call_of
from actors.run.kind import ForkConfig
from actors.run.result import RunResult
from actors.run.settings import change_of
from actors.run.state import RunState
from actors.run.tools import ToolFinished
from actors.run.waits import Started, TimedEvent
from actors.tools.fork_workspace import LeftFolder, clear_workspace, free_folder, make_workspace, remove_workspace
from replan.runs.changes import Changes, message_of, name_limits
from replan.runs.engine import Engine
from replan.runs.executing import EXECUTION, unfinished_executions
from replan.runs.families import check_own
from replan.runs.inbox import not_started
from replan.runs.loaded import AnyKind, Loaded
from replan.runs.prepare import setup_for
from replan.runs.reader import new_run_id
from replan.setup.home_folder import locate_home
from replan.setup.installation import program
from replan.setup.settings import choose_model, read_user_config
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import Limits
from runtime.core.machine import Refused, fold
from runtime.core.messages import Mailed
from runtime.journal.head import check_here, place_moved_to
from runtime.journal.port import ORDINARY, Fact, RunRow
from runtime.logs import log

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


BEFORE = "before:"
"""A prefix for an attempt's id in `ForkRequest.at`. With this prefix, the fork copies nothing of the attempt, and
repeats the attempt.
"""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """Where a fork begins, and what it changes."""

    at: str = ""
    """The last record that the fork copies: the number of the record, or the id of an attempt, whose verdict is then
    copied too. With the prefix `BEFORE`, nothing of the attempt is copied. If empty, all records before the run's end
    are copied.
    """
    workflow: str | None = None
    """The workflow of the fork's new records; None if it does not change."""
    policy: str | None = None
    """The policy of the fork's new records. None uses the policy of the new workflow, or of the run if the workflow
    does not change.
    """
    changes: Changes = field(default_factory=Changes)
    """The limits and the model of the fork."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Values that replace values that the run has found. A key is the path of a field, and its value is the new value
    as text.
    """
    workspace: Path | None = None
    """The folder to create for the tools of an execution's fork; None creates one beside the original workspace."""


async def fork_run(
    engine: Engine, run: str, wanted: ForkRequest, environment: Mapping[str, str] = os.environ, *, name: str = ""
) -> str:
    """Record a fork of a run, and return the fork's id. `name` is this id; if it is empty, a new id is made.

    Raises `RunNotFound`, `RunMoved`, `KindUnknown`, `JournalDamaged`, and `UsageProblem` with the keyword as its
    `place`. A `UsageProblem` has one of these causes. The run never began, or is a child run. The run has no record
    `at`, or no snapshot of the workspace at this record. A change is not valid, or the new workflow has other steps.
    The workspace cannot be created.
    """
    await check_own(engine, run, "fork RUN")
    row = await engine.journal.row(run)
    check_here(run, row.owner)
    loaded = await engine.read(run)
    if not loaded.started:
        raise not_started(run)
    kind, states = loaded.kind, loaded.states
    name = name or new_run_id()
    events = [record.event for record in loaded.records]
    workspace = kind.fork_workspace(zip(events, states, strict=True))
    place = _place(loaded, states, wanted.at, run, workspace)
    state = states[place - 1]
    fork_config = _fork_config(engine, loaded, state, wanted, environment)
    folder = _folder_to_make(workspace, place, wanted, name, locate_home(environment).folder)
    if folder is not None:
        fork_config = ForkConfig(kind.in_workspace(state, str(folder.folder)), state.run.ledger.limits.stop_below)
    now = engine.clock.now()
    forked = _fork_event(loaded, place, now, fork_config, state.run.ledger.limits)
    if folder is not None:
        forked = forked.model_copy(update={"workspace": str(folder.folder)})
    first = events[0].model_copy(update={"run": name, "shared": place, "by": engine.by})
    facts = [first, *events[1:place], forked]
    state = fold(kind.machine, facts)
    if wanted.changes:
        facts.append(_change_event(wanted.changes, state, engine.view(run, kind, state, "parked"), now, environment))
        state = kind.machine.evolve(state, facts[-1])
    for path, text in wanted.given.items():
        facts.append(_value_event(kind, state, path, text, now))
        state = kind.machine.evolve(state, facts[-1])
    async with nullcontext() if folder is None else folder.make(name):
        records = await engine.journal.create(
            name,
            row.title,
            kind.name,
            kind.format,
            facts=[Fact(event) for event in facts],
            summary=kind.machine.summary(state),
            placement=row.placement if engine.placement == ORDINARY else engine.placement,
        )
    for record in records[place:]:
        log.log_record(record)
    engine.wakeup.wake()
    return name


@dataclass(frozen=True, slots=True)
class _MadeFolder:
    """The folder to create for a fork's tools. It is created from a workspace and one of its snapshots."""

    source: Path
    snapshot: str
    folder: Path
    home: Path

    @asynccontextmanager
    async def make(self, run: str) -> AsyncIterator[None]:
        """Create the folder for the fork with the id `run`.

        If the block raises, the folder is removed. Raises `UsageProblem`.
        """
        place = (self.source, self.snapshot, self.folder, self.home)
        await trio.to_thread.run_sync(make_workspace, *place, run)
        try:
            yield
        except BaseException:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(remove_workspace, *place)
            raise


def _folder_to_make(
    workspace: ForkWorkspace | None, place: int, wanted: ForkRequest, name: str, home: Path
) -> _MadeFolder | None:
    if workspace is None:
        if wanted.workspace is not None:
            raise UsageProblem("runs of this kind have no workspace", place="workspace", hint="leave it out")
        return None
    source = Path(workspace.folder)
    folder = free_folder(wanted.workspace or source.with_name(f"{source.name}-{name}"), home)
    return _MadeFolder(source, workspace.snapshots[place - 1], folder, home)


def _place(loaded: Loaded, states: Sequence[Any], at: str, run: str, workspace: ForkWorkspace | None) -> int:
    going_on = [seq for seq, state in enumerate(states, 1) if state.run.finished is None]
    shown = [seq for seq in going_on if workspace is None or workspace.snapshots[seq - 1]]
    if at:
        place = int(at) if at.isascii() and at.isdigit() else _place_of_attempt(loaded.records, at, run)
        if not 1 <= place <= loaded.seq:
            cause = f"the run has the records 1 to {loaded.seq}, and no record {place}"
            raise UsageProblem(cause, place="at", hint=f"`{program()} log {run}` lists the records")
    else:
        place = max(shown, default=going_on[-1])
        end = _common(loaded).finished
        if end is not None and end.final:
            cause = f"the run has ended ({end.outcome}), so a fork has to begin before its end"
            raise UsageProblem(cause, place="at", hint=f"name an attempt of `{program()} show {run} --tree`")
    if place not in going_on:
        before = max(seq for seq in going_on if seq < place)
        raise UsageProblem(
            f"the run had already ended at record {place}", place="at", hint=f"fork at record {before}, or before it"
        )
    if place not in shown:
        if not shown:
            cause = "the run has no snapshot of its workspace, so a fork would not have its files"
            raise UsageProblem(cause, place=run, hint="start a new run instead")
        near = min(shown, key=lambda seq: (abs(seq - place), seq))
        cause = f"there is no snapshot of the workspace at record {place}"
        raise UsageProblem(cause, place="at", hint=f"the nearest record with a snapshot is {near}")
    return place


def _place_of_attempt(records: Sequence[Record[Any]], at: str, run: str) -> int:
    """Return the number of the last record to copy for an attempt: the attempt's last reply, verdict or output.

    With the prefix `BEFORE`, return the number of the record before the attempt's first record.
    """
    node = at.removeprefix(BEFORE)
    # An execution's records are about the phases of an attempt.
    node_pattern = re.compile(rf"{re.escape(node)}(\.[a-z_]+)?")
    attempt_records = [record for record in records if node_pattern.fullmatch(_node(record.event))]
    if not attempt_records:
        known = dict.fromkeys(filter(None, (_node(record.event) for record in records)))
        hint = nearest(node[:100], known, kind="attempts") or f"`{program()} show {run} --tree` lists the attempts"
        raise UsageProblem(f"the run has no attempt {node[:100]!r}", place="at", hint=hint)
    if at.startswith(BEFORE):
        return attempt_records[0].seq - 1
    result_numbers = [record.seq for record in attempt_records if isinstance(record.event, TimedEvent)]
    return result_numbers[-1] if result_numbers else attempt_records[-1].seq


def _node(event: Any) -> str:
    if isinstance(event, ToolFinished):
        return call_of(event.request_id).removeprefix("tool:")
    return getattr(event, "node", None) or ""


def _common(loaded: Loaded) -> RunState[Any]:
    common = loaded.kind.run_state(loaded.state)
    assert common is not None, "the run has begun"
    return common


def _fork_event(loaded: Loaded, place: int, now: float, fork_config: ForkConfig | None, before: Limits) -> Forked:
    """Return the event that follows the shared records in the fork.

    The fork has as much time until its deadline as the original run had when it started.
    """
    events = [record.event for record in loaded.records]
    first: Started = events[0]
    limits: dict[str, Any] = dict(before)
    if limits["deadline"] is not None:
        limits["deadline"] = now + max(1.0, limits["deadline"] - first.at)
    if fork_config is not None:
        limits["stop_below"] = fork_config.stop_below
    return Forked(
        at=now,
        origin=first.run,
        seq=place,
        hash=loaded.records[place - 1].hash,
        limits=Limits.model_validate(limits),
        pinned="" if fork_config is None else fork_config.pinned,
        made=calls_before_fork((seq > place, event) for seq, event in enumerate(events, 1)),
    )


def _fork_config(
    engine: Engine, loaded: Loaded, state: Any, wanted: ForkRequest, environment: Mapping[str, str]
) -> ForkConfig | None:
    """Return the configuration of the fork; None if neither the workflow nor the policy changes."""
    if wanted.workflow is None and wanted.policy is None:
        return None
    config = read_user_config(locate_home(environment).config)
    model = wanted.changes.model or loaded.kind.model(state)
    setup = setup_for(
        choose_model(model, environment, config),
        config=config,
        registry=engine.registry,
        root=engine.root,
        environment=environment,
        now=engine.clock.now(),
    )
    return loaded.kind.fork_config(state, wanted.workflow, wanted.policy, setup)


def _value_event(kind: AnyKind, state: Any, path: str, text: str, now: float) -> Any:
    if not kind.takes_values:
        raise UsageProblem("runs of this kind take no values", place="given", hint="leave them out")
    body = kind.correction(state, f"{path}={text}")
    if body is None:
        cause = f"{f'{path}={text}'[:60]!r} sets no field"
        raise UsageProblem(cause, place="given", hint="write PATH=VALUE in one line, such as core.currency=EUR")
    event = kind.machine.accept(state, Mailed(0, "fork", json.dumps(body), now))
    assert event is not None, "a correction is always accepted"
    assert not isinstance(event, Refused), "the kind has checked the value"
    return event


def _change_event(changes: Changes, state: Any, result: RunResult, now: float, environment: Mapping[str, str]) -> Any:
    run = state.run
    with name_limits():
        return change_of(run.ledger, message_of(changes, result, now, environment), now, never_strict=run.never_strict)


@dataclass(frozen=True, slots=True)
class MadeFolder:
    """The folder that was made for the tools of a fork."""

    run: str
    folder: Path
    snapshot: str
    """The id of the last snapshot in the fork's records."""


async def made_folders(reader: "RunReader", rows: Iterable[RunRow]) -> Sequence[MadeFolder]:
    """Return the folders that were made for the forks among some runs.

    The result lacks the folders of runs that cannot be read, or that were moved to another journal.
    """
    found = []
    for row in rows:
        if row.kind != EXECUTION or place_moved_to(row.owner) is not None:
            continue
        try:
            loaded = await reader.read(row.run)
        except (JournalDamaged, KindUnknown, RunNotFound, UsageProblem):
            continue
        state = loaded.state
        fork = state.run.fork if isinstance(state, State) else None
        if fork is None or not fork.workspace:
            continue
        events = (record.event for record in loaded.records)
        workspace = loaded.kind.fork_workspace(zip(events, loaded.states, strict=True))
        snapshots = [] if workspace is None else [*filter(None, workspace.snapshots)]
        if snapshots:
            found.append(MadeFolder(row.run, Path(fork.workspace), snapshots[-1]))
    return found


async def clear_folders(reader: "RunReader", folders: Sequence[MadeFolder], home: Path) -> tuple[LeftFolder, ...]:
    """Remove the folders of deleted forks. Return for each folder whether it was removed, or the reason why it is kept.

    A folder is kept if it has changed since the fork's last snapshot, or if an unfinished run works in it.
    """
    busy = {used: run async for run, used in unfinished_executions(reader)} if folders else {}
    results = []
    for folder in folders:
        if run := busy.get(folder.folder):
            results.append(LeftFolder(str(folder.folder), f"run {run} works in it and has not finished"))
            continue
        done = await trio.to_thread.run_sync(clear_workspace, folder.folder, folder.snapshot, home, folder.run)
        results += [] if done is None else [done]
    return tuple(results)
