"""A run that is deleted between the listing and the reading of runs hides nothing of the others."""

import pytest

from packages.server.tests.web.world import served, use_home
from replan.runs.families import family_of
from replan.runs.inbox import all_questions
from replan.runs.reader import ALL
from replan.runs.retention import is_over
from runtime.journal.port import nobody


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)


@pytest.fixture
def deleting(monkeypatch):
    """Delete a run once runs have been listed."""

    def deleting(journal, run):
        listed = journal.runs

        async def runs(which):
            rows = await listed(which)
            for row in rows:
                if row.run == run:
                    await journal.delete({run: row.last_seq}, dead=nobody)
            return rows

        monkeypatch.setattr(journal, "runs", runs)

    return deleting


async def test_the_questions_of_the_others_are_listed(tmp_path, deleting):
    async with served(tmp_path) as web:
        gone, stays = await web.start(), await web.start()
        for run in (gone, stays):
            await web.settled(run, "waiting")
    async with served(tmp_path, hosts=False) as web:
        await web.engine.answer(f"{gone}/q1", "The second version")
        deleting(web.engine.journal, gone)
        asked = await all_questions(web.engine)
    assert [question["run_id"] for question in asked.questions] == [stays]
    assert asked.problems == ()


async def test_the_others_are_listed_and_can_be_pruned(tmp_path, deleting):
    async with served(tmp_path) as web:
        gone, stays = await web.start(), await web.start("plans")
        await web.settled(gone, "waiting")
        await web.settled(stays, "finished")
    async with served(tmp_path, hosts=False) as web:
        await web.engine.answer(f"{gone}/q1", "The second version")
        deleting(web.engine.journal, gone)
        rows = await web.engine.rows(ALL)
        assert {row.run for row, _ in rows} == {gone, stays}
        assert await family_of(web.engine, gone, {gone: None}, {gone}) == {gone: None}
        assert [row.run for row, _ in await web.engine.rows(ALL) if is_over(row, ended=False)] == [stays]
