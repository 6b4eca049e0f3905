"""What really happened in a database of workers, noted by triggers, and a check of it: no code of the journal's.

Each worker process logs in with a role of its own. Triggers note every claim and every appended record with that role,
the order and the server's time. Then SQL finds what must not be: two drivers under one epoch, a record out of order,
a message consumed twice or never, a call that was asked for again after its reply was recorded.
"""

import json
from collections import defaultdict

import psycopg

INSTALL = """
CREATE SCHEMA audit;
CREATE TABLE audit.claims (id bigserial, run bigint, epoch bigint, owner text, who text, at timestamptz);
CREATE TABLE audit.appends (id bigserial, run bigint, seq bigint, epoch bigint, inbox bigint, who text, at timestamptz);
CREATE FUNCTION audit.claim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  INSERT INTO audit.claims (run, epoch, owner, who, at)
  VALUES (NEW.id, NEW.epoch, NEW.owner, session_user, clock_timestamp()); RETURN NULL; END $$;
CREATE FUNCTION audit.append() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  INSERT INTO audit.appends (run, seq, epoch, inbox, who, at)
  VALUES (NEW.run, NEW.seq, NEW.epoch, NEW.inbox, session_user, clock_timestamp()); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER UPDATE ON replan.runs FOR EACH ROW
  WHEN (NEW.owner IS NOT NULL AND (NEW.epoch, NEW.lease_end) <> (OLD.epoch, OLD.lease_end))
  EXECUTE FUNCTION audit.claim();
CREATE TRIGGER audit AFTER INSERT ON replan.records FOR EACH ROW EXECUTE FUNCTION audit.append()
"""
"""Renewals of a lease are noted as claims, too: they are further rows of the same owner."""

WRONG = {
    "two drivers under one epoch": (
        "SELECT run, epoch, array_agg(DISTINCT owner || ' as ' || who) FROM audit.claims"
        " GROUP BY run, epoch HAVING count(DISTINCT (owner, who)) > 1"
    ),
    "a record by somebody who does not hold the run": (
        "SELECT run, seq, epoch, who FROM audit.appends WHERE epoch > 1 AND NOT EXISTS (SELECT FROM audit.claims"
        " WHERE claims.run = appends.run AND claims.epoch = appends.epoch AND claims.who = appends.who)"
    ),
    "an append under an epoch that was over": (
        "SELECT run, seq, epoch FROM audit.appends WHERE EXISTS (SELECT FROM audit.claims WHERE claims.run ="
        " appends.run AND claims.epoch > appends.epoch AND claims.at < appends.at)"
    ),
    "records that are not appended one after the other": (
        "SELECT run, seq FROM (SELECT run, seq, row_number() OVER (PARTITION BY run ORDER BY id) AS place"
        " FROM audit.appends) AS ordered WHERE seq <> place"
    ),
    "records that are not the ones that were appended": (
        "SELECT coalesce(r.run, a.run), coalesce(r.seq, a.seq) FROM replan.records AS r FULL JOIN audit.appends AS a"
        " ON a.run = r.run AND a.seq = r.seq WHERE r.run IS NULL OR a.run IS NULL OR a.epoch <> r.epoch"
    ),
    "a message that was not consumed exactly once": (
        "SELECT m.run, m.id, count(a.id) FROM replan.inbox AS m JOIN replan.runs ON runs.id = m.run"
        " LEFT JOIN audit.appends AS a ON a.run = m.run AND a.inbox = m.id"
        " WHERE runs.detail = 'success' GROUP BY m.run, m.id HAVING count(a.id) <> 1"
    ),
    "a run that is held at the end": (
        "SELECT run, owner FROM replan.runs WHERE owner IS NOT NULL AND lease_end > extract(epoch FROM now())"
    ),
    "totals that are not what the runs have used": (
        "SELECT tenant, sum(calls) FROM replan.spending GROUP BY tenant HAVING sum(calls) <>"
        " (SELECT coalesce(sum(runs.calls), 0) FROM replan.runs WHERE spending.tenant IN ('', runs.tenant))"
    ),
}


def check(url, billed):
    """Fail with all that is wrong; `billed` has the id of each request that a provider has got, and when."""
    with psycopg.connect(url) as connection:
        problems = [
            f"{title}: {row}" for title, statement in WRONG.items() for row in connection.execute(statement).fetchall()
        ]
        problems += list(_wrong_bills(connection, billed))
    assert not problems, "\n".join(problems[:40])


def _wrong_bills(connection, billed):
    """Compare the provider's bill with the records, request by request.

    A request that a takeover has replaced is charged as unknown: a driver that froze before it sent it cannot know.
    """
    charges = dict(connection.execute("SELECT run, calls FROM replan.runs").fetchall())
    asked, replaced, replied = defaultdict(set), defaultdict(set), defaultdict(dict)
    rows = connection.execute(
        "SELECT runs.run, convert_from(body, 'UTF8'), extract(epoch FROM appends.at) FROM replan.records"
        " JOIN replan.runs ON runs.id = records.run JOIN audit.appends ON appends.run = records.run"
        " AND appends.seq = records.seq ORDER BY records.run, records.seq"
    )
    for run, body, at in rows:
        event = json.loads(body)
        match event["kind"]:
            case "generation_requested":
                asked[run].add(_request(event))
            case "request_reissued":
                again = _request(event["again"])
                asked[run].add(again)
                replaced[run].add(event["replaces"])
                if _call(again) in replied[run]:
                    yield f"{run}: {again} was asked for although there was a reply"
            case "artifact_produced" | "settled":
                if replied[run].setdefault(_call(event["request_id"]), float(at)) != float(at):
                    yield f"{run}: {event['request_id']} has two replies"
    bills = defaultdict(set)
    for name, at in billed:
        run, _, request = name.partition("/")
        if request in bills[run]:
            yield f"{name} was sent twice"
        bills[run].add(request)
        if request not in replaced[run] and replied[run].get(_call(request), at) < at - 0.01:
            yield f"{name} was sent after its reply was recorded"
    for run, charged in charges.items():
        if not bills[run] <= asked[run]:
            yield f"{run}: {sorted(bills[run] - asked[run])} were billed and never recorded"
        if missing := replied[run].keys() - {_call(request) for request in bills[run]}:
            yield f"{run}: {sorted(missing)} have replies and were never billed"
        if charged != len(asked[run]):
            yield f"{run}: {charged} calls are charged, and {len(asked[run])} were asked for"


def _request(event):
    number = event.get("try_number", 1)
    return event["node"] if number == 1 else f"{event['node']}.t{number}"


def _call(request):
    return request.partition(".t")[0]
