"""The lines of an archive's file, as docs/reference/archive.md describes them: JSON objects, one per line.

Stored bodies and texts are UTF-8, so that they are kept as JSON strings, character by character, and hash to the same.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from runtime.core.daily_budget import Account
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.chain import Stored, Tip, seal
from runtime.journal.head import RunHead
from runtime.journal.port import InboxItem, Placement
from runtime.journal.validation import TEXT_BYTES_MAX
from runtime.journal.versions import VERSION

LINE_BYTES_MAX = 6 * TEXT_BYTES_MAX + 65_536
"""The longest line: JSON needs at most six bytes for a byte of a text."""

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Opening(BaseModel):
    """What the first line says in any version."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    line: Literal["archive"]
    version: int


class Beginning(_Line):
    """The first line."""

    line: Literal["archive"] = "archive"
    version: int = VERSION
    """The version of the journal that it is from; it is the version of these lines, too."""
    release: str
    """The release that has written the file."""
    runs: tuple[str, ...]
    """The ids of the runs in the file: first the run that a person has started, then the runs of its steps."""


class _Amounts(_Line):
    calls: int
    tokens: int
    micro_usd: int


class RunLine(_Line):
    """The beginning of a run."""

    line: Literal["run"] = "run"
    run: str
    parent: str | None
    """The run that it is a step of."""
    title: str
    kind: str
    format: int
    created: float
    updated: float
    status: str
    detail: str
    waiting_since: float | None
    next_wake: float | None
    epoch: int
    committed: _Amounts
    """What it has committed since it began."""
    day: int
    """The day that this was last booked on, counted from 1970."""
    before: _Amounts
    """What it had committed before that day."""
    last_seq: int
    last_hash: Hash
    last_posted: int
    tenant: str = ""
    priority: int = 0

    @property
    def head(self) -> RunHead:
        """The run's row, but for what its records and messages say."""
        total, before = (Amount(each.calls, each.tokens, each.micro_usd) for each in (self.committed, self.before))
        summary = Summary(self.status, self.detail, self.waiting_since, self.next_wake, total)
        account, tip = Account(total, self.day, before), Tip(self.last_seq, bytes.fromhex(self.last_hash))
        placement = Placement(self.tenant, self.priority)
        fields = self.run, self.title, self.kind, self.format, placement, self.created, self.updated
        return RunHead(*fields, summary, tip, account, self.last_posted, epoch=self.epoch)


class TextLine(_Line):
    """A text, before the first record that names it."""

    line: Literal["text"] = "text"
    hash: Hash
    text: str


class RecordLine(_Line):
    """A record."""

    line: Literal["record"] = "record"
    seq: int
    at: float
    epoch: int
    inbox: int | None
    last: bool
    """Whether it ends an append."""
    body: str
    hash: Hash

    @property
    def stored(self) -> Stored:
        """The record as a journal stores it."""
        return Stored(self.seq, self.at, self.epoch, self.inbox, self.body.encode(), bytes.fromhex(self.hash))


class MessageLine(_Line):
    """A posted message."""

    line: Literal["message"] = "message"
    inbox: int
    key: str
    body: str
    at: float
    seal: Hash

    @property
    def item(self) -> InboxItem:
        """The message as a journal has it."""
        return InboxItem(self.inbox, self.key, self.body, self.at)


class RunEnd(_Line):
    """The end of a run."""

    line: Literal["run_end"] = "run_end"
    run: str
    records: int
    messages: int
    texts: int


class EndLine(_Line):
    """The last line: how many lines are before it, and the SHA-256 of their bytes."""

    line: Literal["end"] = "end"
    lines: int
    sha256: Hash


Line = Beginning | RunLine | TextLine | RecordLine | MessageLine | RunEnd | EndLine

LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="line")])
"""Reads a line. Raises `pydantic.ValidationError`, a `ValueError`."""


def run_line(head: RunHead, parent: str | None) -> RunLine:
    """Return the first line of a run."""
    summary, account = head.summary, head.account
    return RunLine(
        run=head.run,
        parent=parent,
        title=head.title,
        kind=head.kind,
        format=head.format,
        created=head.created,
        updated=head.updated,
        status=summary.status,
        detail=summary.detail,
        waiting_since=summary.waiting_since,
        next_wake=summary.next_wake,
        epoch=head.epoch,
        committed=_amounts(account.total),
        day=account.day,
        before=_amounts(account.before),
        last_seq=head.tip.seq,
        last_hash=head.tip.hash.hex(),
        last_posted=head.last_posted,
        tenant=head.placement.tenant,
        priority=head.placement.priority,
    )


def record_line(row: Stored, *, last: bool) -> RecordLine:
    """Return the line of a record. Raises `UnicodeDecodeError` for a body that no release has written."""
    seq, at, epoch, inbox, body, digest = row
    return RecordLine(seq=seq, at=at, epoch=epoch, inbox=inbox, last=last, body=body.decode(), hash=digest.hex())


def message_line(run: str, item: InboxItem) -> MessageLine:
    """Return the line of a message."""
    return MessageLine(inbox=item.inbox, key=item.key, body=item.body, at=item.at, seal=seal(run, item).hex())


def _amounts(amount: Amount) -> _Amounts:
    return _Amounts(calls=amount.calls, tokens=amount.tokens, micro_usd=amount.micro_usd)
