"""Releases side by side on one file: tables that another release has changed, and raising the floor."""

import time

import pytest

from runtime.core.errors import JournalDamaged, JournalNewer, UsageProblem
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.port import Fact, RunFilter, nobody
from runtime.journal.sqlite import schema
from runtime.journal.sqlite.reading import at_once, open_to_read
from runtime.journal.sqlite.upgrading import upgrade
from runtime.journal.versions import CODEC as NEWEST
from tests.contracts.toy_events import CODEC, Noted, counted
from tests.journal.behind import change, query

NEXT = f"PRAGMA user_version = {schema.VERSION + 1}"
NEEDS_NEXT = f"{NEXT}; UPDATE journal SET oldest = {schema.VERSION + 1}"
"""What a release does to the file whose tables this one cannot use."""
ADDED = f"""{NEXT};
    ALTER TABLE runs ADD COLUMN team TEXT NOT NULL DEFAULT '';
    ALTER TABLE agenda ADD COLUMN class INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE unread ADD COLUMN since REAL;
    ALTER TABLE spending ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE hosts ADD COLUMN release TEXT;
    ALTER TABLE events ADD COLUMN tag TEXT;
    ALTER TABLE inbox ADD COLUMN tag TEXT;
    ALTER TABLE texts ADD COLUMN size INTEGER;
    ALTER TABLE journal ADD COLUMN more INTEGER;
    CREATE TABLE tenants (id INTEGER PRIMARY KEY) STRICT;
    CREATE INDEX runs_team ON runs (team)"""
"""What the next release may do to the file."""


async def test_a_journal_of_a_newer_release_is_refused_and_left_alone(written, open_journal, path):
    change(path, NEEDS_NEXT)
    before = path.read_bytes()
    with pytest.raises(JournalNewer) as caught:
        async with open_journal():
            pass
    assert (caught.value.version, caught.value.newest) == (schema.VERSION + 1, schema.VERSION)
    assert path.read_bytes() == before


async def test_tables_to_which_the_next_release_has_added_are_used_on(open_journal, path):
    """Before and while they are open; what this release writes is as before."""
    for run in ("a", "b"):
        async with open_journal() as journal:
            await journal.create(run, "", facts=counted(1), owner="driver", ttl=60.0)
            if run == "a":
                change(path, ADDED)
            await journal.post(run, "key", "body")
            busy = Summary("running", next_wake=9.0, committed=Amount(1))
            await journal.append(run, after=1, epoch=1, facts=[Fact(Noted(text="t"), inbox=1)], summary=busy)
            await journal.announce(run, "process 1", 30.0)
            await journal.release(run, 1)
            assert (await journal.due(10)).runs
            assert len(await journal.read(run)) == 2
            await journal.depart(run)
    with open_to_read(path, {"planning": CODEC}, lambda: 0.0) as reader:
        assert reader is not None
        assert len(at_once(reader.runs(RunFilter()))) == 2
    assert query(path, "PRAGMA user_version") == [(schema.VERSION + 1,)]
    async with open_journal() as journal:
        await journal.delete({"a": 2, "b": 2})


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER theirs AFTER INSERT ON events BEGIN DELETE FROM runs; END",
        "CREATE VIEW theirs AS SELECT * FROM runs",
        "DROP INDEX consumed",
        "ALTER TABLE hosts DROP COLUMN kinds",
        "DROP TABLE unread",
    ],
)
async def test_newer_tables_that_lack_a_part_or_act_by_themselves_are_refused(written, open_journal, path, statement):
    change(path, f"{ADDED}; {statement}")
    with pytest.raises(JournalDamaged, match="the tables"):
        async with open_journal():
            pass


async def test_the_floor_is_raised_once_no_host_of_an_earlier_release_is_left(open_journal, path, clock, raise_floor):
    raise_floor(NEWEST - 1)
    clock.time = time.time()
    async with open_journal(known=NEWEST - 1) as journal:
        await journal.announce("one", "4711@machine", 30.0)
        assert upgrade(path, nobody, USE_ANOTHER, tables_only=True) == (schema.VERSION, NEWEST - 1)
        with pytest.raises(UsageProblem, match="earlier release serve this journal"):
            upgrade(path, nobody, USE_ANOTHER, tables_only=False)
        assert await journal.floor() == NEWEST - 1
        assert upgrade(path, lambda owner: owner == "4711@machine", USE_ANOTHER, tables_only=False).floor == NEWEST
        assert await journal.floor() == NEWEST


async def test_a_file_of_the_version_before_gets_the_first_codec_and_floor(open_journal, path):
    """Such a file may still be used by programs of the release before."""
    async with open_journal() as journal:
        await journal.create("a", "", facts=counted(1))
    change(
        path,
        "DROP TABLE slots; DROP TABLE tenant_spending; ALTER TABLE runs DROP COLUMN tenant;"
        " ALTER TABLE runs DROP COLUMN priority;"
        " DROP TABLE journal; ALTER TABLE runs DROP COLUMN codec; ALTER TABLE hosts DROP COLUMN codec;"
        " PRAGMA user_version = 6",
    )
    async with open_journal() as journal:
        assert ((await journal.row("a")).codec, await journal.floor()) == (1, 1)
