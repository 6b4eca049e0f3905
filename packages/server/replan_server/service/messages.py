"""Posts what clients send to runs: answers, messages, changed limits and cancels. A repeated post changes nothing."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from actors.run.inbox import ForPeopleOnly
from actors.run.questions import Via
from replan.runs import changes
from replan.runs.changes import Changes, post_changes
from replan.runs.editing import EditedMeanwhile, open_plan, post_edit
from replan.runs.inbox import AnswerReceipt
from replan.runs.reader import goes_on
from replan_server.service.access import Principal
from replan_server.service.limits import RequestRefused
from replan_server.service.service import Service
from replan_server.service.starting import go_on
from runtime.core.errors import UsageProblem
from runtime.journal.port import Posted

KEY_LETTERS = 32
"""How many characters of the hash of an idempotency key become part of a message's name."""

KEY_PATTERN = "[!-~]{1,100}"
"""The regular expression for idempotency keys: 1 to 100 printable ASCII characters without blanks."""
_KEY = re.compile(KEY_PATTERN)


def hash_key(key: str, who: Principal, action: str, *, place: str) -> str:
    """Return the hash of an idempotency key, its client and the action.

    Raises `UsageProblem` for a missing or wrong key.
    """
    if not _KEY.fullmatch(key):
        hint = "send up to 100 printable characters without blanks, and another key for each action"
        raise UsageProblem("the idempotency key is missing or wrong", place=place, hint=hint)
    return hashlib.sha256(f"{who.client}\n{action}\n{key}".encode()).hexdigest()


async def answer_question(service: Service, question: str, text: str | None, *, via: Via) -> AnswerReceipt:
    """Post a program's answer to the question `RUN/ID`, or a decline if `text` is None.

    `via` is the way in which the answer came. Raises `RequestRefused` if only a person may answer the question, or if
    somebody has posted another answer before. Raises the other errors of `Engine.answer`.
    """
    engine = service.engine
    try:
        receipt = await (engine.decline(question, via=via) if text is None else engine.answer(question, text, via=via))
    except ForPeopleOnly as problem:
        raise RequestRefused(f"{problem.cause}: {problem.hint}", "forbidden") from None
    if receipt.result == "conflict":
        raise RequestRefused("another answer was given before, and the first answer counts", "conflict")
    return receipt


async def tell(service: Service, who: Principal, run: str, text: str, kind: str, *, key: str = "") -> Posted:
    """Post a note or a requirement. If the message reopens a run that had ended, the run is resumed.

    `key` is a hashed idempotency key. Raises `RequestRefused` if another message came with the same key, and the errors
    of `Engine.tell`.
    """
    posted = _unless_conflict(await service.engine.tell(run, text, kind, key=key[:KEY_LETTERS]))
    await _resume_if_reopened(service, who, run)
    return posted


async def edit_plan(
    service: Service,
    run: str,
    plan: Mapping[str, Any],
    *,
    revision: int,
    edits: int,
    via: Via,
    dropped: Collection[str] = (),
) -> None:
    """Give a run an edited plan. `revision` and `edits` belong to the plan that was opened.

    Raises `RequestRefused` if the plan has changed since then, or if only a person may edit it. For an execution, it is
    also raised if the server executes no plans. Raises `EditRejected`, and the errors of `open_plan`.
    """
    engine = service.engine
    try:
        opened = await open_plan(engine, run)
        if opened.executes:
            service.check_execute()
        opened.check_revision(revision)
        await post_edit(engine, replace(opened, edits=edits), plan, via=via, dropped=dropped)
    except ForPeopleOnly as problem:
        raise RequestRefused(problem.cause, "forbidden") from None
    except EditedMeanwhile as problem:
        shown = "".join(f"\n{change}" for change in problem.changes)
        raise RequestRefused(f"{problem.cause}{shown}", "conflict") from None


async def change_limits(service: Service, who: Principal, run: str, changes: Changes, *, key: str = "") -> Posted:
    """Post changed limits within the ceilings. A run that had ended because of its limits is resumed.

    Raises `UsageProblem`, whose place is the wrong limit, and the errors of `tell`.
    """
    if not changes:
        raise UsageProblem("no changed limit is given", place="limits", hint="send at least one limit")
    service.offer.check_changes(changes)
    posted = _unless_conflict(await post_changes(service.engine, run, changes, key=key[:KEY_LETTERS]))
    await _resume_if_reopened(service, who, run)
    return posted


async def resume(service: Service, who: Principal, run: str) -> None:
    """Resume a run that is parked, or that has ended and may go on. Raises `RequestRefused`, `RunNotFound`."""
    if not await go_on(service, who, run):
        raise RequestRefused("this server drives no runs: it was started with --no-host", "conflict")


async def undo(service: Service, who: Principal, run: str) -> Posted:
    """Undo everything that an execution did, the last call first, also after its end.

    Raises `RequestRefused` if the run cannot go on yet, and the errors of `Engine.undo`.
    """
    posted = await service.engine.undo(run)
    await _resume_if_reopened(service, who, run)
    return posted


async def cancel(service: Service, run: str, *, shown_by: str) -> bool:
    """Cancel a run. Return whether the run has ended. If the run is cancelled already, nothing changes.

    `shown_by` is passed to `cancel_run`, whose errors are raised.
    """
    summary = (await service.engine.journal.row(run)).summary
    if (summary.status, summary.detail) == ("finished", "cancelled"):
        return True
    return await changes.cancel_run(service.engine, run, shown_by=shown_by)


async def _resume_if_reopened(service: Service, who: Principal, run: str) -> None:
    """Resume a run that has ended and may now go on, because hosts do not resume ended runs by themselves."""
    finished = (await service.engine.journal.row(run)).status == "finished"
    if not finished or not goes_on(await service.reader.common_with_inbox(run)):
        return
    try:
        await go_on(service, who, run)
    except RequestRefused as refused:
        raise RequestRefused(
            f"the message is recorded, but the run does not go on yet: {refused}", refused.reason
        ) from None


def _unless_conflict(posted: Posted) -> Posted:
    if posted.result == "conflict":
        raise RequestRefused("another message was posted with this idempotency key; use a new key", "conflict")
    return posted
