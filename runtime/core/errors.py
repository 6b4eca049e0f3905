"""The errors that the runtime raises, as a tree. The exit code of a command is in parentheses.

    ReplanError
        UsageProblem (2)
        JournalError
            RunNotFound (8)
            RunExists
            KindUnknown (2)
            Held (8)
            RunMoved (8)
            Fenced
            SequenceConflict
            JournalDamaged (9)
            JournalNewer (9)
            JournalUnreadable (9)
            JournalMoved (9)
            JournalBusy
            JournalUnreachable (9)
            JournalUncertain (9)
            StorageFull
            HomeBudgetSpent
        Halted
        Bug
            MachineRunsAway

A rejection by a guard is a value, never an error.
"""

from typing import TYPE_CHECKING

from runtime.core.extras import how_to_install
from runtime.core.names import describe

if TYPE_CHECKING:
    from runtime.core.daily_budget import HomeBudget
    from runtime.core.messages import Halt


class ReplanError(Exception):
    """Base of all errors; `str()` is the one line that a user sees."""


class UsageProblem(ReplanError):
    """Bad input. `place` is a file, key or flag, with a line if known. `hint` is the next step."""

    def __init__(self, cause: str, *, place: str = "", hint: str = "") -> None:
        self.cause, self.place, self.hint = cause, place, hint
        super().__init__("".join((f"{place}: " if place else "", cause, f" ({hint})" if hint else "")))


class JournalError(ReplanError):
    """Base of all journal errors."""

    passing = True
    """Whether a later try may succeed, for example after a busy journal or a held lease."""


class RunNotFound(JournalError):
    """No run has this id. `cause` is the message for the case that the user named no run."""

    passing = False

    def __init__(self, run: str, *, cause: str = "") -> None:
        self.run = run
        super().__init__(cause or f"no run {run!r}")


class RunExists(JournalError):
    """A run with this id exists already."""

    passing = False

    def __init__(self, run: str) -> None:
        self.run = run
        super().__init__(f"run {run!r} exists already")


class KindUnknown(JournalError):
    """No installed kind can read the run: its `kind` or its `format` version is unknown.

    `known` is the highest known format of the kind; None if the kind itself is unknown. `cause` completes a sentence
    that begins with "the run is". `hint` says what the user can do.
    """

    passing = False

    def __init__(self, run: str, kind: str, format: int, known: int | None) -> None:
        self.run, self.kind, self.format, self.known = run, kind, format, known
        if known is None:
            self.cause = f"of kind {kind!r}, which is not installed here"
            self.hint = how_to_install("kinds", kind) or "install the package that provides this kind"
        else:
            self.cause = (
                f"of kind {kind!r} in format {format}; the installed version of this kind reads formats up to {known}"
            )
            self.hint = "upgrade the package that provides this kind"
        super().__init__(f"run {run!r} is {self.cause} ({self.hint})")


class Held(JournalError):
    """Another process drives the run until its lease ends (`until`, UTC seconds since 1970)."""

    def __init__(self, run: str, owner: str, until: float) -> None:
        self.run, self.owner, self.until = run, owner, until
        driver = describe(owner)
        super().__init__(f"run {run!r} is driven by {driver} until its lease ends; wait for it or cancel the run")


class RunMoved(JournalError):
    """The run was moved to another journal, which `place` names."""

    passing = False

    def __init__(self, run: str, place: str) -> None:
        self.run, self.place = run, place
        super().__init__(f"run {run!r} was moved to {place}; continue the run there")


class Fenced(JournalError):
    """Another driver has claimed the run: this driver's epoch is older than the run's epoch.

    This driver must stop, and must not write anything.
    """

    passing = False

    def __init__(self, run: str, epoch: int, current: int) -> None:
        self.run, self.epoch, self.current = run, epoch, current
        super().__init__(
            f"another process has claimed run {run!r} (epoch {current}; this process has {epoch}); nothing was written"
        )


class SequenceConflict(JournalError):
    """The records of an append do not follow the run's last record."""

    passing = False

    def __init__(self, run: str, after: int, last: int) -> None:
        self.run, self.after, self.last = run, after, last
        super().__init__(f"run {run!r}: the new records follow record {after}, but the last record is {last}")


class JournalDamaged(JournalError):
    """A record, a text or the file is damaged: it fails its check."""

    passing = False

    def __init__(self, where: str, cause: str) -> None:
        self.where, self.cause = where, cause
        super().__init__(f"{where}: {cause}; restore a copy of the journal (nothing was changed)")


class JournalNewer(JournalError):
    """The journal was written by a newer release.

    `version` is the journal's version, and `newest` is the newest version that this release can read.
    """

    passing = False

    def __init__(self, where: str, version: int, newest: int) -> None:
        self.where, self.version, self.newest = where, version, newest
        newer = f"written by a newer release (version {version}; this release reads up to {newest})"
        super().__init__(f"{where}: {newer}; upgrade replan")


class JournalUnreadable(JournalError):
    """The journal exists, but is not a file, or cannot be opened, read or written; `hint` says what the user can do.

    The error may be temporary: permissions and disks can be restored.
    """

    def __init__(self, where: str, cause: str, hint: str) -> None:
        self.where, self.cause, self.hint = where, cause, hint
        super().__init__(f"{where}: {cause} ({hint})")


class JournalMoved(JournalError):
    """The file at the journal's path is not the open file any more, because it was removed, renamed or replaced."""

    passing = False

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"{where}: the journal was removed, renamed or replaced while open, so the file lacks the latest records; "
            "move it only while no command uses it"
        )


class JournalBusy(JournalError):
    """Other processes kept the journal busy for too long; the append was not written. The error is temporary."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"{where}: another process keeps the journal busy; try again")


class JournalUnreachable(JournalError):
    """The database of the journal cannot be reached; the append was not written. The error is temporary."""

    def __init__(self, where: str, cause: str) -> None:
        self.where, self.cause = where, cause
        super().__init__(f"{where}: the database cannot be reached: {cause}; look at the server, then try again")


class JournalUncertain(JournalError):
    """The database connection broke during a commit. It is not known yet whether the commit succeeded.

    The run's driver stops. The next driver reads what was written.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"{where}: the connection broke during a commit, which may have succeeded; "
            "resume the run, which then goes on from its stored records"
        )


class StorageFull(JournalError):
    """The disk is full; the append was not written."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"{where}: no room is left to write; free some space, then resume the run")


class HomeBudgetSpent(JournalError):
    """The daily budget does not allow a reservation. Nothing was written.

    `limit` describes the limit. `until` is when the next day begins (UTC seconds since 1970); None if runs do not wait
    for the next day. `budget` has the limits of a day, and `why` is the message.
    """

    def __init__(self, limit: str, until: float | None, budget: "HomeBudget") -> None:
        self.limit, self.until, self.budget = limit, until, budget
        setting = f"; {budget.setting}" if budget.setting else ""
        self.why = f"{budget.whose} for today is used up ({limit} a day, UTC{setting})"
        super().__init__(self.why)


class Halted(ReplanError):
    """An actor needs a person before its work can continue; its run is parked.

    `halt` is the kind of problem; the error's text is the reason, in one line.
    """

    def __init__(self, halt: "Halt", why: str) -> None:
        self.halt = halt
        super().__init__(why)


class Bug(ReplanError):
    """A defect of the program itself."""


class MachineRunsAway(Bug):
    """A machine made too many decisions without waiting for a message."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"a machine made {limit} decisions without waiting for a message")


def root_cause(error: BaseException) -> BaseException:
    """Return the one error of an exception group that should be reported.

    An error that is not a group is returned unchanged.

    `Fenced` comes first, then the other errors of this program, then all other errors. Among errors of equal rank, the
    first error is returned. A cancellation comes last, because it would hide the reason for cancelling.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    return min(map(root_cause, error.exceptions), key=_rank)


def _rank(error: BaseException) -> int:
    match error:
        case Fenced():
            return 0
        case ReplanError():
            return 1
        case Exception() | KeyboardInterrupt() | SystemExit() | GeneratorExit():
            return 2
        case _:
            return 3  # The cancellation of the async library in use.
