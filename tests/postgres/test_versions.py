"""Releases side by side on one database: tables that another release has changed, and raising the floor."""

import pytest

from runtime.core.errors import JournalDamaged, JournalNewer, JournalUnreadable, UsageProblem
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.port import Fact, nobody
from runtime.journal.postgres import connecting, schema
from runtime.journal.postgres.journal import open_postgres
from runtime.journal.postgres.upgrading import upgrade
from runtime.journal.versions import CODEC as NEWEST
from tests.contracts.toy_events import CODEC, Noted, counted

NEXT = f"UPDATE replan.journal SET version = {schema.VERSION + 1}"
NEEDS_NEXT = f"{NEXT}, oldest = {schema.VERSION + 1}"
"""What a release does whose tables this one cannot use."""
ADDED = (
    NEXT,
    *(
        f"ALTER TABLE replan.{table} ADD COLUMN more text NOT NULL DEFAULT ''"
        for table in ("journal", "runs", "texts", "inbox", "records", "named_texts", "spending", "hosts", "writers")
    ),
    "CREATE TABLE replan.more (id bigint)",
)
"""What the next release may do."""


@pytest.mark.parametrize(
    ("statement", "error", "match"),
    [
        (NEEDS_NEXT, JournalNewer, f"schema {schema.VERSION + 1}, this one knows {schema.VERSION}"),
        ("UPDATE replan.journal SET version = 1", JournalUnreadable, "replan journal upgrade --tables"),
        ("DROP TABLE replan.journal", JournalDamaged, "schema named replan"),
    ],
)
async def test_tables_of_another_release_are_refused(new_database, server, statement, error, match):
    async with open_postgres(new_database, CODEC):
        pass
    server.execute("empty", statement)
    with pytest.raises(error, match=match):
        async with open_postgres(new_database, CODEC):
            raise AssertionError("it opened")


async def test_tables_to_which_the_next_release_has_added_are_used_on(new_database, server):
    """Before and while they are open; an upgrade by this release leaves them as they are."""
    for run in ("a", "b"):
        async with open_postgres(new_database, CODEC) as journal:
            await journal.create(run, "", facts=counted(1), owner="driver", ttl=60.0)
            if run == "a":
                server.execute("empty", *ADDED)
            await journal.post(run, "key", "body")
            busy = Summary("running", next_wake=9.0, committed=Amount(1))
            await journal.append(run, after=1, epoch=1, facts=[Fact(Noted(text="t"), inbox=1)], summary=busy)
            await journal.announce(run, "process 1", 30.0)
            await journal.release(run, 1)
            assert (await journal.due(10)).runs
            assert len(await journal.read(run)) == 2
            await journal.depart(run)
    assert upgrade(new_database, {}, nobody, tables_only=True).schema == schema.VERSION + 1
    async with open_postgres(new_database, CODEC) as journal:
        await journal.delete({"a": 2, "b": 2})


async def test_tables_of_the_first_version_are_upgraded_with_their_runs(new_database, server):
    connection = connecting.connect(new_database)
    for statement in (*schema.FIRST, "INSERT INTO replan.journal VALUES (true, 1)"):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO replan.runs (run, title, kind, format, created, updated, status, detail, unread, last_seq,"
        " last_hash, last_posted, last_consumed, lease_end, epoch, calls, tokens, micro_usd, day, calls_before,"
        " micro_usd_before) VALUES ('a', '', 'planning', 1, 0, 0, 'running', '', false, 0, %s, 0, 0, 0, 0, 0, 0, 0, 0,"
        " 0, 0)",
        (bytes(32),),
    )
    connection.close()
    with pytest.raises(JournalUnreadable, match="journal upgrade --tables"):
        async with open_postgres(new_database, CODEC):
            raise AssertionError("it opened")
    assert upgrade(new_database, {}, nobody, tables_only=True) == (schema.VERSION, 1)
    async with open_postgres(new_database, CODEC) as journal:
        assert ((await journal.row("a")).codec, await journal.floor()) == (1, 1)
        epoch = await journal.claim("a", "driver", 60.0)
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=Summary("running"))
        assert len(await journal.read("a")) == 1


async def test_the_floor_is_raised_once_no_host_of_an_earlier_release_is_left(new_database, server):
    async with open_postgres(new_database, CODEC, known=NEWEST - 1) as journal:
        server.execute("empty", f"UPDATE replan.journal SET floor = {NEWEST - 1}")
        await journal.announce("one", "4711@machine", 30.0)
        assert upgrade(new_database, {}, nobody, tables_only=True).floor == NEWEST - 1
        with pytest.raises(UsageProblem, match="earlier release serve this journal"):
            upgrade(new_database, {}, nobody, tables_only=False)
        assert await journal.floor() == NEWEST - 1
        assert upgrade(new_database, {}, lambda owner: owner == "4711@machine", tables_only=False).floor == NEWEST
        assert await journal.floor() == NEWEST
