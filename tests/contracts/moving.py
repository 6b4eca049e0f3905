"""What moving runs to another journal promises, whatever the journal: a fixture `url` names an empty one."""

from contextlib import closing, contextmanager

import apsw
import pytest

from runtime.core.clock import SystemClock
from runtime.core.hooks import COPY_LABELS, set_crash_hook
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal import rules
from runtime.journal.copying import copy_runs, remove_copied
from runtime.journal.port import Fact, RunFilter, nobody
from runtime.journal.rules import RunOperation
from runtime.open_journal import open_journal
from runtime.open_offline import open_raw, shown_url
from tests.contracts.toy_events import CODEC, Counted, Noted, counted

DONE = Summary("finished", "success", committed=Amount(3, 30, 300))
FAMILY = ("a", "a.child")
SHARED = "a text that two runs name"


def opened(url):
    return open_journal(url, CODEC, SystemClock())


async def filled(url):
    """Make a run with records, messages and texts, the run of a step of it, and another run."""
    async with opened(url) as journal:
        facts = [Fact(Noted(text="a text of its own \x1f\u2028")), Fact(Noted(text=SHARED)), *counted(3)]
        await journal.create("a", "the title", facts=facts, owner="driver", ttl=60.0)
        await journal.post("a", "key", 'body with "quotes" and é')
        await journal.append("a", after=3, epoch=1, facts=[Fact(Counted(number=4), inbox=1)], summary=DONE)
        await journal.release("a", 1)
        await journal.create("a.child", "below", facts=counted(1), summary=Summary("finished", "success"))
        await journal.create("b", "another", facts=[Fact(Noted(text=SHARED))], summary=DONE)
        return await shown(journal, *FAMILY)


async def shown(journal, *runs):
    """Return all that a reader sees of runs, but for who held them how often."""
    rows = [await journal.row(run) for run in runs]
    told = [(row.title, row.created, row.updated, row.summary, row.last_posted) for row in rows]
    return told, [await journal.read(run) for run in runs], [await journal.inbox(run) for run in runs]


async def seen(url, *runs):
    async with opened(url) as journal:
        return await shown(journal, *runs)


async def ids(url):
    async with opened(url) as journal:
        return sorted(row.run for row in await journal.runs(RunFilter()))


def move(source, target, *families, dead=nobody):
    """Copy families and delete them; return the problems of all that stays."""
    families = families or (FAMILY,)
    places = shown_url(source), shown_url(target)
    with open_raw(source) as store, open_raw(target, make=True) as kept:
        runs = [run for family in families for run in family]
        copied = list(copy_runs(store, kept, places, dead, runs=runs))
        failed = {done.run: done.problem for done in copied if done.problem}
        whole = [family for family in families if not failed.keys() & {*family}]
        removed = remove_copied(store, kept, places[1], whole)
        return failed | {done.runs[0]: done.problem for done in removed if done.problem}


def change(target, statement):
    with closing(apsw.Connection(target.removeprefix("sqlite:"))) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement)


@contextmanager
def crash(label):
    class Crash(BaseException):
        pass

    def reached(name):
        if name == label:
            raise Crash

    set_crash_hook(reached)
    try:
        with pytest.raises(Crash):
            yield
    finally:
        set_crash_hook(None)


OWN = "WHERE instr(text, CAST('its own' AS BLOB))"
LOST = {
    "a record's time": ("UPDATE events SET at = at + 1 WHERE seq = 1", "the record does not match its hash"),
    "a record": ("DELETE FROM events WHERE seq = 4", "run 'a'"),
    "a message": ("UPDATE inbox SET body = 'another'", "the message does not match its hash"),
    "all messages": ("DELETE FROM inbox", "records or messages differ from those of the source"),
    "the content of a text": (f"UPDATE texts SET text = x'78' {OWN}", "is missing or does not match its hash"),
    "a text": (f"DELETE FROM texts {OWN}", "is missing or does not match its hash"),
}


class MovingContract:
    @pytest.fixture
    def target(self, tmp_path):
        return f"sqlite:{tmp_path / 'old' / 'journal.sqlite3'}"

    async def test_a_moved_run_is_as_before_and_gone_from_its_source_and_comes_back(self, url, target):
        """What other runs need stays, such as a shared text and the total of the day."""
        before = await filled(url)
        async with opened(url) as journal:
            spent = await journal.spent_today()
        assert move(url, target) == {}
        assert await seen(target, *FAMILY) == before
        assert await ids(url) == ["b"]
        async with opened(url) as journal:
            assert [record.event.text for record in await journal.read("b")] == [SHARED]
            assert await journal.spent_today() == spent
            await journal.claim("b", "another", 60.0)
        assert move(target, url) == {}
        assert await seen(url, *FAMILY) == before
        assert await ids(target) == []
        assert move(url, target) == {}
        assert await seen(target, *FAMILY) == before

    @pytest.mark.parametrize("label", COPY_LABELS)
    async def test_interrupted_anywhere_nothing_is_lost_and_a_repeat_finishes_it(self, label, url, target):
        before = await filled(url)
        with crash(label):
            move(url, target)
        kept = "a" in await ids(url)
        assert await seen(url if kept else target, *FAMILY) == before
        if kept:
            assert move(url, target) == {}
        assert await ids(url) == ["b"]
        assert await seen(target, *FAMILY) == before

    @pytest.mark.parametrize("lost", LOST)
    async def test_what_the_target_does_not_have_as_it_was_is_not_deleted(self, lost, url, target):
        before = await filled(url)
        statement, cause = LOST[lost]
        with crash("copy.verified"):
            move(url, target)
        change(target, statement)
        problems = move(url, target, FAMILY, ("b",))
        assert [*problems] == ["a"]
        assert cause in problems["a"]
        assert await seen(url, *FAMILY) == before
        assert await ids(url) == ["a", "a.child"]

    async def test_a_run_that_has_gone_on_in_the_target_is_deleted_too(self, url, target):
        await filled(url)
        with crash("copy.verified"):
            move(url, target)
        async with opened(target) as journal:
            epoch = await journal.claim("a", "another", 60.0)
            await journal.append("a", after=4, epoch=epoch, facts=counted(5), summary=DONE)
            await journal.release("a", epoch)
            await journal.post("a", "later", "body")
        assert move(url, target) == {}
        assert await ids(url) == ["b"]
        async with opened(target) as journal:
            assert len(await journal.read("a")) == 5

    async def test_a_driven_run_and_one_whose_name_is_taken_stay_with_their_families(self, url, target):
        before = await filled(url)
        async with opened(target) as journal:
            await journal.create("b", "another run of the name", facts=counted(9), summary=DONE)
        async with opened(url) as journal:
            epoch = await journal.claim("a.child", "somebody", 600.0)
        problems = move(url, target, FAMILY, ("b",), ("gone",))
        assert "is driven by somebody" in problems["a.child"]
        assert "already has another run" in problems["b"]
        assert problems["gone"] == "no run 'gone'"
        assert await ids(url) == ["a", "a.child", "b"]
        async with opened(url) as journal:
            await journal.release("a.child", epoch)
        assert move(url, target) == {}
        assert await seen(target, *FAMILY) == before

    async def test_a_run_whose_mark_was_taken_back_meanwhile_is_not_deleted(self, url, target, monkeypatch):
        """As where another process moves it back; each run that is still marked is deleted."""
        await filled(url)
        place = shown_url(target)
        with open_raw(url) as store, open_raw(target, make=True) as kept:
            list(copy_runs(store, kept, (shown_url(url), place), nobody, runs=[*FAMILY, "b"]))
            remove = store.remove

            def late(heads, place):
                store.carry_out([RunOperation("keep", "a", lambda locked: rules.keep(locked, place))])
                return remove(heads, place)

            monkeypatch.setattr(store, "remove", late)
            removed = list(remove_copied(store, kept, place, [FAMILY, ("b",)]))
        assert [(done.runs[0], bool(done.problem)) for done in removed] == [("a", True), ("b", False)]
        assert await ids(url) == ["a", "a.child"]
