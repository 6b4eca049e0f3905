"""Planted bugs that replace one function of the ledger, the journal or the wait handler. See `planted_bugs.BUGS`."""

import trio

from runtime.core.ledger import ZERO, Ledger, Limit
from runtime.core.messages import Woken
from runtime.drive.lease import release_quietly
from runtime.journal.chain import Tip
from runtime.journal.memory import _MemoryJournal
from runtime.journal.port import InboxItem, Posted

SETTLE, RESERVE, SHORTFALL = Ledger.settle, Ledger.reserve, Ledger.shortfall
CLAIM, APPEND, POST = _MemoryJournal.claim, _MemoryJournal.append, _MemoryJournal.post
CREATE = _MemoryJournal.create


def settle_twice(ledger, request, used):
    return SETTLE(SETTLE(ledger, request, used), request, used)


def settle_late_at_nothing(ledger, request, used):
    return SETTLE(ledger, request, ZERO if request in ledger.forfeited else used)


def reserve_nothing(ledger, request, amount):
    return RESERVE(ledger, request, ZERO)


def forget_money_and_tokens(ledger, amount, now):
    """Check only the limit on calls."""
    short = SHORTFALL(ledger, amount, now)
    return None if short in (Limit.TOKENS, Limit.COST) else short


def without_epoch(head, epoch):
    """Let every earlier driver append."""


async def claim_of_another(journal, run, owner, ttl, *, dead, kinds=None):
    return await CLAIM(journal, run, owner, ttl, dead=lambda _: True, kinds=kinds)


async def claim_same_epoch(journal, run, owner, ttl, *, dead, kinds=None):
    """Return an epoch that was used before."""
    epoch = await CLAIM(journal, run, owner, ttl, dead=dead, kinds=kinds)
    held = journal._store.runs[run]
    held.head = held.head._replace(epoch=max(1, epoch - 1))
    return held.head.epoch


async def create_before_the_records(journal, *new, owner=None, ttl=0.0, **first):
    await CREATE(journal, *new, owner=owner or "the admission", ttl=ttl)
    return await APPEND(journal, new[0], after=0, epoch=1, **first)


async def release_what_was_not_admitted(lease):
    await release_quietly(lease._journal, lease._run, lease.epoch or 1)


async def append_without_last_record(journal, run, **named):
    """Acknowledge a record, and drop it from the store when its number is a multiple of seven."""
    records = await APPEND(journal, run, **named)
    held = journal._store.runs[run]
    if records and records[-1].seq % 7 == 0:
        del held.rows[-1]
        held.head = held.head._replace(tip=Tip(held.rows[-1].seq, held.rows[-1].hash))
    return records


async def append_without_row(journal, run, *, summary, **named):
    return await APPEND(journal, run, summary=journal._store.runs[run].head.summary, **named)


async def post_replacing(journal, run, key, body):
    posted = await POST(journal, run, key, body)
    if posted.result == "conflict":
        items = journal._store.runs[run].posted
        items[posted.inbox - 1] = InboxItem(posted.inbox, key, body, items[posted.inbox - 1].at)
        return Posted("accepted", posted.inbox, body)
    return posted


async def wake_too_early(clock, _probe, envelope):
    """End the wait after half of its time."""
    left = envelope.brief.until - clock.now()
    await trio.sleep(max(0.0, left / 2))
    return Woken(envelope.brief.request_id, clock.now())
