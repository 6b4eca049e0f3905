"""A check of a journal's tables, read straight from the database: it shares no code with what wrote them.

Records are contiguous and chained, epochs never go back, one driver wrote under each epoch, every message was consumed
at most once, and rows say what the records say. Toy events of several processes carry the driver's name as their label.
"""

import base64
import hashlib
import json
import re
import struct
from collections import defaultdict

import psycopg

NAME = re.compile(rb'(?<=")[A-Za-z0-9_-]{43}(?=")')


def check_database(url):
    """Fail with everything that is wrong."""
    with psycopg.connect(url) as connection:
        problems = list(problems_of(connection))
    assert not problems, "\n".join(problems)


def problems_of(connection):
    """Yield what is wrong, a line each."""
    runs = connection.execute(
        "SELECT id, run, kind, format, last_seq, last_hash, epoch, last_posted, last_consumed, status, unread"
        " FROM replan.runs ORDER BY id"
    ).fetchall()
    for (
        number,
        run,
        kind,
        format,
        last_seq,
        last_hash,
        epoch,
        last_posted,
        last_consumed,
        status,
        unread,
    ) in runs:
        tip = last_seq, last_hash
        for problem in (
            *records_of(connection, number, run, previous=genesis(kind, format), tip=tuple(tip), epoch=epoch),
            *inbox_of(connection, number, last_posted, last_consumed),
        ):
            yield f"{run}: {problem}"
        if unread != (status != "finished" and last_posted > last_consumed):
            yield f"{run}: unread is {unread}"
    yield from spending_of(connection)
    ((orphans,),) = connection.execute(
        "SELECT count(*) FROM replan.texts WHERE NOT EXISTS"
        " (SELECT 1 FROM replan.named_texts WHERE named_texts.hash = texts.hash)"
    )
    if orphans:
        yield f"{orphans} texts are named by no run"


def genesis(kind, format):
    """Return the hash that a run's first record follows."""
    named = struct.pack(">QB", format, len(kind)) + kind.encode()
    return hashlib.sha256(bytes(32) + named).digest()


def records_of(connection, number, run, *, previous, tip, epoch):
    """Check the records of a run: contiguous, chained, one driver per epoch, all texts there."""
    rows = connection.execute(
        "SELECT seq, at, epoch, inbox, last, body, hash FROM replan.records WHERE run = %s ORDER BY seq", (number,)
    ).fetchall()
    drivers, epochs, named = defaultdict(set), [], set()
    for place, (seq, at, written_under, inbox, _, body, digest) in enumerate(rows, 1):
        if seq != place:
            yield f"record {place} is missing, {seq} follows"
            return
        name = run.encode()
        head = struct.pack(">32sB", previous, len(name)) + name
        consumed = -1 if inbox is None else inbox
        previous = hashlib.sha256(head + struct.pack(">QdQqQ", seq, at, written_under, consumed, len(body)) + body)
        previous = previous.digest()
        if previous != digest:
            yield f"record {seq} does not follow"
        epochs.append(written_under)
        named |= {base64.urlsafe_b64decode(found + b"=") for found in NAME.findall(body)}
        if label := json.loads(body).get("label"):
            drivers[written_under].add(label)
    if (len(rows), previous) != tip:
        yield f"the row says that the records end at {tip[0]}, and they end at {len(rows)}"
    if epochs != sorted(epochs) or max(epochs, default=0) > epoch:
        yield f"the epochs are {epochs}, and the row's is {epoch}"
    if rows and not rows[-1][4]:
        yield "the last record ends no append"
    yield from (f"epoch {which} has the drivers {sorted(names)}" for which, names in drivers.items() if len(names) > 1)
    listed = connection.execute("SELECT hash FROM replan.named_texts WHERE run = %s", (number,)).fetchall()
    if named != {digest for (digest,) in listed}:
        yield "the texts that it names are not the ones in its records"


def inbox_of(connection, number, last_posted, last_consumed):
    """Check the messages of a run: none is missing, none consumed twice."""
    posted = connection.execute("SELECT id, key FROM replan.inbox WHERE run = %s ORDER BY id", (number,)).fetchall()
    if [inbox for inbox, _ in posted] != list(range(1, last_posted + 1)):
        yield f"the messages are {[inbox for inbox, _ in posted]}, and the row says {last_posted}"
    if len({key for _, key in posted}) != len(posted):
        yield "two messages have one key"
    consumed = connection.execute(
        "SELECT inbox FROM replan.records WHERE run = %s AND inbox IS NOT NULL", (number,)
    ).fetchall()
    numbers = [inbox for (inbox,) in consumed]
    if len(set(numbers)) != len(numbers) or not set(numbers) <= {inbox for inbox, _ in posted}:
        yield f"the consumed messages are {sorted(numbers)}"
    if max(numbers, default=0) != last_consumed:
        yield f"the row says that {last_consumed} was consumed last"


def spending_of(connection):
    """Check the totals of the days: none is less than what the runs of that day, or of a tenant, have added."""
    rows = connection.execute(
        "SELECT label, day, sum(calls - calls_before), sum(micro_usd - micro_usd_before)"
        " FROM replan.runs, unnest(ARRAY['', nullif(tenant, '')]) AS label"
        " WHERE calls > 0 AND label IS NOT NULL GROUP BY label, day"
    ).fetchall()
    totals = connection.execute("SELECT tenant, day, calls, micro_usd FROM replan.spending").fetchall()
    spent = {(tenant, day): amounts for tenant, day, *amounts in totals}
    for tenant, day, calls, micro_usd in rows:
        total_calls, total_micro = spent.get((tenant, day), (0, 0))
        if total_calls < calls or total_micro < micro_usd:
            yield f"day {day} of {tenant!r} has {total_calls} calls and {total_micro}, the runs {calls} and {micro_usd}"
