"""Recorded runs, in decoded form and as lines of JSON.

The process that reads a journal sends these lines to worker processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from runtime.core.errors import JournalDamaged
from runtime.core.events import Codec
from runtime.journal.port import InboxItem

if TYPE_CHECKING:
    from runtime.journal.raw import RunCopy


class PlacedEvent(NamedTuple):
    """An event of a recorded run, with the number of its record (`seq`)."""

    seq: int
    event: Any
    inbox: int | None
    """The id of the message in the run's inbox that became this event; None if the event was not in the inbox."""
    ends: bool
    """Whether the event is the last one of an append. A message and all decisions after it are written in one append.
    """


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run decoded from its journal."""

    run: str
    kind: str
    status: str
    events: Sequence[PlacedEvent]
    mail: Mapping[int, InboxItem]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in its stored form, with undecoded events.

    Any release can send it to a worker process of another release, which decodes the events.
    """

    run: str
    kind: str
    format: int
    status: str
    records: Sequence[tuple[int, int | None, bool, str]]
    """For each record: its number, the id of its message in the inbox, whether it ends an append, and its stored body.
    """
    messages: Sequence[tuple[int, str, str, float]]
    """The id, the key, the text and the time of each message in the inbox."""
    texts: Mapping[str, str]
    """The texts that the events name by their hashes. The keys are the hashes, in hexadecimal digits."""

    @classmethod
    def of(cls, copy: "RunCopy") -> "StoredRun":
        """Return the stored form of a verified copy of a run."""
        head = copy.head
        return cls(
            head.run,
            head.kind,
            head.format,
            head.summary.status,
            [(row.seq, row.inbox, row.seq in copy.ends, row.body.decode()) for row in copy.records],
            [(item.inbox, item.key, item.body, item.at) for item in copy.inbox],
            {digest.hex(): text.decode() for digest, text in copy.texts.items()},
        )

    @classmethod
    def from_line(cls, line: bytes) -> "StoredRun":
        """Return the run from a line of `to_line`."""
        return cls(*orjson.loads(line))

    def to_line(self) -> bytes:
        """Return the run as a line of JSON."""
        fields = [self.run, self.kind, self.format, self.status, self.records, self.messages, self.texts]
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)

    def decode_events(self, codec: Codec[Any]) -> RecordedRun:
        """Return the run with its decoded events.

        Raises `JournalDamaged` if the run's kind does not define an event.
        """
        events = []
        for seq, inbox, ends, body in self.records:
            try:
                event = codec.decode(body.encode(), self.texts)
            except (ValueError, KeyError) as error:
                raise JournalDamaged(f"run {self.run}", f"record {seq} is not an event of kind {self.kind}") from error
            events.append(PlacedEvent(seq, event, inbox, ends))
        mail = {inbox: InboxItem(inbox, key, body, at) for inbox, key, body, at in self.messages}
        return RecordedRun(self.run, self.kind, self.status, events, mail)
