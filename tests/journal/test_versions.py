"""One file and two releases: the later one upgrades it, and the earlier one refuses it in one line."""

import pytest

from runtime.core.errors import JournalDamaged, JournalNewer, JournalUnreadable
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.port import VERSION, RunFilter
from runtime.journal.sqlite import schema
from runtime.journal.sqlite.raw import upgrade
from runtime.journal.sqlite.reading import open_to_read, run_without_loop
from tests.contracts.toy_events import CODEC, RUNNING, counted
from tests.journal.behind import change, query
from tests.support.release_two import everything, release_two

STEP = "ALTER TABLE runs ADD COLUMN team TEXT NOT NULL DEFAULT 'ours'"


def test_the_version_is_1_and_no_step_is_needed_yet():
    assert VERSION == len(schema.UPGRADES) + 1 == 1


async def test_a_later_release_upgrades_the_file_and_goes_on_with_its_runs(written, open_journal, path):
    async with open_journal() as journal:
        before = await journal.read("a")
    with release_two(schema, STEP):
        async with open_journal() as journal:
            assert await journal.read("a") == before
            epoch = await journal.claim("a", "another", 60.0, dead=lambda _: True)
            await journal.append("a", after=3, epoch=epoch, facts=counted(4), summary=RUNNING)
        assert upgrade(path, USE_ANOTHER) == 2
        with open_to_read(path, {"planning": CODEC}, lambda: 0.0) as reader:
            assert reader is not None
            assert len(run_without_loop(reader.read("a"))) == 4
    assert query(path, "PRAGMA user_version") == [(2,)]
    assert query(path, "SELECT team FROM runs") == [("ours",)]


async def test_a_journal_with_the_table_of_a_retired_feature_opens_and_goes_on_with_its_runs(
    written, open_journal, path
):
    change(path, "CREATE TABLE slots (provider TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
    async with open_journal() as journal:
        assert len(await journal.read("a")) == 3
        epoch = await journal.claim("a", "another", 60.0, dead=lambda _: True)
        await journal.append("a", after=3, epoch=epoch, facts=counted(4), summary=RUNNING)


async def test_an_open_journal_that_a_later_release_upgrades_is_neither_read_nor_written_any_more(open_journal, path):
    async with open_journal() as journal:
        await journal.create("a", "", facts=counted(1), owner="driver", ttl=60.0)
        with release_two(schema, STEP):
            async with open_journal():
                pass
        appends = lambda: journal.append("a", after=1, epoch=1, facts=counted(2), summary=RUNNING)  # noqa: E731
        for attempt in (*everything(journal), appends, lambda: journal.runs(RunFilter())):
            with pytest.raises(
                JournalNewer, match=r"version 2; this release reads up to 1\); upgrade replan$"
            ) as caught:
                await attempt()
            assert len(str(caught.value).splitlines()) == 1
    assert query(path, "SELECT run, last_seq, epoch FROM runs") == [("a", 1, 1)]
    assert query(path, "SELECT count(*) FROM inbox") == [(0,)]


async def test_a_journal_of_a_newer_release_is_refused_and_left_alone(written, open_journal, path):
    change(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(JournalNewer) as caught:
        async with open_journal():
            pass
    assert (caught.value.version, caught.value.newest) == (VERSION + 1, VERSION)
    assert path.read_bytes() == before
    with open_to_read(path, {"planning": CODEC}, lambda: 0.0) as reader:
        assert reader is None


async def test_a_journal_of_an_older_development_version_is_refused_and_left_alone(written, open_journal, path):
    change(path, f"PRAGMA application_id = {schema.EARLIER_IDS[0]}; PRAGMA user_version = 8")
    before = path.read_bytes()
    with pytest.raises(JournalUnreadable, match="an older development version wrote this journal"):
        async with open_journal():
            pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER theirs AFTER INSERT ON events BEGIN DELETE FROM runs; END",
        "CREATE VIEW theirs AS SELECT * FROM runs",
        "CREATE TABLE theirs (x)",
        "DROP INDEX consumed",
        "ALTER TABLE hosts DROP COLUMN kinds",
        "ALTER TABLE runs ADD COLUMN team TEXT",
        "PRAGMA user_version = 0",
    ],
)
async def test_tables_that_are_not_those_of_their_version_are_refused(written, open_journal, path, statement):
    change(path, statement)
    with pytest.raises(JournalDamaged, match="the tables"):
        async with open_journal():
            pass
