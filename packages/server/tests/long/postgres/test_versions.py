"""One database and two releases: the owner upgrades it, and programs of the earlier one refuse it in one line."""

import pytest

from replan_server.postgres import schema
from replan_server.postgres.journal import open_postgres
from replan_server.postgres.raw import upgrade
from runtime.core.errors import JournalDamaged, JournalNewer, JournalUnreadable
from runtime.journal.port import VERSION, RunFilter
from tests.contracts.toy_events import CODEC, RUNNING, counted
from tests.support.release_two import everything, release_two

STEP = "ALTER TABLE replan.runs ADD COLUMN team text NOT NULL DEFAULT 'ours'"


def test_no_step_is_needed_yet():
    assert VERSION == len(schema.UPGRADES) + 1 == 1


async def test_a_later_release_upgrades_the_tables_and_goes_on_with_their_runs(new_database, server):
    async with open_postgres(new_database, CODEC) as journal:
        await journal.create("a", "", facts=counted(1), owner="driver", ttl=60.0)
        before = await journal.read("a")
        with release_two(schema, STEP):
            with pytest.raises(
                JournalUnreadable, match="stop the programs that use it, then run: replan home upgrade postgresql"
            ):
                async with open_postgres(new_database, CODEC):
                    raise AssertionError("it opened")
            assert upgrade(new_database, {}) == upgrade(new_database, {}) == 2
        appends = lambda: journal.append("a", after=1, epoch=1, facts=counted(2), summary=RUNNING)  # noqa: E731
        for attempt in (*everything(journal), appends, lambda: journal.runs(RunFilter())):
            with pytest.raises(
                JournalNewer, match=r"version 2; this release reads up to 1\); upgrade replan$"
            ) as caught:
                await attempt()
            assert len(str(caught.value).splitlines()) == 1
    with release_two(schema, STEP):
        async with open_postgres(new_database, CODEC) as journal:
            assert await journal.read("a") == before
            assert [row.epoch for row in await journal.runs(RunFilter())] == [1]
            assert await journal.inbox("a") == []
            epoch = await journal.claim("a", "another", 60.0, dead=lambda _: True)
            await journal.append("a", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
    with pytest.raises(JournalNewer):
        upgrade(new_database, {})


@pytest.mark.parametrize(
    ("statement", "error", "match"),
    [
        ("UPDATE replan.journal SET version = 2", JournalNewer, "version 2; this release reads up to 1"),
        ("ALTER TABLE replan.runs RENAME COLUMN near TO other", JournalUnreadable, "an older development version"),
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
