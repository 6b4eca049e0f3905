"""Bugs planted into the shell, each the kind of mistake that a change could make. The simulation must find every one.

A bug is a variant of the supervisor, of the machine or of the host, or a patch of what they stand on.
`python -m tests.shell.planted` prints which seed finds which, and what it says.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

from actors.planning import actors as handler_actors
from actors.planning.machine import PlanningMachine
from runtime.core.daily_budget import HomeBudget
from runtime.core.ledger import Ledger
from runtime.drive.supervisor import Supervisor
from runtime.host.host import Host
from runtime.journal.memory import _MemoryJournal
from runtime.models.limiter import CallLimiter
from tests.shell import bugs_below as below
from tests.shell import bugs_driver as driver
from tests.shell import bugs_host as hosts
from tests.shell import bugs_machine as machine
from tests.shell.home import EVERY, world_of

BROKEN = (TypeError, AttributeError, NameError, ImportError)
"""What a bug that is itself wrongly planted would raise: it says nothing about the simulation."""


@dataclass(frozen=True)
class Bug:
    """A planted bug of a class: what replaces the supervisor, the machine, the host, or attributes of what is below.

    The seeds of a host's bug are those that play a home.
    """

    kind: str
    supervisor: type = Supervisor
    machine: type = PlanningMachine
    host: type = Host
    below: tuple = ()

    def found(self, seeds):
        """Return the first seed that finds it and what it says, or None. Without the bug that seed is sound."""
        for seed in (one for one in seeds if self.kind != "host" or one % EVERY == EVERY - 1):
            with ExitStack() as stack:
                for target, name, instead in self.below:
                    stack.enter_context(patch.object(target, name, instead))
                try:
                    world_of(seed, host=self.host, supervisor=self.supervisor, machine=self.machine()).play()
                except Exception as error:  # noqa: BLE001 - whatever shows it
                    first = _first(error)
                    if isinstance(first, BROKEN):
                        raise first from None
                    said = f"{type(first).__name__}: {first}".splitlines()[0]
                    break
        else:
            return None
        world_of(seed).play()
        return seed, said


def _first(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _books(name, instead):
    return Bug("budget", below=((Ledger, name, instead),))


def _journal(name, instead, kind="fence"):
    return Bug(kind, below=((_MemoryJournal, name, instead),))


BUGS = {
    "acts before it writes": Bug("order", driver.ActsBeforeItWrites),
    "writes only the first event of a batch": Bug("order", driver.ActsOnFirstEventOnly),
    "writes the events of a batch in reverse": Bug("order", driver.WritesEventsInReverse),
    "reads one record too few at a resume": Bug("order", driver.ReadsOneRecordTooFew),
    "reuses a request id": Bug("work", machine=machine.ReusesRequestIds),
    "never cancels withdrawn work": Bug("work", driver.NeverCancelsWork),
    "keeps withdrawn work open": Bug("work", machine=machine.KeepsWithdrawnWorkOpen),
    "forgets what is running": Bug("work", driver.ForgetsWhatRuns),
    "starts all work twice": Bug("work", driver.StartsEverythingTwice),
    "accepts a reply of an older revision": Bug("work", machine=machine.AcceptsRepliesOfOlderRevisions),
    "drops late replies": Bug("work", machine=machine.DropsLateReplies),
    "shortens replies": Bug("work", machine=machine.ShortensReplies),
    "never asks a guard": Bug("work", machine=machine.NeverJudges),
    "swallows an actor's crash": Bug("work", driver.SwallowsCrashes),
    "forgets which mail is taken": Bug("mail", driver.ForgetsToMarkMail),
    "does not look for mail while busy": Bug("mail", driver.LosesMailWhileBusy),
    "takes mail twice": Bug("mail", driver.TakesMailTwice),
    "forgets where it was in the mail": Bug("mail", driver.ForgetsWhereTheMailWas),
    "skips the first message": Bug("mail", driver.SkipsTheFirstMail),
    "marks another event as the answer": Bug("mail", driver.MarksAnotherEventAsTheAnswer),
    "refuses odd mail in silence": Bug("mail", machine=machine.RefusesMailInSilence),
    "reuses a question id": Bug("question", machine=machine.ReusesQuestionIds),
    "drops questions at a resume": Bug("question", machine=machine.DropsQuestionsAtResume),
    "lets an answer change nothing": Bug("question", machine=machine.AnswersChangeNothing),
    "shortens answers": Bug("question", machine=machine.ShortensAnswers),
    "leaves answers out of the prompt": Bug("question", machine=machine.LeavesAnswersOut),
    "waits for people beside open work": Bug("question", driver.WaitsBesideOpenWork),
    "never leaves a waiting run": Bug("question", driver.NeverLeaves),
    "parks in memory only": Bug("stop", driver.ParksInMemoryOnly),
    "ignores parking": Bug("stop", driver.IgnoresParking),
    "asks while it parks": Bug("stop", driver.AsksWhileItParks),
    "drops replies at a stop": Bug("stop", driver.DropsRepliesAtAStop),
    "ignores a second stop": Bug("stop", driver.IgnoresASecondStop),
    "waits without end at a stop": Bug("stop", driver.WaitsWithoutEndAtAStop),
    "calls a finished run parked": Bug("stop", driver.CallsAFinishedRunParked),
    "sends an earlier driver's request again": Bug("resume", machine=machine.TrustsOldRequests),
    "resumes without saying so": Bug("resume", driver.ResumesWithoutSayingSo),
    "resumes under an old epoch": Bug("resume", driver.ResumesUnderTheOldEpoch),
    "stays parked at a resume": Bug("resume", machine=machine.StaysParked),
    "never asks again after a crash": Bug("resume", machine=machine.NeverReissues),
    "writes an old status row": Bug("row", driver.WritesAnOldRow),
    "shows no question in the row": Bug("row", machine=machine.HidesQuestions),
    "shows no time to wake in the row": Bug("row", machine=machine.ForgetsToWake),
    "forgets the epoch at an append": _journal("_driven", below.without_epoch),
    "acknowledges what is not written": _journal("append", below.append_in_mind, "order"),
    "lets a second answer replace the first": _journal("post", below.post_over, "mail"),
    "leaves the status row as it was": _journal("append", below.append_without_row, "row"),
    "never gives the lease back": Bug("fence", driver.NeverGivesTheLeaseBack),
    "takes a run that another holds": _journal("claim", below.claim_of_another),
    "hands out the same epoch twice": _journal("claim", below.claim_same_epoch),
    "writes under the epoch before": Bug("fence", driver.WritesBeforeItHasTheRun),
    "loses the cancel": Bug("end", machine=machine.LosesTheCancel),
    "resumes before it reads the cancel": Bug("end", driver.ResumesBeforeItReadsTheCancel),
    "ignores the deadline": Bug("end", machine=machine.IgnoresTheDeadline),
    "wakes too early": Bug("end", below=((handler_actors, "wait", below.wake_early),)),
    "waits for ever before a retry": Bug("end", machine=machine.WaitsForNothing),
    "skips the check before a reservation": _books("shortfall", lambda *_: None),
    "looks at calls only": _books("shortfall", below.forget_money_and_tokens),
    "reserves nothing": _books("reserve", below.reserve_nothing),
    "refunds what may have been charged": _books("forfeit", Ledger.refund),
    "drops a refund": _books("refund", Ledger.forfeit),
    "settles twice": _books("settle", below.settle_twice),
    "books replies at nothing": _books("settle", lambda self, request, used: self.refund(request)),
    "books late replies at nothing": _books("settle", below.settle_late_at_nothing),
    "rings for no run that it drives": Bug("host", host=hosts.WakesNoRun),
    "hears no bell": Bug("host", host=hosts.IsNotWoken),
    "ignores the time of the next run": Bug("host", host=hosts.IgnoresTheNextTime),
    "never looks again after an error": Bug("host", host=hosts.NeverLooksAfterAnError),
    "falls over an error": Bug("host", host=hosts.FallsOverAnError),
    "never tries a run again": Bug("host", host=hosts.NeverTriesAgain),
    "keeps its runs for ever": Bug("host", host=hosts.KeepsItsRunsForEver),
    "takes up too many runs": Bug("host", host=hosts.TakesTooManyRuns),
    "takes up what a person has parked": Bug("host", below=((_MemoryJournal, "due", hosts.due_with_parked),)),
    "takes up runs while it stops": Bug("host", host=hosts.TakesRunsUpWhileItStops),
    "stops without parking": Bug("host", host=hosts.StopsWithoutParking),
    "keeps the wish to stop to itself": Bug("host", host=hosts.KeepsTheStopToItself),
    "buries nobody": Bug("host", host=hosts.RecordsNoCrash),
    "lets every call go out at once": Bug("host", below=((CallLimiter, "for_run", hosts.slots_for_all),)),
    "looks at the calls of the home only": Bug("host", below=((HomeBudget, "shortfall", hosts.calls_only),)),
    "never looks at the budget of the home": Bug("host", below=((HomeBudget, "shortfall", lambda *_: ""),)),
}
"""The planted bugs, by what they do; the first of a class is the one that every run of the tests plays."""

FIRST = [
    name for place, name in enumerate(BUGS) if BUGS[name].kind not in {bug.kind for bug in [*BUGS.values()][:place]}
]


def table(seeds, names=BUGS):
    """Return a row for each planted bug: its class, what it does, the seed that finds it (or None), what that says."""
    rows = []
    for name in names:
        seed, shown = BUGS[name].found(seeds) or (None, "")
        rows.append((BUGS[name].kind, name, seed, shown))
    return rows


if __name__ == "__main__":
    for kind, name, seed, shown in table(range(3_000)):
        print(f"{kind:9} {name:42} {seed!s:>5}  {shown[:110]}")
