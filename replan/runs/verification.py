"""Verifies a journal: computes values from its records, and compares them with the stored values.

These values are each run's status row, open questions, title, committed amount, due time and unread messages. The daily
totals of the home and the tenants are compared too, and the anchors, a file with the last record of each run. Records,
texts and messages are verified by their hashes. Nothing is changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from actors.run.open_question import decode_questions
from actors.values.format import format_count
from replan.runs.loaded import AnyKind
from replan.setup.kinds import Kinds
from runtime.core.daily_budget import DAY_SECONDS, NO_LIMIT, Account, book, day_of
from runtime.core.errors import JournalDamaged, JournalError, KindUnknown, UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.chain import decode
from runtime.journal.copying import spent_last
from runtime.journal.head import RunHead
from runtime.journal.raw import Inspection, RunCopy


class Append(NamedTuple):
    """One append to a run, and the summary of the state after it."""

    at: float
    summary: Summary


class Booked(NamedTuple):
    """The amounts that a run adds to the totals of its days.

    Only the appends from the append with the index `first` are counted.
    """

    first: int
    account: Account
    days: dict[int, Amount]


def spent_by_day(copy: RunCopy, kinds: Kinds) -> Mapping[int, Amount]:
    """Return the amounts that a run has spent, by day. Days are counted from the first of January 1970.

    If the run's kind is unknown, or its account does not follow from its records, return only the amount of the last
    day.
    """
    head = copy.head
    if (
        day_of(copy.records[0].at) == head.account.day
    ):  # The run began on the day that was booked last, so there is no other day.
        return spent_last(copy)
    try:
        kind = kinds.get(head.run, head.kind, head.format)
        texts = {digest.hex(): text for digest, text in copy.texts.items()}
        records = decode(kind.codec, head.run, copy.records, texts.get)
    except (KindUnknown, UsageProblem, JournalDamaged):
        return spent_last(copy)
    _, appends = _replay(kind, records, copy.ends)
    booked = _find_booking(head.account, appends)
    if booked is None:
        return spent_last(copy)
    return {day: amount for day, amount in booked.days.items() if amount != ZERO}


def _replay(kind: AnyKind, records: Sequence[Record[Any]], ends: frozenset[int]) -> tuple[Any, list[Append]]:
    state, appends = kind.machine.initial(), list[Append]()
    for record in records:
        state = kind.machine.evolve(state, record.event)
        if record.seq in ends:
            appends.append(Append(record.at, kind.machine.summary(state)))
    return state, appends


def _find_booking(account: Account, appends: Sequence[Append]) -> Booked | None:
    """Return the bookings from which a run's stored account follows; None if it follows from no bookings.

    A journal of the first version booked no amounts, so the bookings of the first appends may be missing.
    """
    for first in range(len(appends) + 1):
        booked = _book(appends, first)
        if booked.account == account:
            return booked
    return None


def _book(appends: Sequence[Append], first: int) -> Booked:
    account, days = Account(), dict[int, Amount]()
    for at, summary in appends[first:]:
        account, change = book(account, summary.committed, summary.reserved, at)
        days[account.day] = days.get(account.day, ZERO) + change
    return Booked(first, account, days)


VALUE_MAX = 60
"""The largest number of characters that a finding quotes from a stored or computed value."""


@dataclass(frozen=True, slots=True)
class JournalFinding:
    """A value in the journal that contradicts the records."""

    run: str
    """The run's id; empty for the whole journal."""
    cause: str


@dataclass
class Verified:
    """The result of a verification."""

    runs: int = 0
    records: int = 0
    messages: int = 0
    findings: list[JournalFinding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """A line about each value that could not be compared."""


def verify(journal: Inspection, kinds: Kinds) -> Verified:
    """Verify a whole journal.

    Raises `JournalDamaged`, and `JournalUnreadable` if nothing in the journal can be read.
    """
    return _Verification(journal, kinds).verify()


class _Verification:
    def __init__(self, journal: Inspection, kinds: Kinds) -> None:
        self._journal, self._kinds = journal, kinds
        self._days: dict[tuple[str, int], Amount] = {}
        self._unread, self._unknown, self._partly_booked, self._by_deleted = 0, 0, 0, False

    def verify(self) -> Verified:
        journal = self._journal
        names = journal.reader.names()
        done = Verified(runs=len(names))
        done.findings += [JournalFinding("", problem) for problem in journal.problems]
        for run in journal.lost:
            done.findings.append(JournalFinding(run, "the run was in the journal, and all of its records are missing"))
        for run, copied in journal.reader.copies(names):
            try:
                for cause in self._verify_run(run, copied, done):
                    done.findings.append(JournalFinding(run, cause))
            except JournalDamaged as damage:
                self._unread += 1
                place = damage.where.removeprefix(f"run {run!r}").lstrip(", ")
                done.findings.append(JournalFinding(run, f"{place}: {damage.cause}" if place else damage.cause))
        if not (self._unread or self._unknown):
            done.findings += [JournalFinding("", cause) for cause in self._verify_days()]
        done.unchecked += self._unchecked()
        return done

    def _unchecked(self) -> Iterator[str]:
        if self._unknown:
            yield f"runs whose kind is not installed here, except for the hashes of their records: {self._unknown}"
        if self._partly_booked:
            yield f"the first amounts of runs that began before amounts were booked on days: {self._partly_booked}"
        if self._by_deleted:
            yield "the part of the daily totals that deleted runs have added"
        if self._unread or self._unknown:
            yield "the daily totals, because the amounts of some runs are unknown"

    def _verify_run(self, run: str, copied: RunCopy | JournalError, done: Verified) -> Iterator[str]:
        """Yield the findings about a run.

        The hashes of its records and messages were verified when the run was read.
        """
        if isinstance(copied, JournalError):
            raise copied
        journal, head, chained = self._journal, copied.head, copied.records
        journal.check_end(head, chained)
        done.records += len(chained)
        consumed = [row.inbox for row in chained if row.inbox is not None]
        yield from self._verify_inbox(head, [item.inbox for item in copied.inbox], consumed, done)
        if chained and head.epoch < chained[-1].epoch:
            yield f"its row says that it was claimed {head.epoch} times, but a record says {chained[-1].epoch} times"
        try:
            kind = self._kinds.get(run, head.kind, head.format)
        except (KindUnknown, UsageProblem):
            self._unknown += 1
            return
        texts = {digest.hex(): text for digest, text in copied.texts.items()}
        state, appends = _replay(kind, decode(kind.codec, run, chained, texts.get), copied.ends)
        if appends:
            yield from _row_differences(head, journal.agenda(head)[0], appends[-1])
            title = kind.title(state)
            if title is not None and title != head.title:
                yield _difference("title", head.title, title)
        booked = _find_booking(head.account, appends)
        if booked is None:
            self._unread += 1
            yield "the committed amounts and days in its row do not follow from its records"
            return
        self._partly_booked += booked.first > 0
        for tenant in NO_LIMIT.of(head.placement.tenant):
            for day, amount in booked.days.items():
                self._days[tenant, day] = self._days.get((tenant, day), ZERO) + amount

    def _verify_inbox(
        self, head: RunHead, posted: Sequence[int], consumed: Sequence[int], done: Verified
    ) -> Iterator[str]:
        done.messages += len(posted)
        last = max([*posted, *consumed, self._journal.last_posted(head)], default=0)
        for missing in sorted(set(range(1, last + 1)) - set(posted)):
            yield f"the posted message {missing} is missing"
        unread = head.summary.status != "finished" and len(posted) > max(consumed, default=0)
        if (head.unread, self._journal.agenda(head)[1]) != (unread, unread):
            yield f"it has {'an' if unread else 'no'} unread message, but its row or the agenda says otherwise"

    def _verify_days(self) -> Iterator[str]:
        totals = self._journal.reader.spending()
        for tenant, day in sorted({*totals, *self._days}):
            total, sum_ = totals.get((tenant, day), ZERO), self._days.get((tenant, day), ZERO)
            if (total.calls, total.micro_usd) == (sum_.calls, sum_.micro_usd):
                continue
            more = total.calls >= sum_.calls and total.micro_usd >= sum_.micro_usd
            if more and self._journal.may_lack_deleted:  # What a deleted run has spent stays spent.
                self._by_deleted = True
            else:
                date = datetime.fromtimestamp(day * DAY_SECONDS, UTC).date()
                whose = f" of tenant {tenant!r}" if tenant else ""
                given = f"stored as {_amount(total)}, but the records give {_amount(sum_)}"
                yield f"the total{whose} of {date} (UTC): {given}"


def _row_differences(row: RunHead, agenda: float | None, last: Append) -> Iterator[str]:
    """Yield the differences between a run's row, with its time in the agenda, and the summary after its last append."""
    summary = last.summary
    for name, in_row, expected in (
        ("status", row.summary.status, summary.status),
        ("detail", row.summary.detail, summary.detail),
        ("start of waiting", row.summary.waiting_since, summary.waiting_since),
        ("wake-up time", row.summary.next_wake, summary.next_wake),
        ("nearest limit", row.summary.near, summary.near),
        ("time of the last change", row.updated, last.at),
    ):
        if in_row != expected:
            yield _difference(name, in_row, expected)
    yield from _question_differences(row.summary.asks, summary.asks)
    # A journal of the first version had no agenda. Its upgrade entered all unfinished runs as due at once.
    if agenda != summary.due and not (agenda == 0.0 and summary.due is not None):
        yield _difference("due time in the agenda", agenda, summary.due)


def _question_differences(stored: bytes, computed: bytes) -> Iterator[str]:
    """Yield the differences between the questions in a row and in the records.

    Only the fields that both have are compared.
    """
    expected = decode_questions(computed)
    try:
        in_row = decode_questions(stored)
    except ValueError:
        yield "the questions of its status row cannot be read"
        return
    names = [item["id"] for item in in_row], [item["id"] for item in expected]
    if names[0] != names[1]:
        yield _difference("open questions", *names)
        return
    for one, other in zip(in_row, expected, strict=True):
        for name in sorted(one.keys() & other.keys()):
            if one[name] != other[name]:
                yield _difference(f"question {one['id']} ({name})", one[name], other[name])


def _amount(amount: Amount) -> str:
    return f"{format_count(amount.calls, 'call')} and {format_count(amount.micro_usd, 'micro-dollar')}"


def _difference(name: str, in_row: object, expected: object) -> str:
    return f"its {name}: stored as {_quote(in_row)}, but its records give {_quote(expected)}"


def _quote(value: object) -> str:
    if value is None:
        return "none"
    text = repr(value)
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"
