"""Waiting until a run rests: it has ended, asks somebody, or nobody goes on with it."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing

import trio

from replan.runs.shown import ShownRun, read_shown
from replan.service.service import Service
from runtime.core.errors import JournalError

OnChange = Callable[[ShownRun], Awaitable[None]]
"""A function that is called with the run when it has changed, and now and then while it has not."""


def at_rest(service: Service, shown: ShownRun) -> bool:
    """Tell whether nothing happens to a run before a person or a program does something."""
    common = shown.common
    match shown.status:
        case "finished" | "moved":
            return True
        case "waiting":
            return common is not None and bool(common.open_questions)
        case "parked" if shown.row.status == "parked":
            handed_over = common is not None and common.handover and not common.parked_reason
            return not (handed_over and (service.waiting is not None or shown.hosted))
        case "parked":  # Either nobody drives it, or it waits for its provider.
            return service.waiting is None and not shown.driven
        case _:
            return False


async def wait_for_rest(service: Service, run: str, seconds: float, on_change: OnChange) -> ShownRun:
    """Return a run once it rests, or as it is after some seconds. Raises as `read_shown` does."""
    shown = await read_shown(service.reader, run)
    known: tuple[object, ...] = ()
    with trio.move_on_after(seconds):
        async with aclosing(service.hub.changes(service.stop)) as changes:
            async for changed in changes:
                try:
                    row = await service.engine.journal.row(run)
                    facts = row.last_seq, row.owner, row.unread, row.updated
                    if changed and facts == known:
                        continue  # Something else of the home has changed.
                    shown, known = await read_shown(service.reader, run), facts
                except JournalError as error:
                    if not error.passing:
                        raise
                    continue  # The next change, or the next ping, tells.
                if at_rest(service, shown):
                    break
                await on_change(shown)
    return shown
