"""Functions for stored runs: they admit, list, show, message, answer, change, cancel and delete the runs of a home.

Each function has a variant for trio and asyncio programs, whose name begins with `a`. The argument `run` is a run's id,
or at least its first six characters.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Unpack

from actors.run.limits import RunLimits
from actors.run.result import RunResult
from actors.values.format import moment
from replan.api.loops import blocking_form, name_keywords, run_in_any_loop
from replan.api.options import Home, environment_of, placement_of, run_at_home
from replan.runs.changes import Changes, cancel_run, post_changes
from replan.runs.engine import Engine
from replan.runs.home import open_home
from replan.runs.inbox import AnswerReceipt
from replan.runs.prepare import RunOrder, prepare
from replan.runs.reader import ALL, STATUSES, Status, resolve_run
from replan.runs.retention import delete_run
from replan.setup.home_folder import locate_home
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry
from replan.setup.settings import read_user_config
from replan.views.rows import row_to_json
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunFilter, RunRow


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in the list that `runs` returns."""

    run_id: str
    kind: str
    """The name of the run's kind, such as `planning`."""
    title: str
    status: str
    outcome: str
    """How the run ended; empty before its end."""
    question: str | None
    """The id (`RUN/ID`) of the run's first open question; None if the run has no open question."""
    created: datetime
    updated: datetime
    waiting_since: datetime | None
    """The time at which the run began to wait for a person (UTC); None if it does not wait."""
    next_wake: datetime | None
    """The time at which a waiting run must be resumed (UTC); None if the run waits for no time."""
    records: int
    """The number of the run's records so far; 0 for a run that has not begun."""
    source: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `replan runs --json` prints for the run."""
        return dict(self.source)


async def aruns(
    *, status: Status | None = None, waiting_longer_than: float | None = None, home: Home = None
) -> tuple[RunSummary, ...]:
    """Return the runs of a home, the newest first. Child runs are left out.

    `status` selects the runs with that status. `waiting_longer_than` selects the runs that have waited for a person for
    more than this number of seconds. A home that does not exist has no runs. Raises `UsageProblem` for an unknown
    status.
    """
    if status not in (None, *STATUSES):
        raise UsageProblem(f"there is no status {status!r}", place="status", hint=f"use one of {', '.join(STATUSES)}")
    before = None if waiting_longer_than is None else time.time() - waiting_longer_than
    state = "waiting" if before is not None else status
    which = RunFilter(status=state, waiting_since_before=before, limit=ALL.limit)

    async def read(engine: Engine) -> tuple[RunSummary, ...]:
        rows = await engine.rows(which)
        return tuple(_summary(row, shown) for row, shown in rows if status in (None, shown))

    return await run_at_home(home, read)


async def ashow(run: str, *, home: Home = None) -> RunResult:
    """Return the result of a run so far, a `Result` for a planning run.

    The result includes the effect of messages that the run has not read yet.

    Raises `RunNotFound`, `KindUnknown`, `JournalDamaged`.
    """

    async def read(engine: Engine) -> RunResult:
        return await engine.result(await resolve_run(engine.journal, run))

    return await run_at_home(home, read)


async def acancel(run: str, *, home: Home = None) -> RunResult:
    """Cancel a run for good, and return its result.

    Its findings are kept. To continue later, park the run instead. If another process drives the run, the cancellation
    may take more than five seconds. Then the status of the result is `running`. Raises `RunNotFound`, and
    `UsageProblem` for a run that has finished or is a step of another run.
    """

    async def end(engine: Engine) -> RunResult:
        name = await resolve_run(engine.journal, run)
        await cancel_run(engine, name)
        return await engine.result(name)

    return await run_at_home(home, end)


async def adelete(run: str, *, force: bool = False, keep_workspace: bool = False, home: Home = None) -> None:
    """Delete a run that has ended, for good, with its records, its messages and its child runs.

    With `force`, a run is deleted even if it has not ended. The folder made for a fork is removed too, unless it has
    changed since or `keep_workspace` is set. The amounts that the run has spent still count for the daily budgets.
    Raises `RunNotFound`, and `Held` for a run that is being driven. Raises `UsageProblem` for a run that has not ended
    or is a step of another run.
    """

    async def work(engine: Engine) -> None:
        name = await resolve_run(engine.journal, run)
        await delete_run(engine, name, force=force, keep_workspace=keep_workspace)

    await run_at_home(home, work)


runs = blocking_form(aruns)
show = blocking_form(ashow)
cancel = blocking_form(acancel)
delete = blocking_form(adelete)


def _summary(row: RunRow, status: str) -> RunSummary:
    shown = row_to_json(row, status)
    return RunSummary(
        run_id=row.run,
        kind=row.kind,
        title=row.title,
        status=status,
        outcome=shown.get("outcome", ""),
        question=shown.get("question"),
        created=moment(row.created),
        updated=moment(row.updated),
        waiting_since=None if row.waiting_since is None else moment(row.waiting_since),
        next_wake=None if "next_wake" not in shown or row.next_wake is None else moment(row.next_wake),
        records=row.last_seq,
        source=shown,
    )


async def aadmit(
    kind: str, task: Any, *, model: str | None = None, home: Home = None, tenant: str = "", priority: int = 0
) -> str:
    """Record the start of a run of any kind, and return its id.

    When this returns, the start is stored, and a host drives the run.

    `kind` is the name of an installed kind (`replan.kinds`). `task` is the input of the kind's `prepare`, such as a
    text for a small agent. `model` is in the form of `--model`. `home` is a folder, None for `$REPLAN_HOME`. `tenant`
    and `priority` are the same as for `start`. If no host serves the home, `replan resume` drives the run. Raises
    `UsageProblem` before anything is written, for a wrong kind, task, model or setting.
    """
    placement = placement_of(tenant, priority)

    async def work() -> str:
        environment = environment_of(home)
        config = read_user_config(locate_home(environment).config)
        kinds, plugins = Kinds(), registry()
        prepared = prepare(
            RunOrder(task, model, kind), registry=plugins, environment=environment, config=config, kinds=kinds
        )
        prepared.check_model()
        async with open_home(registry=plugins, kinds=kinds, environment=environment, config=config) as engine:
            return await replace(engine, placement=placement, by="python", asks=True).admit(prepared.request)

    return await run_in_any_loop(work)


admit = blocking_form(aadmit)


Kind = Literal["note", "requirement"]


async def atell(run: str, text: str, *, kind: Kind = "note", home: Home = None) -> None:
    """Post a message to a run. Later prompts show a note. A requirement changes the task, and acts at once.

    If the run takes values, a note `FIELD=VALUE` corrects a value, even after a success. The run uses the new value
    when it is resumed. `text` has at most 10,000 characters. Raises `RunNotFound`. Raises `UsageProblem` for a text
    that is empty or too long, a correction that cannot be applied, and a finished run.
    """
    await run_at_home(home, lambda engine: engine.tell(run, text, kind))


async def aanswer(question: str, text: str, *, home: Home = None) -> AnswerReceipt:
    """Answer the question with the id `RUN/ID`, and return a receipt.

    If the same answer was posted before, the receipt's result is `duplicate`. If a different answer was posted before,
    the result is `conflict`, and `stands` is the answer that counts. Raises `RunNotFound`, and `UsageProblem` for an
    unknown or closed question or an answer that does not fit its schema.
    """
    return await run_at_home(home, lambda engine: engine.answer(question, text, via="python"))


async def adecline(question: str, *, home: Home = None) -> AnswerReceipt:
    """Decline a question, and return a receipt. `AnswerReceipt.otherwise` says what happens then.

    Raises the errors of `aanswer`.
    """
    return await run_at_home(home, lambda engine: engine.decline(question, via="python"))


tell = blocking_form(atell)
answer = blocking_form(aanswer)
decline = blocking_form(adecline)


@name_keywords
async def alimits(
    run: str, *, model: str | None = None, strict: bool = False, home: Home = None, **limits: Unpack[RunLimits]
) -> RunResult:
    """Change the model or the limits of a run, and return its result.

    A keyword that is None changes nothing. Limits count from the start of the run, but `deadline` counts from now. With
    `strict`, plans that do not cover every demand of the text are rejected from now on. The run may be driven, wait, be
    parked, or have ended because its budget was spent. This function does not drive the run: `resume` or a host does.
    Raises `RunNotFound`. Raises `UsageProblem`, with the keyword as its `place`, for an invalid change or no change,
    and if the run's end is final.
    """
    changes = Changes(limits, model, strict)

    async def change(engine: Engine) -> RunResult:
        name = await resolve_run(engine.journal, run)
        await post_changes(engine, name, changes, engine.environment)
        return await engine.result(name)

    return await run_at_home(home, change)


limits = blocking_form(alimits)
