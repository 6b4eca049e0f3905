"""The exit codes and their meanings. Finds the exit code of an error or a result. Scripts rely on these codes."""

from enum import IntEnum
from typing import TYPE_CHECKING

from runtime.core.errors import (
    Fenced,
    Held,
    JournalDamaged,
    JournalMoved,
    JournalNewer,
    JournalUncertain,
    JournalUnreachable,
    JournalUnreadable,
    KindUnknown,
    RunMoved,
    RunNotFound,
    UsageProblem,
)

if TYPE_CHECKING:
    from actors.run.result import RunResult


class Exit(IntEnum):
    """The exit codes of `replan`."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    UNSOLVED = 3
    PROVIDER = 4
    BUDGET = 5
    WAITING = 6
    CANCELLED = 7
    NOT_FOUND = 8
    JOURNAL = 9
    UNDONE = 10
    INTERRUPTED = 130
    UNREAD = 141
    TERMINATED = 143


MEANING = {
    Exit.OK: "a plan was found, or the command did its work",
    Exit.INTERNAL: "an internal error, a failed plug-in (the run is parked), or no space left to write",
    Exit.USAGE: "bad input, option or configuration",
    Exit.UNSOLVED: "no plan: the search has no move left, or the problem was not understood; `check` rejected a plan; "
    "an execution did not reach its goals; another kind of agent ended without success",
    Exit.PROVIDER: "the model's provider refused a call, could not be reached, or cut the replies; "
    "the run is parked and can be resumed",
    Exit.BUDGET: "the budget is used up, or no further call was worth it; the run can be resumed",
    Exit.WAITING: "the run waits for an answer from the user",
    Exit.CANCELLED: "the run was cancelled",
    Exit.NOT_FOUND: "there is no such run, or another process drives it",
    Exit.JOURNAL: "the journal cannot be read, is damaged, was moved while open, or was written by a newer release",
    Exit.UNDONE: "an execution ended, and everything that it had done is undone",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; the run is parked and can be resumed",
    Exit.UNREAD: "the program that reads the output stopped too early",
    Exit.TERMINATED: "ended by SIGTERM; the run is parked and can be resumed",
}
"""A mapping from an exit code to its meaning in one line. `replan explain exit` shows these lines."""

_OUTCOMES = {
    "success": Exit.OK,
    "all_pruned": Exit.UNSOLVED,
    "not_understood": Exit.UNSOLVED,
    "backtrack_ceiling": Exit.UNSOLVED,
    "budget_exhausted": Exit.BUDGET,
    "cancelled": Exit.CANCELLED,
    "undone": Exit.UNDONE,
}


_HELD = {"home_budget": Exit.BUDGET, "provider": Exit.PROVIDER, "plugin": Exit.INTERNAL, "reply": Exit.PROVIDER}
"""A mapping from the cause for which a run is parked to the exit code of the command that drove the run."""


def exit_of_error(error: BaseException) -> Exit:
    """Return the exit code of an error."""
    match error:
        case UsageProblem() | KindUnknown():
            return Exit.USAGE
        case RunNotFound() | RunMoved() | Held() | Fenced():
            return Exit.NOT_FOUND
        case JournalDamaged() | JournalNewer() | JournalMoved() | JournalUnreadable():
            return Exit.JOURNAL
        case JournalUnreachable() | JournalUncertain():
            return Exit.JOURNAL
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
        case _:
            return Exit.INTERNAL


def exit_of_result(result: "RunResult") -> Exit:
    """Return the exit code for the result of a run. If Replan has parked the run, the cause decides."""
    if result.status == "waiting":
        return Exit.WAITING
    if result.status == "parked" and result.cause:
        return _HELD.get(result.cause, Exit.INTERRUPTED)
    if result.status != "finished":
        return Exit.INTERRUPTED
    if result.outcome == "failed":
        return Exit.PROVIDER if result.cause == "provider" else Exit.INTERNAL
    return _OUTCOMES.get(result.outcome, Exit.UNSOLVED)  # Another one is of the kind's own, and no success.
