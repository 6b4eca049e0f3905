"""Planted bugs of what a run stands on: the ledger, the journal, the clock. `planted.BUGS` says what each does."""

import trio

from runtime.core.ledger import ZERO, Ledger, Limit
from runtime.core.messages import Woken
from runtime.journal.memory import _MemoryJournal
from runtime.journal.port import InboxItem, Posted

SETTLE, RESERVE, SHORTFALL = Ledger.settle, Ledger.reserve, Ledger.shortfall
CLAIM, APPEND, POST = _MemoryJournal.claim, _MemoryJournal.append, _MemoryJournal.post


def settle_twice(ledger, request, used):
    """Book what was used a second time."""
    return SETTLE(SETTLE(ledger, request, used), request, used)


def settle_late_at_nothing(ledger, request, used):
    """Take a late reply for free."""
    return SETTLE(ledger, request, ZERO if request in ledger.forfeited else used)


def reserve_nothing(ledger, request, amount):
    """Write a reservation of nothing."""
    return RESERVE(ledger, request, ZERO)


def forget_money_and_tokens(ledger, amount, now):
    """Look at the calls only."""
    short = SHORTFALL(ledger, amount, now)
    return None if short in (Limit.TOKENS, Limit.COST) else short


def without_epoch(journal, run, epoch):
    """Let anybody who once held the run write."""
    return journal._run(run)


async def claim_of_another(journal, run, owner, ttl, *, dead, kinds=None):
    """Take a run whoever holds it."""
    return await CLAIM(journal, run, owner, ttl, dead=lambda _: True, kinds=kinds)


async def claim_same_epoch(journal, run, owner, ttl, *, dead, kinds=None):
    """Hand out an epoch that somebody else had."""
    epoch = await CLAIM(journal, run, owner, ttl, dead=dead, kinds=kinds)
    held = journal._run(run)
    held.epoch = max(1, epoch - 1)
    return held.epoch


async def append_in_mind(journal, run, **named):
    """Acknowledge now and then what is only in memory: it goes with the process."""
    records = await APPEND(journal, run, **named)
    held = journal._run(run)
    if records and records[-1].seq % 7 == 0:
        del held.rows[-1]
    return records


async def append_without_row(journal, run, *, summary, **named):
    """Leave the status row as it was."""
    return await APPEND(journal, run, summary=journal._run(run).summary, **named)


async def post_over(journal, run, key, body):
    """Let a second answer replace the first."""
    posted = await POST(journal, run, key, body)
    if posted.result == "conflict":
        items = journal._run(run).posted
        items[posted.inbox - 1] = InboxItem(posted.inbox, key, body, items[posted.inbox - 1].at)
        return Posted("accepted", posted.inbox, body)
    return posted


async def wake_early(clock, envelope):
    """Wake half-way."""
    left = envelope.brief.until - clock.now()
    await trio.sleep(max(0.0, left / 2))
    return Woken(envelope.brief.request_id, clock.now())
