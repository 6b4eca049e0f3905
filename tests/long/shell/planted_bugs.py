"""Bugs planted into the shell, each a mistake that a change could make. The simulation must find every one.

A bug is a variant of the supervisor, of the machine or of the host, or a patch of a function that they use.
`python -m tests.long.shell.planted_bugs` prints the seed that finds each bug, and the error.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from unittest.mock import patch

from actors.planning import children as handler_actors
from actors.planning.machine import PlanningMachine
from runtime.core.daily_budget import HomeBudget
from runtime.core.ledger import Ledger
from runtime.drive.lease import LeaseKeeper
from runtime.drive.supervisor import Supervisor
from runtime.host.host import Host
from runtime.journal import rules
from runtime.journal.memory import _MemoryJournal
from runtime.models.provider_state import CallLimiter
from tests.long.shell import bugs_driver as driver
from tests.long.shell import bugs_host as hosts
from tests.long.shell import bugs_machine as machine
from tests.long.shell import bugs_patches as patches
from tests.long.shell.home_world import EVERY, world_of

BROKEN = (TypeError, AttributeError, NameError, ImportError)
"""Errors of a bug that is planted wrongly: they say nothing about the simulation."""


@dataclass(frozen=True)
class Bug:
    """A planted bug of a class: a replacement of the supervisor, the machine or the host, or patches of attributes.

    A bug of the host is searched for only with seeds that simulate a home.
    """

    kind: str
    supervisor: type = Supervisor
    machine: type = PlanningMachine
    host: type = Host
    patches: tuple = ()

    def search(self, seeds):
        """Return the first seed that finds the bug, and the error, or None. The seed must pass without the bug."""
        for seed in (number for number in seeds if self.kind != "host" or number % EVERY == EVERY - 1):
            with ExitStack() as stack:
                for target, name, replacement in self.patches:
                    stack.enter_context(patch.object(target, name, replacement))
                try:
                    world_of(seed, host=self.host, supervisor=self.supervisor, machine=self.machine()).play()
                except Exception as error:  # noqa: BLE001 - any error shows the bug
                    first = _first(error)
                    if isinstance(first, BROKEN):
                        raise first from None
                    message = f"{type(first).__name__}: {first}".splitlines()[0]
                    break
        else:
            return None
        _check_without_a_bug(seed)
        return seed, message


@cache
def _check_without_a_bug(seed):
    """Play a world as it is, once for all bugs that it finds."""
    world_of(seed).play()


def _first(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _ledger(name, replacement):
    return Bug("budget", patches=((Ledger, name, replacement),))


def _journal(name, replacement, kind="fence"):
    return Bug(kind, patches=((_MemoryJournal, name, replacement),))


BUGS = {
    "starts work before its request is written": Bug("order", driver.ActsBeforeItWrites),
    "writes only the first event of a batch": Bug("order", driver.ActsOnFirstEventOnly),
    "writes the events of a batch in reverse": Bug("order", driver.WritesEventsInReverse),
    "reads one record too few at a resume": Bug("order", driver.ReadsOneRecordTooFew),
    "reuses a request id": Bug("work", machine=machine.ReusesRequestIds),
    "never cancels withdrawn work": Bug("work", driver.NeverCancelsWork),
    "keeps withdrawn work open": Bug("work", machine=machine.KeepsWithdrawnWorkOpen),
    "forgets its running work": Bug("work", driver.ForgetsRunningWork),
    "starts all work twice": Bug("work", driver.StartsEverythingTwice),
    "accepts a reply of an older revision": Bug("work", machine=machine.AcceptsRepliesOfOlderRevisions),
    "drops late replies": Bug("work", machine=machine.DropsLateReplies),
    "shortens replies": Bug("work", machine=machine.ShortensReplies),
    "never asks a guard": Bug("work", machine=machine.NeverJudges),
    "swallows an actor's crash": Bug("work", driver.SwallowsCrashes),
    "does not mark consumed messages": Bug("inbox", driver.NeverMarksMessages),
    "does not read the inbox while busy": Bug("inbox", driver.ReadsInboxOnlyOnce),
    "consumes messages twice": Bug("inbox", driver.ConsumesMessagesTwice),
    "reads the inbox from the start at a resume": Bug("inbox", driver.ReadsInboxFromTheStart),
    "skips the first message": Bug("inbox", driver.SkipsTheFirstMessage),
    "links a message to the wrong event": Bug("inbox", driver.LinksAMessageToTheWrongEvent),
    "refuses malformed messages without a record": Bug("inbox", machine=machine.RefusesMessagesWithoutARecord),
    "reuses a question id": Bug("question", machine=machine.ReusesQuestionIds),
    "drops questions at a resume": Bug("question", machine=machine.DropsQuestionsAtResume),
    "ignores answers": Bug("question", machine=machine.AnswersChangeNothing),
    "shortens answers": Bug("question", machine=machine.ShortensAnswers),
    "leaves answers out of the prompt": Bug("question", machine=machine.LeavesAnswersOut),
    "waits for people beside open work": Bug("question", driver.WaitsBesideOpenWork),
    "keeps driving a run that only waits": Bug("question", driver.KeepsDrivingAWaitingRun),
    "parks in memory only": Bug("stop", driver.ParksInMemoryOnly),
    "ignores parking": Bug("stop", driver.IgnoresParking),
    "sends requests while it parks": Bug("stop", driver.SendsRequestsWhileItParks),
    "drops replies at a stop": Bug("stop", driver.DropsRepliesAtAStop),
    "ignores a forced stop": Bug("stop", driver.IgnoresAForcedStop),
    "never times out at a stop": Bug("stop", driver.NeverTimesOutAtAStop),
    "reports a finished run as parked": Bug("stop", driver.CallsAFinishedRunParked),
    "sends an earlier driver's request again": Bug("resume", machine=machine.TrustsOldRequests),
    "resumes without a record": Bug("resume", driver.ResumesWithoutARecord),
    "resumes under an old epoch": Bug("resume", driver.ResumesUnderTheOldEpoch),
    "stays parked at a resume": Bug("resume", machine=machine.StaysParked),
    "never reissues a request after a crash": Bug("resume", machine=machine.NeverReissues),
    "writes an old status row": Bug("row", driver.WritesAnOldRow),
    "omits questions from the row": Bug("row", machine=machine.HidesQuestions),
    "omits the wake time from the row": Bug("row", machine=machine.ForgetsToWake),
    "appends without a check of the epoch": Bug("fence", patches=((rules, "check_driver", patches.without_epoch),)),
    "acknowledges appends that are not written": _journal("append", patches.append_without_last_record, "order"),
    "lets a second answer replace the first": _journal("post", patches.post_replacing, "inbox"),
    "appends without an update of the status row": _journal("append", patches.append_without_row, "row"),
    "never releases its lease": Bug("fence", driver.NeverReleasesItsLease),
    "claims a run that another driver holds": _journal("claim", patches.claim_of_another),
    "admits a run before its first record": _journal("create", patches.create_before_the_records, "admission"),
    "releases a run that another driver admits": Bug(
        "admission", patches=((LeaseKeeper, "release", patches.release_what_was_not_admitted),)
    ),
    "hands out the same epoch twice": _journal("claim", patches.claim_same_epoch),
    "writes under the previous epoch": Bug("fence", driver.WritesBeforeItHasTheRun),
    "loses the cancel": Bug("end", machine=machine.LosesTheCancel),
    "resumes before it reads the cancel": Bug("end", driver.ResumesBeforeItReadsTheCancel),
    "ignores the deadline": Bug("end", machine=machine.IgnoresTheDeadline),
    "wakes too early": Bug("end", patches=((handler_actors, "wait", patches.wake_too_early),)),
    "never ends the wait before a retry": Bug("end", machine=machine.WaitsForNothing),
    "skips the check before a reservation": _ledger("shortfall", lambda *_: None),
    "checks only the limit on calls": _ledger("shortfall", patches.forget_money_and_tokens),
    "reserves nothing": _ledger("reserve", patches.reserve_nothing),
    "refunds what may have been charged": _ledger("forfeit", Ledger.refund),
    "drops a refund": _ledger("refund", Ledger.forfeit),
    "settles twice": _ledger("settle", patches.settle_twice),
    "settles replies at zero": _ledger("settle", lambda self, request, used: self.refund(request)),
    "settles late replies at zero": _ledger("settle", patches.settle_late_at_nothing),
    "counts active time by the wall clock": Bug("budget", machine=machine.CountsByTheWallClock),
    "counts the time between drivers as active": Bug("budget", machine=machine.CountsTheTimeBetweenDrivers),
    "wakes no run that it drives": Bug("host", host=hosts.WakesNoRun),
    "ignores wake-ups": Bug("host", host=hosts.IsNotWoken),
    "ignores the time of the next run": Bug("host", host=hosts.IgnoresTheNextTime),
    "never polls again after a journal error": Bug("host", host=hosts.NeverLooksAfterAnError),
    "ends at a journal error": Bug("host", host=hosts.EndsAtAJournalError),
    "never retries a run": Bug("host", host=hosts.NeverTriesAgain),
    "never drops a run that has ended": Bug("host", host=hosts.NeverDropsEndedRuns),
    "drives more runs than allowed": Bug("host", host=hosts.DrivesTooManyRuns),
    "takes up parked runs": Bug("host", patches=((_MemoryJournal, "due", hosts.due_with_parked),)),
    "takes up runs while it stops": Bug("host", host=hosts.TakesRunsUpWhileItStops),
    "stops without parking": Bug("host", host=hosts.StopsWithoutParking),
    "does not pass a stop on to its runs": Bug("host", host=hosts.KeepsTheStopFromItsRuns),
    "records no crash": Bug("host", host=hosts.RecordsNoCrash),
    "limits no calls": Bug("host", patches=((CallLimiter, "for_run", hosts.slots_for_all),)),
    "checks only the calls of the home's budget": Bug("host", patches=((HomeBudget, "shortfall", hosts.calls_only),)),
    "ignores the home's budget": Bug("host", patches=((HomeBudget, "shortfall", lambda *_: ""),)),
}
"""The planted bugs by what they do."""
FAST = range(EVERY)
"""The seeds that `make test` plays, the last of them a home. The search begins with them."""
AGAIN = "`python -m tests.soak --only planted` searches anew and writes benchmarks/results/soak.json; then `make docs`"


def table(seeds, names=BUGS):
    """Return a row per planted bug: its class, what it does, the seed that finds it (or None), the error."""
    rows = []
    for name in names:
        seed, message = BUGS[name].search(seeds) or (None, "")
        rows.append((BUGS[name].kind, name, seed, message))
    return rows


if __name__ == "__main__":
    for kind, name, seed, message in table(range(3_000)):
        print(f"{kind:9} {name:42} {seed!s:>5}  {message[:110]}")
